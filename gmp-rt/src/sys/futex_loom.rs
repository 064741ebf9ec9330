//! Waiting on an atomic word in the models. As with the system call, a wake-up before the sleep is
//! lost unless the word has changed.

use crate::prim::{AtomicU32, Ordering, process_wide};
use loom::sync::{Condvar, Mutex};
use std::sync::PoisonError;
use std::time::Duration;

process_wide! {
    static WAITERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// Sleeps if `word` is `value`. Loom has no clock, so a wait with a limit does not sleep.
pub(crate) fn wait(word: &AtomicU32, value: u32, time: Option<Duration>) {
    let guard = WAITERS.0.lock().unwrap_or_else(PoisonError::into_inner);
    if time.is_none() && word.load(Ordering::SeqCst) == value {
        drop(WAITERS.1.wait(guard).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Wakes all threads that sleep in [`wait`].
pub(crate) fn wake(_word: &AtomicU32) {
    let _guard = WAITERS.0.lock().unwrap_or_else(PoisonError::into_inner);
    WAITERS.1.notify_all();
}
