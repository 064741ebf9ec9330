//! The state of a thread in the OS: why it sleeps, and how much CPU time it has used (Linux).
//!
//! There are two functions that read it, because their costs differ. [`cpu`] is one system call.
//! [`sleep`] reads a file in `/proc`, which takes about ten times as long.
//!
//! Neither allocates. The pauser of `sched/pause` relies on that. [`call`] and
//! [`threads`] do: they are for reports.
//!
//! # Invariants
//!
//! - I1: `clock_gettime` with any clock number accesses nothing but the `timespec` that it gets.

#[cfg(test)]
#[path = "fake_thread_tests.rs"]
pub(crate) mod fake;

#[cfg(test)]
pub(crate) use self::fake::{cpu, sleep};
#[cfg(not(test))]
pub(crate) use self::{cpu_in_os as cpu, sleep_in_os as sleep};

#[cfg(not(target_pointer_width = "32"))]
use libc::SYS_futex as SYS_FUTEX64;
#[cfg(not(target_arch = "arm"))]
use libc::SYS_mmap as SYS_MMAP;
#[cfg(target_arch = "arm")]
use libc::SYS_mmap2 as SYS_MMAP;
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU64;

/// The futex call with 64-bit times. All 32-bit architectures use this number. libc has a name for
/// it on some of them only.
#[cfg(target_pointer_width = "32")]
pub(crate) const SYS_FUTEX64: libc::c_long = 422;

/// Whether and why a thread sleeps in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadSleep {
    /// It does not sleep. It runs, or waits for a CPU.
    No,
    /// It sleeps in a system call that waits for a file, a socket or the clock.
    Call,
    /// It waits for another thread or for memory: a lock, a page. Also if the reason is unknown.
    Lock,
}

/// Returns the number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Makes the OS end the sleeps of the calling thread on time. By default Linux delays the end of a
/// sleep by up to 50 µs, to wake several threads at once.
pub(crate) fn sleep_exactly() {
    // If a kernel refuses, the sleeps are longer.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Returns whether and why another thread of this process sleeps. `None` if it has exited, or if
/// the OS does not say, as without free descriptors or without `/proc`.
pub(crate) fn sleep_in_os(thread: u32) -> Option<ThreadSleep> {
    // `syscall` also shows whether the thread sleeps, and is cheaper than `stat`. Not every kernel
    // has it.
    let mut head = [0; HEAD];
    match read(thread, "syscall", &mut head) {
        Some(head) => Some(sleep_in(head)),
        None => is_asleep(read(thread, "stat", &mut head)?)
            .map(|asleep| if asleep { ThreadSleep::Lock } else { ThreadSleep::No }),
    }
}

/// Returns the numbers of all threads of this process. `None` if the OS does not list them.
pub(crate) fn threads() -> Option<Vec<u32>> {
    let entries = std::fs::read_dir("/proc/self/task").ok()?;
    entries.map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Describes the system call in which a thread sleeps, by its name, and the file of its descriptor.
/// `None` if it does not sleep in a call.
pub(crate) fn call(thread: u32) -> Option<String> {
    let mut head = [0; HEAD];
    let mut words = read(thread, "syscall", &mut head)?.split(' ');
    let number: libc::c_long = words.next()?.parse().ok()?;
    let known = CALLS.iter().find(|(call, ..)| *call == number);
    let Some((_, name, Takes::Descriptor)) = known else {
        let name =
            known.map_or_else(|| format!("call {number}"), |(_, name, _)| (*name).to_owned());
        return (number >= 0).then(|| format!("in {name}, thread {thread}"));
    };
    let fd = i64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    let file = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    let file = file.map(|file| format!(" → {}", file.display())).unwrap_or_default();
    Some(format!("in {name}({fd}{file}), thread {thread}"))
}

/// Whether the first argument of a call is a descriptor.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Descriptor,
    Other,
}

/// The calls in which threads sleep most often.
const CALLS: [(libc::c_long, &str, Takes); 21] = [
    (libc::SYS_read, "read", Takes::Descriptor),
    (libc::SYS_write, "write", Takes::Descriptor),
    (libc::SYS_readv, "readv", Takes::Descriptor),
    (libc::SYS_writev, "writev", Takes::Descriptor),
    (libc::SYS_pread64, "pread", Takes::Descriptor),
    (libc::SYS_pwrite64, "pwrite", Takes::Descriptor),
    (libc::SYS_fsync, "fsync", Takes::Descriptor),
    (libc::SYS_fdatasync, "fdatasync", Takes::Descriptor),
    (libc::SYS_flock, "flock", Takes::Descriptor),
    (libc::SYS_fcntl, "fcntl", Takes::Descriptor),
    (libc::SYS_accept4, "accept", Takes::Descriptor),
    (libc::SYS_connect, "connect", Takes::Descriptor),
    (libc::SYS_recvfrom, "recv", Takes::Descriptor),
    (libc::SYS_sendto, "send", Takes::Descriptor),
    (libc::SYS_epoll_pwait, "epoll_wait", Takes::Descriptor),
    (libc::SYS_ppoll, "poll", Takes::Other),
    (libc::SYS_wait4, "wait", Takes::Other),
    (libc::SYS_waitid, "wait", Takes::Other),
    (libc::SYS_nanosleep, "nanosleep", Takes::Other),
    (libc::SYS_clock_nanosleep, "nanosleep", Takes::Other),
    (libc::SYS_futex, "futex", Takes::Other),
];

/// Number of bytes that are read of a file about a thread.
const HEAD: usize = 512;

/// Reads the beginning of a file about a thread: one line, ASCII except for the name of the thread.
fn read<'a>(thread: u32, file: &str, head: &'a mut [u8; HEAD]) -> Option<&'a str> {
    // Std copies only longer paths to the heap.
    let mut path = [0; 64];
    let mut left = &mut path[..];
    write!(left, "/proc/self/task/{thread}/{file}").ok()?;
    let unused = left.len();
    let n = path.len() - unused;
    let path = str::from_utf8(&path[..n]).ok()?;
    let n = File::open(path).ok()?.read(head).ok()?;
    // Skips the name, which may be cut or in any encoding.
    let start = head[..n].iter().rposition(|byte| *byte == b')').unwrap_or(0);
    str::from_utf8(&head[start..n]).ok()
}

