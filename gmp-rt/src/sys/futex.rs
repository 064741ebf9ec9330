//! Waiting on an atomic word (Linux).
//!
//! Both calls are single system calls without allocation, so a signal handler may make them.

use crate::prim;
use rustix::thread::futex;
use std::time::Duration;

/// Sleeps while `word` is `value`, for at most `time`. May return early.
pub(crate) fn wait(word: &prim::AtomicU32, value: u32, time: Option<Duration>) {
    let time = time.and_then(|time| futex::Timespec::try_from(time).ok());
    // Every error means that the caller has to read the word again, which it does in any case.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, time.as_ref());
}

/// Wakes all threads that sleep in [`wait`] on `word`.
pub(crate) fn wake(word: &prim::AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, u32::MAX >> 1);
}
