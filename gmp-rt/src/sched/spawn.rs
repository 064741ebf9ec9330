//! Spawning goroutines (Go: `newproc`), and reports of their panics.

use super::Sched;
use super::goid;
use super::local::Place;
use super::local::{self, Local};
use super::submit::GmpSchedule;
use super::{PanicPolicy, registry};
use crate::g::cell::{self, Newborn};
use crate::g::join::{JoinHandle, panic_message};
use crate::g::origin::Origin;
use crate::g::{Birth, G, Ids};
use crate::observe::event::{self, Event};
use crate::observe::heading::Heading;
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
        let Newborn { gp, handle } = cell::spawn::<F, GmpSchedule>(future, birth);
        self.p().counters.spawned.add(1);
        if self.sched.is_closing() {
            // This M runs it next, and then drops it.
            handle.abort();
        }
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
