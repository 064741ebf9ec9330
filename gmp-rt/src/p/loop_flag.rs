//! The copy of a P's preempt request that compiled loops read.
//!
//! A loop in code with `#[gmp::preemptible]` reads the flag in each iteration, so it holds a plain
//! reference to it. No count and no lifetime ties that reference to the P. So the flags are in
//! static memory. A P leases one until it is dropped, and a later P uses the flag again.
//!
//! The flag is a hint. The P's own request decides (`sched/budget.rs`).

use crate::prim::CachePadded;
use crate::prim::fixed::{AtomicBool, Mutex, Ordering::Relaxed};

/// The flags that no P uses.
static UNUSED: Mutex<Vec<&'static CachePadded<AtomicBool>>> = Mutex::new(Vec::new());

/// The flag of one P.
#[derive(Debug)]
pub(crate) struct LoopFlag(&'static CachePadded<AtomicBool>);

impl LoopFlag {
    /// Leases a flag, which is lowered.
    pub(super) fn lease() -> Self {
        let unused = UNUSED.lock().pop();
        let flag = unused.unwrap_or_else(|| Box::leak(Box::default()));
        let lease = Self(flag);
        lease.lower();
        lease
    }

    /// Makes the loops of the running goroutine yield.
    #[inline]
    pub(super) fn raise(&self) {
        self.0.store(true, Relaxed); // Relaxed: only a request
    }

    /// Clears the request. Only for the owner of the P.
    #[inline]
    pub(super) fn lower(&self) {
        self.0.store(false, Relaxed); // Relaxed: only a request
    }

    /// Returns the flag that the loops read.
    #[inline]
    pub(super) fn get(&self) -> &'static AtomicBool {
        &self.0.0
    }
}

impl Drop for LoopFlag {
    fn drop(&mut self) {
        UNUSED.lock().push(self.0);
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::p::OwnedP;

    #[test]
    fn a_leased_flag_is_lowered_and_no_other_lease_has_it() {
        let first = LoopFlag::lease();
        first.raise();
        let second = LoopFlag::lease();
        assert!(!std::ptr::eq(first.get(), second.get()));
        assert!(first.get().load(Relaxed) && !second.get().load(Relaxed));
        drop(first);
        // The flag of `first` may be the next one.
        let third = LoopFlag::lease();
        assert!(!third.get().load(Relaxed));
    }
    #[test]
    fn the_flag_follows_the_request_of_its_p() {
        let owned = OwnedP::new(0);
        let p = owned.shared();
        let is_raised = || p.loop_flag().load(Relaxed);
        p.request_preempt();
        owned.lower_stale_loop_flag();
        assert!(is_raised(), "the request stands");
        owned.begin_slice();
        assert!(!is_raised());
        // As if a slice began while sysmon made its request: only the flag is raised.
        p.loop_flag.raise();
        owned.lower_stale_loop_flag();
        assert!(!is_raised());
    }
}
