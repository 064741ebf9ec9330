//! Runtimes by number: how a waker called on a thread outside finds its runtime.
//!
//! A goroutine's header has room for a number, not for a counted pointer. Threads of the runtime
//! itself never look here.

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

/// The runtime with that number. A runtime outlives its goroutines, so for the number of a
/// living one there is an answer.
pub(crate) fn get(number: u16) -> Option<Arc<Sched>> {
    let runtimes = RUNTIMES.read();
    runtimes.get(usize::from(number))?.upgrade()
}

/// All runtimes there are.
pub(crate) fn all() -> Vec<Arc<Sched>> {
    RUNTIMES.read().iter().filter_map(Weak::upgrade).collect()
}
