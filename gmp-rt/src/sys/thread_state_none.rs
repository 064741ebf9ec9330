//! For systems that do not report the state of a thread. No thread counts as asleep, so every long
//! poll counts as a computation.

/// Whether and why a thread sleeps in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "other systems report these")]
pub(crate) enum ThreadSleep {
    No,
    Call,
    Lock,
}

/// Returns 0: threads have no number here.
pub(crate) fn this_thread() -> u32 {
    0
}

/// Does nothing: a thread cannot choose how exactly it sleeps here.
pub(crate) fn sleep_exactly() {}

/// Returns that the thread does not sleep.
pub(crate) fn sleep(_thread: u32) -> Option<ThreadSleep> {
    Some(ThreadSleep::No)
}

/// Returns `None`: the threads are not known.
pub(crate) fn threads() -> Option<Vec<u32>> {
    None
}

/// Returns `None`: the call is not known.
pub(crate) fn call(_thread: u32) -> Option<String> {
    None
}

/// Returns the time: the thread counts as running on a CPU all the time.
pub(crate) fn cpu(_thread: u32) -> Option<u64> {
    Some(crate::util::clock::now())
}
