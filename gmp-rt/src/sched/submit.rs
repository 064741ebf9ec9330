//! Queues for goroutines that become runnable.

use super::Sched;
use super::local::{self, Local, Place};
use super::registry;
use crate::g::list::GList;
use crate::g::status::Cause;
use crate::g::stored::StoredWaker;
use crate::g::{G, GRef, Schedule};
use crate::p::OwnedP;
use crate::p::runq::{Full, Queued};
use crate::prim::debug_assert_no_lock_held;
use crate::throw::throw;
use crate::tuning::NEXT_WAKE;
use crate::util::clock;
use std::any::Any;
use std::task::{Context, Poll};

/// The scheduler as goroutines see it.
#[derive(Debug)]
pub(crate) struct GmpSchedule;

impl Schedule for GmpSchedule {
    #[inline]
    fn submit(gp: GRef) {
        local::with(|local| match local {
            Some(local) if local.sched.id == gp.runtime() => {
                local.sample_ready(&gp);
                local.runqput(gp, local.wake_to.get());
            }
            _ => submit_external(gp),
        });
    }

    fn cause(g: &G) -> Cause {
        local::with(|local| match local {
            Some(local) if local.sched.id == g.runtime() => local.cause(),
            _ => Cause::Event,
        })
    }

    fn poll_proceed(cx: &Context<'_>) -> Poll<()> {
        super::budget::poll_proceed(cx)
    }

    fn panicked(g: &G, payload: &(dyn Any + Send)) {
        super::panics::panicked(g, payload);
    }

    fn unjoined_panic(g: &G, payload: &(dyn Any + Send)) {
        super::panics::unjoined_panic(g, payload);
    }
}

/// Wakes all wakers, as one batch if this thread has a P. A panic of a foreign waker is contained.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item: Into<StoredWaker>>) {
    debug_assert_no_lock_held("wakes many");
    let wake = || wakers.into_iter().for_each(|waker| waker.into().wake());
    local::with(|local| match local {
        Some(local) => local.in_batch(Place::Tail, wake),
        None => wake(),
    });
}

#[cold]
fn submit_external(gp: GRef) {
    match registry::get(gp.runtime()) {
        Some(sched) => sched.inject(gp),
        None => throw!("submit: goroutine {} outlived its runtime", gp.goid()),
    }
}

impl Sched {
    /// Queues a goroutine from a thread without a P of this runtime.
    pub(crate) fn inject(self: &std::sync::Arc<Self>, gp: GRef) {
        gp.time_ready(clock::now());
        self.inbox.put(gp);
        self.wakep();
        // After `wakep`'s fence: either `close` counts this goroutine as living and the Ms run it,
        // or this thread sees that the runtime is closing.
        if self.is_closing() {
            self.cancel_queued();
        }
    }

    /// Queues goroutines of a P that will not run them. Newcomers stay newcomers in the inbox.
    pub(super) fn requeue_all(&self, queued: Queued) {
        let Queued { mut newcomers, others } = queued;
        while let Some(gp) = newcomers.pop_front() {
            self.inbox.put(gp);
        }
        self.globq.put_batch(others);
    }
}

impl Local {
    /// Returns the cause of the wake-ups that this thread makes now. Between polls, and in a
    /// service within a poll, they are made for events.
    fn cause(&self) -> Cause {
        let in_service = self.wake_to.get() == Place::Newcomer;
        if self.goid.get() == 0 || in_service { Cause::Event } else { Cause::Goroutine }
    }

    /// Has the time from now to the next poll of some goroutines measured.
    #[inline]
    pub(super) fn sample_ready(&self, gp: &GRef) {
        if self.p().own().is_ready_sampled() {
            gp.time_ready(clock::now());
        }
    }

    /// Queues a goroutine on this M's P (Go: `runqput`). Wakes another M if that makes work for
    /// two. A lone `runnext` seldom wakes one: see [`wake_for_next`](Self::wake_for_next).
    #[inline]
    pub(crate) fn runqput(&self, gp: GRef, place: Place) {
        let p = self.p();
        match place {
            Place::RunNext => match p.runq().swap_next(gp) {
                Some(gp) => {
                    self.put_tail(&p, gp);
                    self.sched.wakep();
                }
                None => self.wake_for_next(&p),
            },
            Place::Tail => self.put_tail(&p, gp),
            Place::Newcomer => self.put_newcomer(&p, gp),
        }
        // The poll may block later: then another M has to run it.
        self.requeue_if_handed_off(&p);
    }

    /// Wakes an M for a lone `runnext` if a P is idle, at most once in [`NEXT_WAKE`].
    ///
    /// Most goroutines that wake another one soon end their poll, and then this M runs the
    /// `runnext`. The woken M does not steal it in this case, so most wake-ups would be
    /// needless. But a goroutine may also compute on for long while a P is idle.
    ///
    /// Heuristic: the table in `benches/README.md` has what it gives.
    #[inline]
    fn wake_for_next(&self, p: &OwnedP) {
        let (idle, spinning) = self.sched.idle.word.counts();
        if idle == 0 || spinning > 0 {
            return;
        }
        let own = p.own();
        // The stamp is at most one service old when a poll begins.
        if own.stamp.get() - own.next_wake.get() >= clock::nanos(NEXT_WAKE) {
            own.next_wake.set(own.stamp.get());
            self.sched.wakep();
        }
    }

    /// Runs `f`, which wakes any number of goroutines. They are queued at `place` in that order.
    /// Then one M is woken if that makes work for two.
    pub(super) fn in_batch<R>(&self, place: Place, f: impl FnOnce() -> R) -> R {
        // Also restores the place if a foreign waker panics.
        struct RestorePlace<'a>(&'a Local, Place);
        impl Drop for RestorePlace<'_> {
            fn drop(&mut self) {
                self.0.wake_to.set(self.1);
            }
        }
        let before = RestorePlace(self, self.wake_to.replace(place));
        let result = f();
        drop(before);
        let p = self.p();
        self.requeue_if_handed_off(&p);
        let local = p.runq.len() + usize::from(p.runq.has_next());
        // More than the goroutine that runs next.
        if local > 1 || self.sched.globq.len() > 0 {
            self.sched.wakep();
        }
        result
    }

    /// Appends to the ring. If the ring is full, half of it goes to the global queue.
    #[inline]
    pub(crate) fn put_tail(&self, p: &OwnedP, gp: GRef) {
        if let Err(Full(gp)) = p.runq().put_tail(gp) {
            self.overflow(p, gp);
        }
    }

    /// Appends to the newcomers. If there is no room, appends to the ring.
    pub(super) fn put_newcomer(&self, p: &OwnedP, gp: GRef) {
        if let Err(Full(gp)) = p.runq().put_newcomer(gp) {
            self.put_tail(p, gp);
        }
    }

    #[cold]
    fn overflow(&self, p: &OwnedP, gp: GRef) {
        let mut batch: GList = p.runq().take_half();
        if batch.is_empty() {
            // A thief made room meanwhile.
            return self.put_tail(p, gp);
        }
        batch.push_back(gp);
        p.counters.overflows.add(1);
        self.sched.globq.put_batch(batch);
    }
}
