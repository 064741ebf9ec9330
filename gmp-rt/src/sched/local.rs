//! The thread-local state of an M.
//!
//! # Invariants
//!
//! - I1: [`CURRENT`] is null or points to the [`Local`] that lives on this thread's own stack, in
//!   [`Local::enter`], for as long as it is set.
//! - I2: while [`Local::goid`] is not 0, `running` is the goroutine whose `GRef` this M has.

use super::Sched;
use super::p_slot::{PRef, PSlot};
use super::pause;
use crate::g::ptr::GPtr;
use crate::g::{G, GRef, GoId};
use crate::m::M;
use crate::p::OwnedP;
use crate::prim::{self, thread_wide};
use crate::sys::overflow::Culprit;
use crate::timer::Timers;
use crate::tracer::hook;
use crate::util::clock;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

/// How the running poll wants to be requeued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Yield {
    /// Not at all.
    #[default]
    No,
    /// To the tail of the local ring.
    Local,
    /// To the tail of the global queue: its slice is over.
    Global,
    /// Behind the newcomers that interrupted it.
    Behind,
}

impl Yield {
    /// Whether a budget check of the poll was refused.
    pub(crate) fn is_refusal(self) -> bool {
        matches!(self, Self::Global | Self::Behind)
    }
}

/// The place in the local queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before all others: spawned and woken goroutines.
    RunNext,
    /// Behind all others, without a wake-up of an M yet: one of a batch, or one that yielded.
    Tail,
    /// Before `runnext` and the ring, without a wake-up of an M yet. See [`crate::p::service`].
    Newcomer,
}

/// The part of an M that only its own thread uses.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) sched: Arc<Sched>,
    pub(crate) m: Arc<M>,
    /// The M's P, while it has one. Changes only between polls.
    p: PSlot,
    /// The goroutine being polled; 0 between polls.
    pub(crate) goid: Cell<GoId>,
    /// Its cell; arbitrary between polls.
    running: Cell<Option<GPtr>>,
    /// The number of `block_on` calls of other runtimes that this thread is in. Calls without a
    /// handle then use those runtimes.
    pub(crate) elsewhere: Cell<u32>,
    /// Whether this thread is in a call of [`syscall_block`](super::handoff::syscall_block), which
    /// gave up its P.
    pub(super) in_syscall_block: Cell<bool>,
    /// Where goroutines go that are woken on this thread.
    pub(super) wake_to: Cell<Place>,
    /// Set by `yield_now` and by refused budget checks inside a poll.
    pub(crate) yielding: Cell<Yield>,
    /// Refused budget checks of this poll; valid while `yielding` [is a
    /// refusal](Yield::is_refusal).
    pub(crate) refusals: Cell<u32>,
    /// Budget checks after the end of the slice that are not refused.
    pub(super) allowance: Cell<u32>,
    /// The newcomer that was taken last, until a service within its poll; else 0.
    pub(super) newcomer: Cell<GoId>,
}

thread_wide! {
    static CURRENT: Cell<*const Local> = Cell::new(ptr::null());
}

impl Local {
    /// Creates the state of a thread that has no P yet.
    pub(crate) fn new(sched: Arc<Sched>, m: Arc<M>) -> Self {
        let (p, goid, elsewhere, in_syscall_block) = Default::default();
        let (yielding, refusals, allowance, newcomer) = Default::default();
        let wake_to = Cell::new(Place::RunNext);
        let running = Cell::new(None);
        Self {
            sched,
            m,
            p,
            goid,
            running,
            elsewhere,
            in_syscall_block,
            wake_to,
            yielding,
            refusals,
            allowance,
            newcomer,
        }
    }

