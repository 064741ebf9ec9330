//! Spawning goroutines (Go: `newproc`).

use super::Sched;
use super::goid;
use super::local::Place;
use super::local::{self, Local};
use super::submit::GmpSchedule;
use crate::g::cell::{self, Newborn};
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::g::{Birth, Ids};
use crate::tracer::hook;
use std::sync::Arc;

impl Local {
    /// Spawns a goroutine on this M's P.
    #[inline]
    pub(crate) fn spawn<F>(&self, future: F, origin: Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let ids = Ids::new(goid::from_batch(&self.p()), self.sched.id);
        let birth = Birth { ids, parent: self.goid.get(), origin };
        let Newborn { gp, handle } = cell::spawn::<F, GmpSchedule>(future, birth);
        self.p().counters.spawned.add(1);
        self.trace_created(&gp);
        if self.sched.is_closing() {
            // This M runs it next, and then drops it.
            handle.abort();
        }
        self.sample_ready(&gp);
        self.runqput(gp, Place::RunNext);
        handle
    }
}

impl Sched {
    /// Spawns a goroutine from a thread without a P of this runtime.
    #[track_caller]
    pub(crate) fn spawn_outside<F>(
        self: &Arc<Self>,
        future: F,
        origin: Origin,
    ) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.assert_not_forked();
        let ids = Ids::new(goid::single(), self.id);
        let parent = local::with(|local| local.map_or(0, |local| local.goid.get()));
        let Newborn { gp, handle } =
            cell::spawn::<F, GmpSchedule>(future, Birth { ids, parent, origin });
        self.live.add_spawned();
        hook::created(|| (gp.traced(), None));
        if self.is_closing() {
            // Its future is dropped without a poll.
            handle.abort();
        }
        self.inject(gp);
        // After the fence in `inject`: either `close` sees this goroutine, or this thread sees
        // that the runtime is closing.
        if self.is_closing() {
            handle.abort();
        }
        handle
    }
}
