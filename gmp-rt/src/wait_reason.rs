//! `WaitReason`: why a goroutine waits.

use std::fmt;

/// Why a goroutine waits. A dump shows it in brackets.
///
/// The texts are those of Go's dumps, where Go has the same wait.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert_eq!(gmp::task::park::WaitReason::ChanReceive.to_string(), "chan receive");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum WaitReason {
    /// A future that records no reason: `await`.
    Await = 0,
    /// A timer: `sleep`.
    Sleep,
    /// A socket, pipe or other descriptor: `IO wait`.
    IoWait,
    /// The end of another goroutine: `goroutine join`.
    Join,
    /// A channel receive: `chan receive`.
    ChanReceive,
    /// A channel send: `chan send`.
    ChanSend,
    /// A select: `select`.
    Select,
    /// A select without cases: `select (no cases)`.
    SelectNoCases,
    /// A semaphore: `semacquire`.
    SemAcquire,
    /// A mutex: `sync.Mutex.Lock`.
    MutexLock,
    /// A read lock: `sync.RWMutex.RLock`.
    RwLockRead,
    /// A write lock: `sync.RWMutex.Lock`.
    RwLockWrite,
    /// A condition: `sync.Cond.Wait`.
    CondWait,
    /// A wait group: `sync.WaitGroup.Wait`.
    WaitGroupWait,
    /// A barrier: `sync.Barrier.Wait`.
    BarrierWait,
    /// A one-time initialisation by another goroutine: `sync.Once.Do`.
    OnceDo,
    /// The end of a context: `context.Done`.
    ContextDone,
    /// A signal from the operating system: `signal wait`.
    Signal,
    /// A permit for a `spawn_blocking` closure, because `max_blocking_threads` of them run:
    /// `blocking limit`.
    BlockingLimit,
    /// The resolution of a host name: `name lookup`.
    NameLookup,
    /// The value of a oneshot channel: `oneshot receive`.
    OneshotReceive,
    /// The end of a oneshot receiver: `oneshot closed`.
    OneshotClosed,
    /// A notification: `notify wait`.
    NotifyWait,
    /// A new value of a watch channel: `watch changed`.
    WatchChanged,
    /// The end of all receivers of a watch channel: `watch closed`.
    WatchClosed,
    /// A value of a broadcast channel: `broadcast receive`.
    BroadcastReceive,
    /// The end of all receivers of a broadcast channel: `broadcast closed`.
    BroadcastClosed,
    /// The end of a member of a join set: `join set`.
    JoinSet,
    /// The end of the members of a closed task tracker: `task tracker`.
    TaskTracker,
    /// The close of a task tracker, and the end of its members: `task tracker, not closed`.
    TaskTrackerOpen,
    /// A token of a rate limiter: `rate limit`.
    RateLimit,
    /// The end of a child process: `process wait`.
    ProcessWait,
    /// Bytes of an in-memory stream: `duplex read`.
    DuplexRead,
    /// Space in the buffer of an in-memory stream: `duplex write`.
    DuplexWrite,
    /// The close of a channel: `chan closed`.
    ChanClosed,
    /// The next deadline of a delay queue: `delay queue`.
    DelayQueue,
}

/// All reasons in the order of their numbers.
pub(crate) const ALL: [WaitReason; 36] = {
    use WaitReason::*;
    [
        Await,
        Sleep,
        IoWait,
        Join,
        ChanReceive,
        ChanSend,
        Select,
        SelectNoCases,
        SemAcquire,
        MutexLock,
        RwLockRead,
        RwLockWrite,
        CondWait,
        WaitGroupWait,
        BarrierWait,
        OnceDo,
        ContextDone,
        Signal,
        BlockingLimit,
        NameLookup,
        OneshotReceive,
        OneshotClosed,
        NotifyWait,
        WatchChanged,
        WatchClosed,
        BroadcastReceive,
        BroadcastClosed,
        JoinSet,
        TaskTracker,
        TaskTrackerOpen,
        RateLimit,
        ProcessWait,
        DuplexRead,
        DuplexWrite,
        ChanClosed,
        DelayQueue,
    ]
};

