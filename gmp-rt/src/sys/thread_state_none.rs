//! For systems that do not tell what a thread does: nobody is ever seen asleep, so a poll that takes
//! long is taken for a computation.

/// Whether and why a thread sleeps in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "what other systems tell")]
pub(crate) enum Sleep {
    No,
    Call,
    Lock,
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    0
}

/// Never.
pub(crate) fn sleep(_thread: u32) -> Option<Sleep> {
    Some(Sleep::No)
}

/// As busy as time passes.
pub(crate) fn cpu(_thread: u32) -> Option<u64> {
    Some(crate::util::clock::now())
}
