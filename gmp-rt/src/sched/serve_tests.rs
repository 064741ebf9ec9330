//! The services of one P, without threads: the test is the M, and no goroutine is polled.

use super::super::Config;
use super::super::Sched;
use super::super::goid;
use super::super::local::Yield;
use super::super::submit::{GmpSchedule, wake_all};
use super::super::worker::Slice;
use super::super::worker::Step;
use super::{Local, Place, Worker};
use crate::g::list::GList;
use crate::g::origin::Origin;
use crate::g::{Birth, GRef, Ids, cell, waker};
use crate::m::M;
use crate::p::OwnedP;
use crate::p::runq::Queued;
use crate::prim::BatchQueue;
use crate::sysmon::Sysmon;
use crate::timer::Timers;
use crate::tuning::{GLOBAL_TICK, NEWCOMER_TURN, SLICE, SYSMON_NAP};
use crate::util::clock::{self, stopped};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 3) as u16;

/// A goroutine on no queue, and its id.
fn goroutine() -> (GRef, u64) {
    let ids = Ids::new(goid::single(), RUNTIME);
    let origin = Origin::site_only(Location::caller());
    let gp = cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp;
    let id = gp.goid();
    (gp, id)
}

/// A goroutine that waits, and the waker that makes it runnable.
fn waiting() -> (Waker, u64) {
    let (gp, id) = goroutine();
    let _ = gp.status.to_running();
    let waker = (*waker::borrowed(&gp)).clone();
    let _ = gp.status.after_pending();
    let _ = gp.into_raw();
    (waker, id)
}

/// Empties `list`. Returns the ids in order.
fn ids(mut list: GList) -> Vec<u64> {
    // Leaked: no thread polls them.
    std::iter::from_fn(|| list.pop_front().map(|gp| (gp.goid(), gp.into_raw()).0)).collect()
}

/// An M with a P, in a scheduler of two Ps that has no threads. The other P counts as busy, and the
/// clock does not advance.
struct Bench {
    local: Local,
    other: OwnedP,
}

impl Bench {
    fn new() -> Self {
        stopped::stop();
        let config = Config { procs: 2, thread_limit: 0, ..Config::default() };
        let sched = Sched::new(RUNTIME, config);
        let take = || sched.idle.with(|lists| sched.idle.take_p(lists)).expect("a P");
        let (own, other) = (take(), take());
        let local = Local::new(sched.clone(), Arc::new(M::for_this_thread(1)));
        local.acquire_p(own);
        local.p().begin_slice();
        local.p().own().global_slice.set(local.p().counters.slices.get());
        Self { local, other }
    }

    /// Puts `n` goroutines at `place`. Returns their ids in order.
    fn put(&self, n: usize, place: Place) -> Vec<u64> {
        let put = |(gp, id)| {
            self.local.runqput(gp, place);
            id
        };
        (0..n).map(|_| put(goroutine())).collect()
    }

    fn timers_of_other(&self) -> &Timers {
        self.local.sched.ps.timers(self.other.number())
    }

    fn put_inbox(&self, n: usize) -> Vec<u64> {
        let put = |(gp, id)| {
            self.local.sched.inbox.put(gp);
            id
        };
        (0..n).map(|_| put(goroutine())).collect()
    }

    fn put_global(&self, n: usize) -> Vec<u64> {
        let put = |(gp, id)| {
            self.local.sched.globq.put(gp);
            id
        };
        (0..n).map(|_| put(goroutine())).collect()
    }

    /// Finds `n` goroutines, each as the M does before a poll. Returns their ids.
    fn find(&self, n: usize) -> Vec<u64> {
        self.find_with_slices(n).into_iter().map(|(id, _)| id).collect()
    }

    fn find_with_slices(&self, n: usize) -> Vec<(u64, Slice)> {
        let mut worker = self.worker();
        let mut find = || {
            let found = self.local.enter(|| worker.find_local())?;
            if found.slice == Slice::Fresh {
                self.local.p().begin_slice();
            }
            let id = found.gp.goid();
            // Leaked: no thread polls it.
            let _ = found.gp.into_raw();
            Some((id, found.slice))
        };
        (0..n).map_while(|_| find()).collect()
    }

    /// Makes many short polls, so that no service is due in the next ones.
    fn settle(&self) {
        for _ in 0..1000 {
            let own = self.put(1, Place::Tail);
            assert_eq!(self.find(1), own);
        }
        let _ = self.local.p().own().service.begin(clock::now());
    }