/// Returns what a thread waits for, by the number of its call. A page fault has a negative number.
fn sleep_in(syscall: &str) -> ThreadSleep {
    const LOCKS: [libc::c_long; 12] = [
        libc::SYS_futex,
        SYS_FUTEX64,
        libc::SYS_futex_waitv,
        SYS_MMAP,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_membarrier,
        libc::SYS_clone,
        libc::SYS_clone3,
    ];
    if syscall.starts_with("running") {
        return ThreadSleep::No;
    }
    let number = syscall.split(' ').next().and_then(|number| number.parse().ok());
    match number {
        Some(number) if number >= 0 && !LOCKS.contains(&number) => ThreadSleep::Call,
        Some(_) | None => ThreadSleep::Lock,
    }
}

/// Whether the state letter means sleep. It follows the name, which is in parentheses and may
/// contain parentheses.
fn is_asleep(stat: &str) -> Option<bool> {
    let state = stat.rsplit(')').next()?.trim_start().chars().next()?;
    Some(matches!(state, 'S' | 'D'))
}

/// Returns the CPU time of a thread in nanoseconds. `None` if it has exited. `/proc` would be up to
/// a scheduler tick behind.
pub(crate) fn cpu_in_os(thread: u32) -> Option<u64> {
    // The encoding of the kernel: the complement of the thread's number, and "per thread, by the
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
    use std::sync::mpsc::{TryRecvError, channel};
    use std::time::Duration;

    #[test]
    fn thread_names_may_have_parentheses() {
        assert_eq!(is_asleep("7 (a) b) c) S 1 2"), Some(true));
        assert_eq!(is_asleep("7 (x) R 1"), Some(false));
        assert_eq!(is_asleep("7 (x) D 1"), Some(true));
    }

    #[test]
    fn the_cpu_clock_of_a_running_thread_advances() {
        let before = cpu(this_thread()).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 5 {}
        let used = cpu(this_thread()).unwrap() - before;
        assert!(used > 0 && used < 1_000_000_000, "{used}");
        assert_eq!((cpu(u32::MAX), sleep(u32::MAX)), (None, None));
    }

    #[test]
    fn a_thread_that_computes_does_not_sleep() {
        std::thread::scope(|scope| {
            let (tx, rx) = channel();
            let (stop, stopped) = channel::<()>();
            scope.spawn(move || {
                tx.send(this_thread()).unwrap();
                while stopped.try_recv() == Err(TryRecvError::Empty) {}
            });
            let thread = rx.recv().unwrap();
            let before = cpu(thread).unwrap();
            // Waits until the thread computes.
            while cpu(thread).unwrap() < before + 1_000_000 {}
            assert_eq!(sleep(thread), Some(ThreadSleep::No));
            drop(stop);
        });
    }

    /// Checks a thread that repeats `nap`, until it sleeps for the reason `why`. The thread may
    /// also sleep for a page of memory.
    fn await_sleep(why: ThreadSleep, nap: fn(Duration)) {
        std::thread::scope(|scope| {
            let (tx, rx) = channel();
            let (stop, stopped) = channel::<()>();
            scope.spawn(move || {
                tx.send(this_thread()).unwrap();
                while stopped.try_recv() == Err(TryRecvError::Empty) {
                    nap(Duration::from_millis(10));
                }
            });
            let thread = rx.recv().unwrap();
            while sleep(thread) != Some(why) {}
            drop(stop);
        });
    }

    #[test]
    fn the_call_of_a_thread_has_name_and_descriptor() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        let fd = reader.as_raw_fd();
        std::thread::scope(|scope| {
            let (tx, rx) = channel();
            scope.spawn(move || {
                tx.send(this_thread()).unwrap();
                assert_eq!(reader.read(&mut [0]).unwrap(), 0);
            });
            let thread = rx.recv().unwrap();
            let start = format!("in read({fd} → pipe:[");
            let end = format!("]), thread {thread}");
            while !call(thread).is_some_and(|call| call.starts_with(&start) && call.ends_with(&end))
            {
                std::thread::yield_now();
            }
            drop(writer);
        });
        assert_eq!(call(u32::MAX), None);
    }

    #[test]
    fn sleeps_for_locks_and_in_calls_are_distinguished() {
        await_sleep(ThreadSleep::Call, std::thread::sleep);
        await_sleep(ThreadSleep::Lock, std::thread::park_timeout);
        for lock in [libc::SYS_futex, libc::SYS_futex_waitv] {
            assert_eq!(sleep_in(&format!("{lock} 0x7ffd 0x55")), ThreadSleep::Lock);
        }
        assert_eq!(sleep_in("-1 0x7ffd 0x55"), ThreadSleep::Lock, "a page fault");
        assert_eq!(sleep_in("running\n"), ThreadSleep::No);
        assert_eq!(sleep_in(""), ThreadSleep::Lock, "the OS does not say");
    }
}
