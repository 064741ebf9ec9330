//! Goroutines of no runtime, which never run.

use crate::g::origin::Origin;
use crate::g::{Birth, GRef, Ids, cell};
use crate::sched::goid;
use crate::sched::submit::GmpSchedule;
use std::panic::Location;

/// A number that no runtime has.
pub(super) const NO_RUNTIME: u16 = (Ids::MAX_RUNTIMES - 1) as u16;

/// Creates a goroutine that is on no queue and of no runtime.
pub(crate) fn unqueued() -> GRef {
    let ids = Ids::new(goid::single(), NO_RUNTIME);
    let origin = Origin::site_only(Location::caller());
    cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp
}