    /// Finds a goroutine as a P without own work does. Returns its id.
    fn find_anywhere(&self) -> u64 {
        self.find_anywhere_with_slice().0
    }

    fn find_anywhere_with_slice(&self) -> (u64, Slice) {
        let mut worker = self.worker();
        worker.token = self.local.sched.idle.word.try_spin(2);
        let Step::Run(found) = self.local.enter(|| worker.find_runnable()) else {
            panic!("the M exits")
        };
        if let Some(token) = worker.token.take() {
            worker.stop_spinning(token);
        }
        if found.slice == Slice::Fresh {
            self.local.p().begin_slice();
        }
        let id = found.gp.goid();
        // Leaked: no thread polls it.
        let _ = found.gp.into_raw();
        (id, found.slice)
    }

    /// Whether sysmon asks the goroutine `id` to yield as soon as it sees a long poll of it.
    fn is_hurried(&self, id: u64) -> bool {
        let mut sysmon = Sysmon::new(self.local.sched.clone());
        let p = self.local.p();
        p.counters.polls.add(1);
        p.set_goid(id);
        let now = clock::now();
        let _ = sysmon.round(now);
        assert!(!p.preempt_requested(), "its poll is new");
        let _ = sysmon.round(now + clock::nanos(SYSMON_NAP));
        p.set_goid(0);
        let hurried = p.preempt_requested();
        p.clear_preempt();
        hurried
    }

    fn slices(&self) -> u64 {
        self.local.p().counters.slices.get()
    }

    /// Empties the inbox. Returns the ids in order.
    fn inbox(&self) -> Vec<u64> {
        let mut all = GList::new();
        self.local.sched.inbox.take(usize::MAX, &BatchQueue::new_fifo(), |gp| all.push_back(gp));
        ids(all)
    }

    /// Returns how many steals were counted, and how many stolen goroutines.
    fn steals(&self) -> (u64, u64) {
        let metrics = self.local.sched.metrics();
        (metrics.total().steals, metrics.total().stolen)
    }

    fn worker(&self) -> Worker<'_> {
        Worker { spin_rounds: 1, ..Worker::new(&self.local, None) }
    }

    /// Calls `f` as in a poll of the goroutine `id`.
    fn in_poll<R>(&self, id: u64, f: impl FnOnce(&Local) -> R) -> R {
        self.local.goid.set(id);
        let result = self.local.enter(|| f(&self.local));
        self.local.goid.set(0);
        result
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.local.release_p());
        stopped::go_on();
    }
}

#[test]
fn newcomers_run_before_runnext_and_the_ring() {
    let bench = Bench::new();
    let ring = bench.put(2, Place::Tail);
    let next = bench.put(1, Place::RunNext);
    let inbox = bench.put_inbox(1);
    assert_eq!(bench.find(4), [inbox, next, ring].concat());
}

#[test]
fn the_newest_of_five_runs_first_and_the_others_in_order() {
    let bench = Bench::new();
    let five = bench.put(5, Place::RunNext);
    assert_eq!(bench.find(5), [&five[4..], &five[..4]].concat());
}

#[test]
fn a_p_that_is_drained_gives_newcomers_first() {
    let bench = Bench::new();
    let ring = bench.put(1, Place::Tail);
    let next = bench.put(1, Place::RunNext);
    let newcomers = bench.put(2, Place::Newcomer);
    let Queued { newcomers: first, others } = bench.local.p().runq().drain();
    assert_eq!(ids(first), newcomers);
    assert_eq!(ids(others), [next, ring].concat());
}

#[test]
fn newcomers_of_a_handed_off_p_go_to_the_inbox() {
    let bench = Bench::new();
    let ring = bench.put(300, Place::Tail);
    let newcomers = bench.put(200, Place::Newcomer);
    assert!(bench.local.sched.handoffp(&bench.local.p(), || true));
    assert_eq!(bench.inbox(), newcomers);
    assert_eq!(bench.local.sched.globq.len(), ring.len());
    assert_eq!(bench.local.p().runq.len(), 0);
    // Woken while it is handed off.
    bench.put(1, Place::Tail);
    assert_eq!(bench.local.sched.globq.len(), ring.len() + 1);
    let late = bench.put(1, Place::Newcomer);
    assert_eq!(bench.inbox(), late);
}

#[test]
fn newcomers_that_an_idle_p_finds_run_before_those_that_they_wake() {
    let bench = Bench::new();
    bench.settle();
    let (early, late) = (waiting(), waiting());
    let now = clock::now();
    let _ = bench.timers_of_other().insert(now - 1, now, &early.0);
    let _ = bench.timers_of_other().insert(now, now, &late.0);
    assert_eq!(bench.find_anywhere(), early.1);
    let next = bench.put(1, Place::RunNext);
    assert_eq!(bench.find(2), [late.1, next[0]]);
}

