//! What happens when a goroutine panics.

use super::config::PanicPolicy;
use super::registry;
use crate::g::G;
use crate::g::join::panic_message;
use crate::observe::event::{self, Event};
use crate::observe::heading::Heading;
use std::any::Any;

/// Handles a panic of a goroutine: ends the process if the policy is `Abort`.
pub(super) fn panicked(g: &G, payload: &(dyn Any + Send)) {
    let sched = registry::get(g.runtime());
    if let Some(sched) = &sched {
        *sched.panics.lock() += 1;
    }
    let policy = sched.map_or(PanicPolicy::Contain, |sched| sched.config.panic_policy);
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
