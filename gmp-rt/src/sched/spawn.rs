//! Spawning goroutines (Go: `newproc`), and reports of their panics.

use super::Sched;
use super::current::{self, Local};
use super::goid;
use super::ready::{Gmp, Place};
use super::{PanicPolicy, registry};
use crate::g::cell::{self, Newborn};
use crate::g::join::{JoinHandle, panic_message};
use crate::g::origin::Origin;
use crate::g::{Birth, G, Ids};
use crate::throw::say;
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
    pub(crate) fn spawn_outside<F>(
        self: &Arc<Self>,
        future: F,
        origin: Origin,
    ) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let ids = Ids::new(goid::single(), self.id);
        let parent = current::with(|local| local.map_or(0, |local| local.goid.get()));
        let Newborn { gp, handle } = cell::spawn::<F, Gmp>(future, Birth { ids, parent, origin });
        self.live.add_spawned();
        self.put_outside(gp);
        handle
    }
}

/// Handles a panic of a goroutine: ends the process if the policy is `Abort`.
pub(super) fn panicked(g: &G, payload: &(dyn Any + Send)) {
    let policy = registry::get(g.runtime()).map_or(PanicPolicy::Contain, |s| s.config.panic_policy);
    if policy == PanicPolicy::Abort {
        // The panic hook has printed the message and the place. This is Go's line for the
        // goroutine.
        say!("\npanic: {}\n\ngoroutine {} [running]:", panic_message(payload), g.goid());
        say!("created by goroutine {}\n\t{}", g.parent(), g.site());
        std::process::exit(2);
    }
}

/// Reports a panic that no `JoinHandle` returns.
pub(super) fn unjoined_panic(g: &G, payload: &(dyn Any + Send)) {
    let name = g.name().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    say!(
        "gmp: goroutine {}{name} panicked and nobody joined it: {}\n\tspawned at {} by goroutine {}; last wait: {}",
        g.goid(),
        panic_message(payload),
        g.site(),
        g.parent(),
        g.wait().0.reason,
    );
}