/// At each search two timers are due, so the P never runs out of newcomers.
#[test]
fn timers_do_not_starve_the_inbox_and_the_global_queue() {
    let bench = Bench::new();
    bench.settle();
    let (inbox, global) = (bench.put_inbox(1), bench.put_global(1));
    let mut found = Vec::new();
    for _ in 0..8 {
        for (waker, _) in [waiting(), waiting()] {
            let now = clock::now();
            let _ = bench.timers_of_other().insert(now, now, &waker);
        }
        found.push(bench.find_anywhere());
        stopped::advance(NEWCOMER_TURN / 2);
    }
    assert!(found.contains(&inbox[0]), "the inbox");
    assert!(found.contains(&global[0]), "the global queue");
}

#[test]
fn goroutines_that_an_idle_p_finds_in_the_inbox_run_before_those_that_they_wake() {
    let bench = Bench::new();
    bench.settle();
    // Two Ps: half, and one.
    let inbox = bench.put_inbox(3);
    assert_eq!(bench.find_anywhere(), inbox[0]);
    let next = bench.put(1, Place::RunNext);
    assert_eq!(bench.find(2), [inbox[1], next[0]]);
}

/// A waker that calls a function.
struct Call<F>(F);

impl<F: Fn() + Send + Sync> Wake for Call<F> {
    fn wake(self: Arc<Self>) {
        self.0();
    }
}

/// The waker of a timer fills the ring of a P that is about to steal.
#[test]
fn a_thief_runs_what_a_timer_has_put_on_its_ring() {
    let bench = Bench::new();
    bench.settle();
    let (waits, id) = waiting();
    let wakes_as_batch = Waker::from(Arc::new(Call(move || wake_all([waits.clone()]))));
    let sched = bench.local.sched.clone();
    // The first timer is on the second P, so the timer that it sets is fired by the steal.
    let sets_timer = Waker::from(Arc::new(Call(move || {
        let now = clock::now();
        let _ = sched.ps.timers(0).insert(now, now, &wakes_as_batch);
    })));
    let now = clock::now();
    let _ = bench.local.sched.ps.timers(1).insert(now, now, &sets_timer);
    assert_eq!(bench.find_anywhere(), id);
    assert_eq!(bench.steals(), (0, 0), "a timer of another P is no goroutine of it");
}

#[test]
fn stolen_newcomers_run_before_those_that_they_wake() {
    let bench = Bench::new();
    bench.settle();
    let newcomers: Vec<u64> = (0..4)
        .map(|_| {
            let (gp, id) = goroutine();
            bench.other.runq().put_newcomer(gp).expect("the ring has room");
            id
        })
        .collect();
    assert_eq!(bench.find_anywhere(), newcomers[0]);
    assert_eq!(bench.steals(), (1, 2), "half of four");
    let next = bench.put(1, Place::RunNext);
    assert_eq!(bench.find(2), [newcomers[1], next[0]]);
}

#[test]
fn a_service_takes_a_share_of_the_inbox() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    let inbox = bench.put_inbox(4);
    // Two Ps: half, and one.
    assert_eq!(bench.find(4), [&inbox[..3], &next[..]].concat());
    assert_eq!(bench.local.sched.inbox.len(), 1);
}

#[test]
fn due_timers_of_all_ps_are_served() {
    let bench = Bench::new();
    let ring = bench.put(1, Place::Tail);
    let (own, other) = (waiting(), waiting());
    let now = clock::now();
    let _ = bench.local.timers().insert(now, now, &own.0);
    let _ = bench.timers_of_other().insert(now, now, &other.0);
    let found = bench.find(3);
    assert!(found[..2].contains(&own.1) && found[..2].contains(&other.1));
    assert_eq!(found[2], ring[0]);
}

#[test]
fn the_global_queue_comes_first_in_every_61st_slice() {
    let bench = Bench::new();
    // Enough that the ring is not short when the last of the three runs.
    let ring = bench.put(250, Place::Tail);
    let global = bench.put_global(3);
    let found = bench.find(253);
    let at = |id| found.iter().position(|found| *found == id);
    let tick = GLOBAL_TICK as usize;
    assert_eq!(
        [at(global[0]), at(global[1]), at(global[2])],
        [Some(tick), Some(2 * tick), Some(3 * tick)]
    );
    let own: Vec<u64> = found.into_iter().filter(|id| !global.contains(id)).collect();
    assert_eq!(own, ring);
}