impl WaitReason {
    /// Returns the text that a dump shows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Await => "await",
            Self::Sleep => "sleep",
            Self::IoWait => "IO wait",
            Self::Join => "goroutine join",
            Self::ChanReceive => "chan receive",
            Self::ChanSend => "chan send",
            Self::Select => "select",
            Self::SelectNoCases => "select (no cases)",
            Self::SemAcquire => "semacquire",
            Self::MutexLock => "sync.Mutex.Lock",
            Self::RwLockRead => "sync.RWMutex.RLock",
            Self::RwLockWrite => "sync.RWMutex.Lock",
            Self::CondWait => "sync.Cond.Wait",
            Self::WaitGroupWait => "sync.WaitGroup.Wait",
            Self::BarrierWait => "sync.Barrier.Wait",
            Self::OnceDo => "sync.Once.Do",
            Self::ContextDone => "context.Done",
            Self::Signal => "signal wait",
            Self::BlockingLimit => "blocking limit",
            Self::NameLookup => "name lookup",
            Self::OneshotReceive => "oneshot receive",
            Self::OneshotClosed => "oneshot closed",
            Self::NotifyWait => "notify wait",
            Self::WatchChanged => "watch changed",
            Self::WatchClosed => "watch closed",
            Self::BroadcastReceive => "broadcast receive",
            Self::BroadcastClosed => "broadcast closed",
            Self::JoinSet => "join set",
            Self::TaskTracker => "task tracker",
            Self::TaskTrackerOpen => "task tracker, not closed",
            Self::RateLimit => "rate limit",
            Self::ProcessWait => "process wait",
            Self::DuplexRead => "duplex read",
            Self::DuplexWrite => "duplex write",
            Self::ChanClosed => "chan closed",
            Self::DelayQueue => "delay queue",
        }
    }

    /// Returns the text in an execution trace: Go's, where Go has the same wait.
    pub(crate) const fn trace_text(self) -> &'static str {
        match self {
            Self::IoWait => "network",
            Self::Join => "sync: goroutine join",
            Self::SelectNoCases => "forever",
            Self::SemAcquire => "sync: semaphore",
            Self::MutexLock | Self::RwLockRead | Self::RwLockWrite => "sync",
            Self::CondWait => "sync.(*Cond).Wait",
            Self::WaitGroupWait => "sync: wait group",
            Self::BarrierWait => "sync: barrier",
            Self::OnceDo => "sync: once",
            _ => self.as_str(),
        }
    }

    /// Returns the operation that waits, as the innermost frame of a stack.
    pub(crate) const fn operation(self) -> &'static str {
        match self {
            Self::Await => "gmp::future::await",
            Self::Sleep => "gmp::sleep",
            Self::IoWait => "gmp::net::wait",
            Self::Join => "gmp::JoinHandle::join",
            Self::ChanReceive => "gmp::chan::recv",
            Self::ChanSend => "gmp::chan::send",
            Self::Select => "gmp::select",
            Self::SelectNoCases => "gmp::select (no cases)",
            Self::SemAcquire => "gmp::sync::Semaphore::acquire",
            Self::MutexLock => "gmp::sync::Mutex::lock",
            Self::RwLockRead => "gmp::sync::RwLock::read",
            Self::RwLockWrite => "gmp::sync::RwLock::write",
            Self::CondWait => "gmp::sync::Cond::wait",
            Self::WaitGroupWait => "gmp::sync::WaitGroup::wait",
            Self::BarrierWait => "gmp::sync::Barrier::wait",
            Self::OnceDo => "gmp::sync::Once::call",
            Self::ContextDone => "gmp::context::Context::done",
            Self::Signal => "gmp::signal::recv",
            Self::BlockingLimit => "gmp::spawn_blocking (limit)",
            Self::NameLookup => "gmp::net::resolve",
            Self::OneshotReceive => "gmp::sync::oneshot::Receiver::recv",
            Self::OneshotClosed => "gmp::sync::oneshot::Sender::closed",
            Self::NotifyWait => "gmp::sync::Notify::notified",
            Self::WatchChanged => "gmp::sync::watch::Receiver::changed",
            Self::WatchClosed => "gmp::sync::watch::Sender::closed",
            Self::BroadcastReceive => "gmp::sync::broadcast::Receiver::recv",
            Self::BroadcastClosed => "gmp::sync::broadcast::Sender::closed",
            Self::JoinSet => "gmp::task::JoinSet::join_next",
            Self::TaskTracker => "gmp::task::TaskTracker::wait",
            Self::TaskTrackerOpen => "gmp::task::TaskTracker::wait (not closed)",
            Self::RateLimit => "gmp::sync::RateLimiter::wait",
            Self::ProcessWait => "gmp::process::Child::wait",
            Self::DuplexRead => "gmp::io::DuplexStream::read",
            Self::DuplexWrite => "gmp::io::DuplexStream::write",
            Self::ChanClosed => "gmp::chan::closed",
            Self::DelayQueue => "gmp::time::DelayQueue::next",
        }
    }

    /// Whether a wait for this reason ends only through another goroutine or an external thread, by
    /// an operation on a primitive of gmp.
    pub(crate) fn is_primitive(self) -> bool {
        match self {
            Self::Await
            | Self::Sleep
            | Self::IoWait
            | Self::Signal
            | Self::BlockingLimit
            | Self::NameLookup
            | Self::RateLimit
            | Self::ProcessWait
            | Self::DelayQueue => false,
            Self::Join
            | Self::ChanReceive
            | Self::ChanSend
            | Self::Select
            | Self::SelectNoCases
            | Self::SemAcquire
            | Self::MutexLock
            | Self::RwLockRead
            | Self::RwLockWrite
            | Self::CondWait
            | Self::WaitGroupWait
            | Self::BarrierWait
            | Self::OnceDo
            | Self::ContextDone
            | Self::OneshotReceive
            | Self::OneshotClosed
            | Self::NotifyWait
            | Self::WatchChanged
            | Self::WatchClosed
            | Self::BroadcastReceive
            | Self::BroadcastClosed
            | Self::JoinSet
            | Self::TaskTracker
            | Self::TaskTrackerOpen
            | Self::DuplexRead
            | Self::DuplexWrite
            | Self::ChanClosed => true,
        }
    }

    /// Returns the reason with number `n`, or [`Await`](Self::Await) if there is none.
    pub(crate) fn from_u8(n: u8) -> Self {
        ALL.get(usize::from(n)).copied().unwrap_or(Self::Await)
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_stands_for_its_reason() {
        for (n, reason) in ALL.iter().enumerate() {
            assert_eq!(*reason as usize, n);
            assert_eq!(WaitReason::from_u8(n as u8), *reason);
        }
        assert_eq!(WaitReason::from_u8(200), WaitReason::Await);
    }
}
