//! Locks: mutex, reader-writer lock, semaphore; and condition, barrier, notification.
//!
//! A raw lock is the state and the queue; its guards and futures are in the files beside it.

#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod barrier;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod cond;
#[expect(unsafe_code, reason = "has the value while it is inside the lock")]
pub(crate) mod mapped_rw_lock_guard;
#[expect(unsafe_code, reason = "a value behind a lock")]
pub(crate) mod mutex;
#[expect(unsafe_code, reason = "has the value while it has the lock")]
pub(crate) mod mutex_guard;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod notify;
pub(crate) mod permit;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod raw_mutex;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod raw_rw_lock;
#[expect(unsafe_code, reason = "a value behind a lock")]
pub(crate) mod rw_lock;
#[expect(unsafe_code, reason = "has the value while it is inside the lock")]
pub(crate) mod rw_lock_guard;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod semaphore;
mod show_guards;