#[test]
fn a_service_moves_one_goroutine_from_the_global_queue_to_a_short_ring() {
    let bench = Bench::new();
    let ring = bench.put(2, Place::Tail);
    let global = bench.put_global(1);
    assert_eq!(bench.find(3), [ring, global].concat());
}

#[test]
fn a_newcomer_runs_within_the_slice_that_it_interrupts() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    let inbox = bench.put_inbox(1);
    let found = bench.find_with_slices(2);
    assert_eq!(found, [(inbox[0], Slice::Inherit), (next[0], Slice::Inherit)]);
}

#[test]
fn a_chain_whose_slice_is_over_goes_behind_the_newcomers_and_the_ring() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    let ring = bench.put(1, Place::Tail);
    let inbox = bench.put_inbox(1);
    stopped::advance(SLICE);
    assert_eq!(bench.find(3), [inbox, ring, next].concat());
}

#[test]
fn a_newcomer_does_not_yield_because_the_poll_before_was_long() {
    let bench = Bench::new();
    bench.put(1, Place::RunNext);
    let newcomer = bench.put(1, Place::Newcomer);
    stopped::advance(SLICE);
    bench.local.p().request_preempt();
    let found = bench.worker().take_newcomer(&bench.local.p()).map(|found| found.gp);
    assert_eq!(found.map(|gp| (gp.goid(), gp.into_raw()).0), Some(newcomer[0]));
    assert!(!bench.local.p().preempt_requested(), "the newcomer has a slice");
    assert_eq!(bench.local.sched.globq.len(), 1, "the chain waits");
}

#[test]
fn a_request_before_the_end_of_the_slice_does_not_end_the_chain() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    let inbox = bench.put_inbox(1);
    bench.local.p().request_preempt();
    assert_eq!(bench.find(2), [inbox, next].concat());
}

#[test]
fn newcomers_interrupt_an_own_goroutine() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    assert_eq!(bench.find(1), next);
    assert_eq!(bench.in_poll(next[0], Local::serve_in_poll), None, "nobody waits");
    bench.put_inbox(1);
    assert_eq!(bench.in_poll(next[0], Local::serve_in_poll), Some(Yield::Behind));
}

#[test]
fn newcomers_do_not_interrupt_each_other() {
    let bench = Bench::new();
    let inbox = bench.put_inbox(2);
    assert_eq!(bench.find(1), inbox[..1]);
    for _ in 0..3 {
        assert_eq!(bench.in_poll(inbox[0], Local::serve_in_poll), None);
    }
}

#[test]
fn a_newcomer_is_not_interrupted_by_the_first_service_in_its_poll() {
    let bench = Bench::new();
    bench.put(1, Place::Tail);
    let inbox = bench.put_inbox(1);
    assert_eq!(bench.find(1), inbox);
    stopped::advance(NEWCOMER_TURN);
    assert_eq!(bench.in_poll(inbox[0], Local::serve_in_poll), None);
}

#[test]
fn a_newcomer_that_runs_beyond_its_turn_yields_to_own_goroutines() {
    let bench = Bench::new();
    bench.put(1, Place::Tail);
    let inbox = bench.put_inbox(1);
    assert_eq!(bench.find(1), inbox);
    assert_eq!(bench.in_poll(inbox[0], Local::serve_in_poll), None);
    stopped::advance(NEWCOMER_TURN);
    assert_eq!(bench.in_poll(inbox[0], Local::serve_in_poll), Some(Yield::Behind));
}

#[test]
fn a_newcomer_goes_on_when_the_slice_of_the_interrupted_chain_ends() {
    let bench = Bench::new();
    bench.put(1, Place::RunNext);
    stopped::advance(SLICE / 2);
    let inbox = bench.put_inbox(1);
    assert_eq!(bench.find(1), inbox);
    stopped::advance(SLICE / 2);
    bench.local.p().request_preempt();
    assert_eq!(bench.in_poll(inbox[0], Local::answer_request), None);
    assert!(!bench.local.p().preempt_requested());
    assert_eq!(bench.local.sched.globq.len(), 1, "the chain waits");
    stopped::advance(SLICE / 2);
    bench.local.p().request_preempt();
    let answer = bench.in_poll(inbox[0], Local::answer_request);
    assert_eq!(answer, Some(Yield::Behind), "its turn is over, its slice is not");
}

