//! Runtimes by number. A waker finds its runtime here if it is called on a thread without a P of
//! that runtime.
//!
//! A goroutine's header has room for a number, not for a counted pointer. A worker thread of the
//! runtime queues goroutines without the registry.

use super::Sched;
use crate::g::Ids;
use crate::prim::fixed::RwLock;
use std::sync::{Arc, Weak};

static RUNTIMES: RwLock<Vec<Weak<Sched>>> = RwLock::new(Vec::new());

/// Too many runtimes at once.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Takes a free number and registers what `make` builds for it.
pub(crate) fn register(make: impl FnOnce(u16) -> Arc<Sched>) -> Result<Arc<Sched>, TooMany> {
    let mut runtimes = RUNTIMES.write();
    let free = runtimes.iter().position(|weak| weak.strong_count() == 0);
    let at = free.unwrap_or(runtimes.len());
    if at >= Ids::MAX_RUNTIMES {
        return Err(TooMany);
    }
    let sched = make(at as u16);
    let weak = Arc::downgrade(&sched);
    match runtimes.get_mut(at) {
        Some(slot) => *slot = weak,
        None => runtimes.push(weak),
    }
    Ok(sched)
}

/// Returns the runtime with that number. A runtime outlives its goroutines, so the number of a
/// living goroutine has a runtime.
pub(crate) fn get(number: u16) -> Option<Arc<Sched>> {
    let runtimes = RUNTIMES.read();
    runtimes.get(usize::from(number))?.upgrade()
}

/// Returns all runtimes.
pub(crate) fn all() -> Vec<Arc<Sched>> {
    RUNTIMES.read().iter().filter_map(Weak::upgrade).collect()
}
