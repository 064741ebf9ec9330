//! The services of a P: it lets newcomers in while it has other work. The rule and its bounds are
//! in [`crate::p::service`].
//!
//! A service also is the time to give up a surplus P, to take a goroutine from the global queue,
//! and to read the clock for the stamps of waits.

use super::globq::Taken;
use super::local::Place;
use super::local::{Local, Yield};
use super::worker::{Found, Slice, Work, Worker};
use crate::netpoll::Ready;
use crate::p::service::Admission;
use crate::p::{OwnedP, PStatus};
use crate::prim::{debug_assert_no_lock_held, take_contended};
use crate::timer::Timers;
use crate::tuning::{GLOBAL_TICK, LOOKS};
use crate::util::clock;

impl Worker<'_> {
    /// Makes a service if it is due, looks at the global queue, and takes the next goroutine of
    /// this P. `None` also if the P is surplus, or if another M gets it: `find_elsewhere` does
    /// that.
    #[cold]
    pub(super) fn serve_then_take(&mut self) -> Option<Found> {
        self.local.sched.exit_if_forked();
        let p = self.local.p();
        let asked = p.take_service_request();
        if asked && self.local.sched.is_surplus() {
            return None;
        }
        let is_due = p.own().service.is_due();
        drop(p);
        if asked || is_due {
            self.serve();
        }
        match self.check_global() {
            Some(Work::Goroutine(gp)) => Some(Found::fresh(gp)),
            Some(Work::ReturningM(m)) => {
                self.returning = Some(m);
                None
            }
            None => self.take_own(),
        }
    }

    /// Makes a service.
    fn serve(&mut self) {
        let p = self.local.p();
        let now = self.local.begin_service(&p);
        let admission = begin_turn(&p, now);
        if p.runq.has_next() && p.is_slice_over(now) {
            self.local.end_chain(&p);
        }
        drop(p);
        if admission == Admission::Open {
            self.local.admit(now, &mut self.ready);
        }
    }

    /// Takes one goroutine of the global queue to run before those of this P, in every 61st slice
    /// (Go's rule), and plans the next look. In other slices it moves one to the ring if that is
    /// short: a `runnext` chain is one slice of up to 10 ms, so 61 of them may take long.
    fn check_global(&self) -> Option<Work> {
        let (p, sched) = (self.local.p(), &self.local.sched);
        let (own, slices) = (p.own(), p.counters.slices.get());
        let passed = slices - own.global_slice.get();
        if passed >= GLOBAL_TICK {
            own.global_slice.set(slices);
            own.service.look_after(GLOBAL_TICK as u32);
            return sched.globq.take(|_| 1).and_then(|taken| match taken {
                Taken::Goroutines(mut one) => one.pop_front().map(Work::Goroutine),
                Taken::ReturningM(m) => Some(Work::ReturningM(m)),
            });
        }
        // In a `runnext` chain no slice begins: the next look need not be at an exact slice.
        let in_chain = own.seen_slice.replace(slices) == slices;
        let until = if in_chain { GLOBAL_TICK } else { GLOBAL_TICK - passed };
        own.service.look_after(until as u32);
        if (p.runq.ring_len() as u64) < GLOBAL_TICK {
            self.local.admit_global(&p);
        }
        None
    }

    /// Takes the oldest newcomer; ends the turn of the newcomers if there is none.
    ///
    /// A newcomer runs within the slice that it interrupts. So a chain of `runnext` goroutines does
    /// not get a new slice by each newcomer, and the ring does not wait longer for the chain. The
    /// newcomer has to yield only if its own poll uses up a slice.
    #[cold]
    pub(super) fn take_newcomer(&self, p: &OwnedP) -> Option<Found> {
        if let Some(gp) = p.runq().get_newcomer() {
            if p.preempt_requested() {
                self.local.end_request(p, clock::now());
            }
            self.local.newcomer.set(gp.goid());
            return Some(Found { gp, slice: Slice::Inherit });
        }
        p.own().service.end_newcomers(clock::now());
        p.note_batch(false);
        None
    }
}

/// Begins a service at the time `now`, which may end the turn of the newcomers.
fn begin_turn(p: &OwnedP, now: u64) -> Admission {
    let admission = p.own().service.begin(now);
    if !p.own().service.is_newcomers_turn() {
        p.note_batch(false);
    }
    admission
}

impl Local {
    /// Makes a service between two operations of a goroutine. Returns how the goroutine has to
    /// yield: because newcomers wait, because the turn of newcomers is over, or because the P has
    /// to give up its right to run.
    ///
    /// Newcomers do not interrupt each other. A newcomer yields at the end of their turn, but not
    /// at the first service within its poll, because that may come right after the poll began.
    pub(super) fn serve_in_poll(&self) -> Option<Yield> {
        debug_assert_no_lock_held("makes a service");
        let p = self.p();
        let service = &p.own().service;
        let was_newcomers_turn = service.is_newcomers_turn();
        let now = self.begin_service(&p);
        let admission = begin_turn(&p, now);
        if p.status() == PStatus::HandedOff {
            // Other Ps serve newcomers. Sysmon asks this poll to yield only once, but it may
            // continue in `block_on`, which ends the refusals of each of its polls.
            return p.is_slice_over(now).then_some(Yield::Global);
        }
        if admission == Admission::Open {
            self.admit(now, &mut Ready::default());
        }
        let retires = p.take_service_request() && self.sched.is_surplus();
        if retires {
            // For the search that follows the poll.
            p.request_service();
        }
        let newcomers_wait = p.runq.newcomers_len() > 0;
        let is_new = self.newcomer.replace(0) == self.goid.get();
        let others_wait = match (was_newcomers_turn, service.is_newcomers_turn()) {
            (true, true) | (false, false) => false,
            (true, false) => !is_new && (newcomers_wait || p.runq.len() > 0 || p.runq.has_next()),
            (false, true) => newcomers_wait,
        };
        (retires || others_wait).then_some(Yield::Behind)
    }

