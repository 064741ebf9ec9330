//! Spawning goroutines (Go: `newproc`), and reports of their panics.

use super::Sched;
use super::current::{self, Local};
use super::dump::Heading;
use super::event::{self, Event};
use super::goid;
use super::ready::{Gmp, Place};
use super::{PanicPolicy, registry};
use crate::g::cell::{self, Newborn};
use crate::g::join::{JoinHandle, panic_message};
use crate::g::origin::Origin;
use crate::g::{Birth, G, Ids};
use crate::tracer::hook;
use std::any::Any;
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
        let Newborn { gp, handle } = cell::spawn::<F, Gmp>(future, birth);
        self.p().counters.spawned.add(1);
        self.trace_created(&gp);
        if self.sched.is_closing() {
            // This M runs it next, and then drops it.
            handle.abort();
        }
        self.put(gp, Place::RunNext);
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
        let parent = current::with(|local| local.map_or(0, |local| local.goid.get()));
        let Newborn { gp, handle } = cell::spawn::<F, Gmp>(future, Birth { ids, parent, origin });
        self.live.add_spawned();
        hook::created(|| (gp.traced(), None));
        if self.is_closing() {
            // Its future is dropped without a poll.
            handle.abort();
        }
        self.put_outside(gp);
        // After the fence in `put_outside`: either `close` sees this goroutine, or this thread sees
        // that the runtime is closing.
        if self.is_closing() {
            handle.abort();
        }
        handle
    }
}

/// Handles a panic of a goroutine: ends the process if the policy is `Abort`.
pub(super) fn panicked(g: &G, payload: &(dyn Any + Send)) {
    let policy = registry::get(g.runtime()).map_or(PanicPolicy::Contain, |s| s.config.panic_policy);
    if policy == PanicPolicy::Abort {
        // The panic hook has printed the message and the place. This is Go's line for the
        // goroutine.
        event::last_words(&format!(
            "\npanic: {}\n\n{}",
            panic_message(payload),
            Heading { g, state: "running", minutes: 0 }
        ));
        std::process::exit(2);
    }
}

/// Reports a panic that no `JoinHandle` returns.
pub(super) fn unjoined_panic(g: &G, payload: &(dyn Any + Send)) {
    event::emit(Event::UnjoinedPanic {
        goid: g.goid(),
        name: g.name().map(str::to_owned),
        spawned_at: g.site(),
        parent: g.parent(),
        message: panic_message(payload).to_owned(),
        last_wait: g.wait().0.reason,
    });
}