#[test]
fn a_goroutine_answers_a_request_by_whether_its_slice_is_over() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    assert_eq!(bench.find(1), next);
    bench.local.p().request_preempt();
    let answer = bench.in_poll(next[0], Local::answer_request);
    assert_eq!(answer, Some(Yield::Behind), "sysmon has asked for newcomers");
    assert!(bench.local.p().take_service_request(), "the next search makes a service");
    stopped::advance(SLICE);
    assert_eq!(bench.in_poll(next[0], Local::answer_request), Some(Yield::Global));
}

#[test]
fn a_chain_ends_after_a_slice_although_each_poll_is_short() {
    let bench = Bench::new();
    let next = bench.put(1, Place::RunNext);
    let ring = bench.put(1, Place::Tail);
    stopped::advance(SLICE);
    assert_eq!(bench.find(2), [ring, next].concat());
}

#[test]
fn newcomers_that_run_for_long_let_the_ring_run_in_between() {
    let bench = Bench::new();
    let ring = bench.put(2, Place::Tail);
    let inbox = bench.put_inbox(2);
    assert_eq!(bench.find(1), inbox[..1]);
    stopped::advance(NEWCOMER_TURN);
    assert_eq!(bench.find(1), ring[..1], "as much time for the ring");
    stopped::advance(NEWCOMER_TURN);
    assert_eq!(bench.find(2), [inbox[1], ring[1]]);
}

#[test]
fn newcomers_that_do_not_fit_go_to_the_ring() {
    let bench = Bench::new();
    let ring = bench.put(1, Place::Tail);
    let newcomers = bench.put(crate::tuning::RUNQ_CAP + 1, Place::Newcomer);
    bench.local.p().own().service.begin_newcomers(clock::now());
    let (fit, rest) = newcomers.split_at(crate::tuning::RUNQ_CAP);
    assert_eq!(bench.find(newcomers.len() + 1), [fit, &ring[..], rest].concat());
}

#[test]
fn newcomers_that_an_idle_p_finds_share_one_slice() {
    let bench = Bench::new();
    bench.settle();
    let (inbox, before) = (bench.put_inbox(2), bench.slices());
    assert_eq!(bench.find_anywhere_with_slice(), (inbox[0], Slice::Fresh));
    assert_eq!(bench.find_with_slices(1), [(inbox[1], Slice::Inherit)]);
    assert_eq!(bench.slices(), before + 1);
}

#[test]
fn newcomers_whose_events_wake_an_m_share_one_slice() {
    let bench = Bench::new();
    bench.settle();
    let (events, before) = ([waiting(), waiting()], bench.slices());
    let mut worker = bench.worker();
    events.iter().for_each(|(waker, _)| worker.ready.push(waker.clone().into()));
    bench.local.enter(|| worker.begin());
    let found = bench.find_with_slices(2);
    assert_eq!(found, [(events[0].1, Slice::Inherit), (events[1].1, Slice::Inherit)]);
    assert_eq!(bench.slices(), before + 1);
}

/// Otherwise each CPU-bound goroutine of a batch would get a thread of its own after a millisecond.
#[test]
fn a_goroutine_is_not_hurried_for_newcomers_that_were_found_with_it() {
    let bench = Bench::new();
    bench.settle();
    let inbox = bench.put_inbox(2);
    assert_eq!(bench.find_anywhere(), inbox[0]);
    assert!(!bench.is_hurried(inbox[0]));
    bench.put_inbox(1);
    assert!(bench.is_hurried(inbox[0]), "this one was not found with it");
}

#[test]
fn an_own_goroutine_is_hurried_for_newcomers() {
    let bench = Bench::new();
    bench.settle();
    // A batch that has run does not count.
    let batch = bench.put_inbox(2);
    assert_eq!(bench.find_anywhere(), batch[0]);
    let next = bench.put(1, Place::RunNext)[0];
    assert_eq!(bench.find(2), [batch[1], next]);
    bench.put(1, Place::Newcomer);
    assert!(bench.is_hurried(next));
}

#[test]
fn an_own_goroutine_is_hurried_for_the_rest_of_a_batch_whose_turn_is_over() {
    let bench = Bench::new();
    bench.settle();
    let batch = bench.put_inbox(2);
    assert_eq!(bench.find_anywhere(), batch[0]);
    let next = bench.put(1, Place::RunNext)[0];
    bench.local.p().request_service();
    stopped::advance(NEWCOMER_TURN);
    assert_eq!(bench.find(1), [next]);
    assert!(bench.is_hurried(next));
}
