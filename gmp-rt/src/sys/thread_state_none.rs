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

/// What a thread does, by the OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadState {
    pub(crate) sleep: Sleep,
    /// Nanoseconds of CPU it has used.
    pub(crate) cpu: u64,
}

/// The number of the calling thread.
pub(crate) fn this_thread() -> u32 {
    0
}

/// Always: as busy as time passes.
pub(crate) fn look(_thread: u32) -> Option<ThreadState> {
    Some(ThreadState { sleep: Sleep::No, cpu: crate::util::clock::now() })
}
