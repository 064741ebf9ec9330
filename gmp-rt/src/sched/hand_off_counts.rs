//! The number of hand-offs of a runtime, by cause. Behind the lock of the idle lists.

/// The number of hand-offs. See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HandOffCounts {
    /// By sysmon, in marked calls.
    pub(crate) calls: u64,
    /// By sysmon, in unmarked polls that blocked.
    pub(crate) blocked: u64,
    /// By sysmon, in unmarked polls that computed.
    pub(crate) computing: u64,
    /// By the M itself, which knew that it would wait.
    pub(crate) own: u64,
}
