//! What the OS says about a thread: asleep, or how much CPU it has used. Linux.
//!
//! # Invariants
//!
//! - I1: `clock_gettime` with any clock number touches nothing but the `timespec` it is given.

/// What a thread does, by the OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadState {
    /// Whether it sleeps in the kernel.
    pub(crate) asleep: bool,
    /// Nanoseconds of CPU it has used.
    pub(crate) cpu: u64,
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Looks at a thread of this process; `None` if it is gone.
pub(crate) fn look(thread: u32) -> Option<ThreadState> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    Some(ThreadState { asleep: is_asleep(&stat)?, cpu: cpu_clock(thread)? })
}

/// The state letter follows the thread's name, which is in parentheses and may hold any.
fn is_asleep(stat: &str) -> Option<bool> {
    let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
    Some(matches!(state, 'S' | 'D'))
}

/// The CPU clock of a thread: exact, where `/proc` is a scheduler tick behind.
fn cpu_clock(thread: u32) -> Option<u64> {
    // How the kernel encodes it: the complement of the thread's number, and "per thread, by the
    // scheduler".
    let clock = (!i32::try_from(thread).ok()?) << 3 | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: I1 — writes one `timespec`, or fails.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (failed == 0).then_some(seconds * 1_000_000_000 + nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses() {
        assert_eq!(is_asleep("7 (a) b) c) S 1 2"), Some(true));
        assert_eq!(is_asleep("7 (x) R 1"), Some(false));
        assert_eq!(is_asleep("7 (x) D 1"), Some(true));
    }

    #[test]
    fn this_thread_runs_and_its_clock_moves() {
        let before = look(this_thread()).unwrap();
        assert!(!before.asleep);
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 5 {}
        let used = look(this_thread()).unwrap().cpu - before.cpu;
        assert!(used > 0 && used < 1_000_000_000, "{used}");
        assert_eq!(look(u32::MAX), None);
    }
}