    /// Runs `f` as a worker thread of the runtime.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct ClearCurrent;
        impl Drop for ClearCurrent {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(ptr::null()));
            }
        }
        CURRENT.with(|current| current.set(self));
        let _leave = ClearCurrent;
        f()
    }

    /// Records that this M polls `gp`, or drops its future, until [`poll_ends`](Self::poll_ends).
    #[inline(always)]
    pub(super) fn poll_begins(&self, gp: &GRef) {
        self.running.set(Some(gp.as_raw()));
        self.goid.set(gp.goid());
    }

    /// Records the end of the poll.
    #[inline(always)]
    pub(super) fn poll_ends(&self) {
        self.goid.set(0);
    }

    /// Returns the goroutine that this M polls.
    fn running(&self) -> Option<&G> {
        let running = self.running.get().filter(|_| self.goid.get() != 0);
        // SAFETY: I2 — this M holds a reference until the end of the poll, and this thread is in
        // the poll.
        running.map(|g| unsafe { g.header() })
    }

    /// Runs `f` as an external thread does. For calls of any code while this M has no P.
    pub(crate) fn outside<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Return(*const Local);
        impl Drop for Return {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        let _return = Return(CURRENT.with(|current| current.replace(ptr::null())));
        f()
    }

    /// Returns the P. An M always has one while it polls.
    #[inline(always)]
    pub(crate) fn p(&self) -> PRef<'_> {
        match self.p.get() {
            Some(p) => p,
            None => crate::throw::throw!("p: M{} has no P", self.m.id),
        }
    }

    /// Returns the number of the P, if there is one.
    #[inline]
    pub(crate) fn p_number(&self) -> Option<usize> {
        self.p.get().map(|p| p.number())
    }

    /// Returns the timers of the P.
    #[inline]
    pub(crate) fn timers(&self) -> &Arc<Timers> {
        self.sched.ps.timers(self.p().number())
    }

    /// Requests a service of the P, if there is one, before the next poll.
    pub(super) fn request_service(&self) {
        if let Some(p) = self.p.get() {
            p.request_service();
        }
    }

    /// Takes `p` over as the P of this M.
    pub(crate) fn acquire_p(&self, p: OwnedP) {
        p.install_cache();
        let now = clock::now();
        p.own().stamp.set(now);
        p.own().service.forget_time();
        p.set_owner(self.m.id, self.m.thread, pause::own());
        self.trace_got_p(&p);
        let before = self.p.put(p);
        debug_assert!(before.is_none(), "an M with two Ps");
        // Before the first poll, which may block: sysmon has to notice that.
        self.sched.schedule_sysmon_wake();
        // A handed-off P may have due timers while its M is in a poll that does not end. They are
        // fired first, as on any P. Otherwise the first poll on this P may delay them too.
        if self.sched.next_timer() <= now {
            self.fire_all(now, Place::Newcomer);
        }
    }

    /// Gives up the P and returns it.
    pub(crate) fn release_p(&self) -> Option<OwnedP> {
        let p = self.p.take()?;
        pause::disown();
        hook::lost_p();
        p.uninstall_cache();
        Some(p)
    }
}

/// Describes the goroutine that this thread polls: id, name and spawn site. For the panic hook.
pub(crate) fn running_goroutine() -> Option<String> {
    let goid = with(|local| local.map(|local| local.goid.get())).filter(|goid| *goid != 0)?;
    // The look-up takes a lock. A panic under a lock is a bug, which must not end in a deadlock.
    let g = with(|local| match prim::holds_lock() {
        true => None,
        false => local?.p.get()?.goroutine(goid),
    });
    let Some(g) = g else { return Some(format!("goroutine {goid}")) };
    let name = g.name().map(|name| format!(" {name:?}")).unwrap_or_default();
    Some(format!("goroutine {goid}{name}, spawned at {} by goroutine {},", g.site(), g.parent()))
}

/// Runs `f` with the state of this thread's M, if it is a worker thread.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(Option<&Local>) -> R) -> R {
    // SAFETY: I1 — null, or alive on this thread's stack below this frame; `f` cannot keep it.
    f(unsafe { CURRENT.with(Cell::get).as_ref() })
}

/// Reports the goroutine that this thread polls, for a signal handler: takes no lock and allocates
/// nothing.
pub(super) fn find_culprit(report: fn(&Culprit<'_>)) {
    with(|local| {
        if let Some(g) = local.and_then(Local::running) {
            let site = g.site();
            let (goid, name) = (g.goid(), g.name());
            report(&Culprit { goid, name, file: site.file(), line: site.line() });
        }
    });
}

/// Runs `f` as [`with`] does, but with `None` also inside a `block_on` of another runtime. For
/// calls that mean the innermost runtime.
#[inline]
pub(crate) fn with_home<R>(f: impl FnOnce(Option<&Local>) -> R) -> R {
    with(|local| f(local.filter(|local| local.elsewhere.get() == 0)))
}
