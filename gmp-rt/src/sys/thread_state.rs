//! What the OS says about a thread: asleep and why, or how much CPU it has used. Linux.
//!
//! # Invariants
//!
//! - I1: `clock_gettime` with any clock number touches nothing but the `timespec` it is given.

#[cfg(not(target_arch = "arm"))]
use libc::SYS_mmap as SYS_MMAP;
#[cfg(target_arch = "arm")]
use libc::SYS_mmap2 as SYS_MMAP;
use std::fs;

/// Whether and why a thread sleeps in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// It does not: it runs, or waits for a CPU.
    No,
    /// In a call that waits for the world outside: files, sockets, time.
    Call,
    /// For another thread, or for memory: a lock, a page. Also if the OS does not say.
    Lock,
}

/// What a thread does, by the OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadState {
    pub(crate) sleep: Sleep,
    /// Nanoseconds of CPU it has used.
    pub(crate) cpu: u64,
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Looks at a thread of this process; `None` if it is gone.
pub(crate) fn look(thread: u32) -> Option<ThreadState> {
    let read = |file| fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok();
    let sleep = match is_asleep(&read("stat")?)? {
        true => sleep_in(&read("syscall").unwrap_or_default()),
        false => Sleep::No,
    };
    Some(ThreadState { sleep, cpu: cpu_clock(thread)? })
}

/// What a thread that is asleep waits for, by the number of its call: none in a page fault.
fn sleep_in(syscall: &str) -> Sleep {
    const LOCKS: [libc::c_long; 7] = [
        libc::SYS_futex,
        SYS_MMAP,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
    ];
    let number = syscall.split(' ').next().and_then(|number| number.parse().ok());
    match number {
        Some(number) if number >= 0 && !LOCKS.contains(&number) => Sleep::Call,
        Some(_) | None => Sleep::Lock,
    }
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
        assert_eq!(before.sleep, Sleep::No);
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 5 {}
        let used = look(this_thread()).unwrap().cpu - before.cpu;
        assert!(used > 0 && used < 1_000_000_000, "{used}");
        assert_eq!(look(u32::MAX), None);
    }

    /// Looks at a thread that does `what` until it is seen asleep there.
    fn asleep_in(what: impl FnOnce() + Send) -> Sleep {
        std::thread::scope(|scope| {
            let (tx, rx) = std::sync::mpsc::channel();
            scope.spawn(move || {
                tx.send(this_thread()).unwrap();
                what();
            });
            let thread = rx.recv().unwrap();
            let asleep = || look(thread).map(|state| state.sleep).filter(|s| *s != Sleep::No);
            std::iter::repeat_with(asleep).flatten().next().unwrap()
        })
    }

    #[test]
    fn why_a_thread_sleeps() {
        let sleep = || std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(asleep_in(sleep), Sleep::Call);
        let park = || std::thread::park_timeout(std::time::Duration::from_millis(100));
        assert_eq!(asleep_in(park), Sleep::Lock);
        assert_eq!(sleep_in("-1 0x7ffd 0x55"), Sleep::Lock, "a page fault");
        assert_eq!(sleep_in("running\n"), Sleep::Lock);
        assert_eq!(sleep_in(""), Sleep::Lock, "the OS does not say");
    }
}
