//! A goroutine that blocks its thread on purpose.
//!
//! The M keeps its P object and gives its right to run to a spare one (Go: `entersyscallblock`,
//! `handoffp`); the P object is then *displaced*. What is queued on it can be stolen, timers are
//! served by others. When the call is over the M takes the right of an idle P if there is one
//! (Go: `exitsyscall`); if not, it finishes its poll without, which is harmless, and then passes
//! on its queue and sleeps.

use super::Sched;
use super::current::{self, Local};
use super::park::Tended;
use crate::m::note::{Note, Slept};
use crate::p::{OwnedP, PStatus};
use crate::util::clock;

impl Local {
    /// Runs `f`, which may block this thread for any time, while others go on.
    pub(crate) fn block<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Comes back also when `f` panics.
        struct Back<'a>(&'a Local);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                let _ = self.0.regain();
            }
        }
        // Nested: the right is gone already, and the outer call brings it back.
        if self.p().status() == PStatus::Displaced {
            return f();
        }
        self.displace(&self.p());
        let _back = Back(self);
        f()
    }

    /// Gives the right to run to a spare P.
    fn displace(&self, p: &OwnedP) {
        let sched = &self.sched;
        sched.idle.with(|lists| {
            p.set_status(PStatus::Displaced);
            if sched.retire(lists) {
                return;
            }
            match lists.spare.pop().or_else(|| sched.ps.grow()) {
                Some(spare) => sched.idle.put_p(lists, spare, None),
                // No more P objects than threads: cannot be. The right is only lost until a
                // resize, not the work.
                None => lists.rights -= 1,
            }
        });
        if sched.any_work() {
            self.wakep(p);
        }
        let next = sched.next_timer();
        if next != clock::FOREVER {
            let _ = sched.tend(next);
        }
    }

    /// Sleeps on `note`, a blocked goroutine's. If no other thread can be had that would wake for
    /// timers, this one does: it may be waiting for one.
    fn sleep_on(&self, note: &Note) {
        loop {
            let next = self.sched.next_timer();
            if next == clock::FOREVER || self.sched.tend(next) == Tended::Yes {
                return note.sleep();
            }
            if note.sleep_until(next) == Slept::Woken {
                return;
            }
            self.fire_all(clock::now());
        }
    }

    /// Takes the right to run of an idle P for its own; `false` if there is none.
    pub(super) fn regain(&self) -> bool {
        let p = self.p();
        self.sched.idle.with(|lists| {
            let Some(other) = self.sched.idle.take_p(lists) else {
                return false;
            };
            other.set_status(PStatus::Spare);
            lists.spare.push(other);
            p.set_status(PStatus::Running);
            true
        })
    }
}

impl Sched {
    /// Runs `f` as [`Local::block`] if this thread polls a goroutine, else just runs it.
    pub(crate) fn block_anywhere<R>(f: impl FnOnce() -> R) -> R {
        current::with(|local| match local {
            Some(local) => local.block(f),
            None => f(),
        })
    }

    /// Sleeps on `note` inside of `block_anywhere`.
    pub(crate) fn sleep_anywhere(note: &Note) {
        current::with(|local| match local {
            Some(local) => local.sleep_on(note),
            None => note.sleep(),
        });
    }
}