    /// Ends a request to yield, and the `runnext` chain whose slice is over at the time `now`.
    pub(super) fn end_request(&self, p: &OwnedP, now: u64) {
        p.own().stamp.set(now);
        if p.is_slice_over(now) {
            self.end_chain(p);
        } else {
            p.clear_preempt();
        }
    }

    /// Ends the slice of a `runnext` chain. The next goroutine of the chain goes to the global
    /// queue.
    fn end_chain(&self, p: &OwnedP) {
        p.begin_slice();
        if let Some(gp) = p.runq().take_next() {
            self.sched.globq.put(gp);
            self.sched.wakep();
        }
    }

    /// Lets newcomers in: due timers, events of the network, and the inbox. `ready` is room for
    /// wakers.
    fn admit(&self, now: u64, ready: &mut Ready) {
        self.fire_some(now, Place::Newcomer);
        if self.sched.net.is_ask_due(now) {
            self.ask_network(Place::Newcomer, ready);
        }
        let p = self.p();
        self.admit_inbox(&p);
        if p.runq.newcomers_len() > 0 {
            p.own().service.begin_newcomers(now);
        }
    }

    /// Lets this P's share of the inbox in.
    fn admit_inbox(&self, p: &OwnedP) {
        let inbox = &self.sched.inbox;
        if inbox.is_empty() {
            return;
        }
        self.in_batch(Place::Newcomer, || {
            let share = self.sched.share(inbox.len());
            inbox.take(share, &p.own().inbox_batch, |gp| self.put_newcomer(p, gp));
        });
    }

    /// Reads the clock, and counts the service and the operations since the last one.
    fn begin_service(&self, p: &OwnedP) -> u64 {
        let now = clock::now();
        p.own().stamp.set(now);
        p.counters.ops.add(p.own().service.ops());
        p.counters.services.add(1);
        p.counters.contended.add(take_contended());
        now
    }

    /// Makes the service of a P that has no work of its own: runs due timers. `ready` is room for
    /// wakers.
    ///
    /// If it finds newcomers, the search ends there. Timers may be due at each search, so the
    /// other newcomers and one goroutine of the global queue are let in as well.
    pub(super) fn out_of_work(&self, ready: &mut Ready) {
        let p = self.p();
        let now = self.begin_service(&p);
        p.own().service.out_of_work(now);
        self.fire_some(now, Place::Newcomer);
        if p.runq.newcomers_len() == 0 {
            return;
        }
        if self.sched.net.is_ask_due(now) {
            self.ask_network(Place::Newcomer, ready);
        }
        self.admit_inbox(&p);
        self.admit_global(&p);
    }

    /// Moves one goroutine from the global queue to the ring. If a returning M comes first there,
    /// it gets the P when `runnext` and the goroutines on the ring have run: the next turn of the
    /// global queue is earlier.
    fn admit_global(&self, p: &OwnedP) {
        if self.sched.globq.len() == 0 {
            return;
        }
        if let Some(gp) = self.sched.globq.get() {
            return self.put_tail(p, gp);
        }
        let (own, slices) = (p.own(), p.counters.slices.get());
        let before = p.runq.ring_len() as u64 + u64::from(p.runq.has_next());
        // A turn that is planned already stays: goroutines may have come to the ring since.
        let last = (slices + before).saturating_sub(GLOBAL_TICK).min(own.global_slice.get());
        own.global_slice.set(last);
        own.service.look_after((last + GLOBAL_TICK).saturating_sub(slices) as u32);
    }

    /// Begins the turn of the newcomers that a P without own work has found. Returns whether there
    /// are any. They share a slice, which the caller begins.
    pub(super) fn begin_found_newcomers(&self) -> bool {
        let p = self.p();
        let found = p.runq.newcomers_len() > 0;
        if found {
            p.own().service.begin_newcomers(clock::now());
            p.note_batch(true);
        }
        found
    }

    /// Runs the due timers of all Ps. What they wake is queued at `place`.
    pub(super) fn fire_all(&self, now: u64, place: Place) {
        for timers in self.sched.ps.all_timers() {
            self.fire_due(timers, now, place);
        }
    }

    /// Runs the due timers of this P. With many Ps it also runs those of some other Ps, in turn.
    fn fire_some(&self, now: u64, place: Place) {
        let ps = &self.sched.ps;
        let n = ps.timers_len();
        if n <= LOOKS {
            return self.fire_all(now, place);
        }
        let p = self.p();
        let (number, start) = (p.number(), p.counters.services.get() as usize * LOOKS);
        drop(p);
        self.fire_due(ps.timers(number), now, place);
        for at in start..start + LOOKS {
            self.fire_due(ps.timers(at % n), now, place);
        }
    }

    #[inline]
    fn fire_due(&self, timers: &Timers, now: u64, place: Place) {
        if timers.next_when() <= now {
            self.fire(timers, now, place);
        }
    }

    #[cold]
    fn fire(&self, timers: &Timers, now: u64, place: Place) {
        let _fired = self.in_batch(place, || timers.fire(now));
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "serve_tests.rs"]
mod tests;
