//! What the OS says of threads, as a test sets it for the calls of its thread. The result of a test
//! of sysmon must not depend on when the OS runs a thread.

use super::ThreadSleep;
use std::cell::Cell;

/// What the OS says of every thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FakeThread {
    /// The CPU time in nanoseconds.
    pub(crate) cpu: u64,
    pub(crate) sleep: ThreadSleep,
}

thread_local! {
    static FAKE: Cell<Option<FakeThread>> = const { Cell::new(None) };
}

/// Sets what [`cpu`] and [`sleep`] return on this thread, or makes them ask the OS again.
pub(crate) fn set(fake: Option<FakeThread>) {
    FAKE.set(fake);
}

/// Returns the CPU time of a thread.
pub(crate) fn cpu(thread: u32) -> Option<u64> {
    FAKE.get().map_or_else(|| super::cpu_in_os(thread), |fake| Some(fake.cpu))
}

/// Returns whether and why a thread sleeps.
pub(crate) fn sleep(thread: u32) -> Option<ThreadSleep> {
    FAKE.get().map_or_else(|| super::sleep_in_os(thread), |fake| Some(fake.sleep))
}
