//! Rules that users of Go's scheduler know, without threads: the test is the M, and the clock of
//! its thread does not advance. `tests/rules.md` lists all rules.

#[cfg(target_os = "linux")]
#[path = "unmarked_tests.rs"]
mod unmarked;

use super::super::Config;
use super::super::goid;
use super::super::local;
use super::super::registry;
use super::super::submit::{GmpSchedule, wake_all};
use super::*;
use crate::g::list::GList;
use crate::g::origin::Origin;
use crate::g::stored::StoredWaker;
use crate::g::{Birth, Ids, cell, waker};
use crate::m::idle_word::IdleWord;
use crate::m::{Grant, M};
use crate::netpoll::{Delay, Netpoll, PollerWake, Ready};
use crate::p::PStatus;
use crate::p::counters::{POLL_SAMPLE, READY_SAMPLE};
use crate::p::runq::Queued;
use crate::prim::BatchQueue;
use crate::prim::fixed::Mutex;
use crate::sched::local::Local;
use crate::sched::steal::StealOrder;
use crate::sysmon::Sysmon;
use crate::tuning::{NEXT_WAKE, RUNNEXT_BACKOFF, SLICE, SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock::stopped;
use crate::util::rand::Rand;
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

const MS: u64 = 1_000_000;

/// An M with a P, in a scheduler that has no threads. The other Ps count as busy.
struct Bench {
    local: Local,
    others: Vec<OwnedP>,
    /// The M in the pool.
    sleeper: Arc<M>,
    /// The number of wake-ups at the last call of [`wakes`](Self::wakes).
    wakes: Cell<u64>,
}

impl Bench {
    fn new(procs: usize) -> Self {
        Self::with(Config { procs, ..Config::default() })
    }

    fn with(config: Config) -> Self {
        stopped::stop();
        let config = Config { thread_limit: 0, ..config };
        let sched = registry::register(|id| Sched::new(id, config)).unwrap();
        // The goroutines of a bench never end. So its number goes to no other runtime, whose walks
        // over its goroutines would visit these.
        std::mem::forget(sched.clone());
        let mut ps: Vec<OwnedP> =
            sched.idle.with(|lists| std::iter::from_fn(|| sched.idle.take_p(lists)).collect());
        let own = ps.pop().unwrap();
        let local = Local::new(sched, Arc::new(M::for_this_thread(1)));
        local.acquire_p(own);
        local.p().begin_slice();
        local.p().own().global_slice.set(local.p().counters.slices.get());
        let sleeper = Arc::new(M::for_this_thread(2));
        local.sched.idle.with(|lists| lists.pool.push(sleeper.clone()));
        let bench = Self { local, others: ps, sleeper, wakes: Cell::new(0) };
        bench.settle();
        bench
    }

    /// Makes many short polls, so that no service is due in the next ones.
    fn settle(&self) {
        for _ in 0..1000 {
            let own = self.put(1, Place::Tail);
            assert_eq!(self.find(1), own);
        }
        let p = self.local.p();
        p.own().global_slice.set(p.counters.slices.get());
        let _ = p.own().service.begin(clock::now());
    }

    fn sched(&self) -> &Arc<Sched> {
        &self.local.sched
    }

    /// Makes a goroutine on no queue, and returns its id.
    fn goroutine(&self) -> (GRef, u64) {
        let ids = Ids::new(goid::single(), self.sched().id);
        let origin = Origin::site_only(Location::caller());
        let gp = cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp;
        let id = gp.goid();
        (gp, id)
    }

    /// Makes a goroutine that waits, and returns the waker that makes it runnable.
    fn waiting(&self) -> (Waker, u64) {
        let (gp, id) = self.goroutine();
        let _ = gp.status.to_running();
        let waker = (*waker::borrowed(&gp)).clone();
        let _ = gp.status.after_pending();
        let _ = gp.into_raw();
        (waker, id)
    }

    /// Makes `n` goroutines and gives each to `queue`. Returns their ids in order.
    fn each(&self, n: usize, queue: impl Fn(GRef)) -> Vec<u64> {
        let put = |(gp, id)| {
            queue(gp);
            id
        };
        (0..n).map(|_| put(self.goroutine())).collect()
    }

    fn put(&self, n: usize, place: Place) -> Vec<u64> {
        self.each(n, |gp| self.local.runqput(gp, place))
    }

    fn put_global(&self, n: usize) -> Vec<u64> {
        self.each(n, |gp| self.sched().globq.put(gp))
    }

    /// Puts a goroutine on the ring of another P.
    fn put_other(&self) -> u64 {
        self.each(1, |gp| self.others[0].runq().put_tail(gp).expect("the ring has room"))[0]
    }

    fn worker(&self) -> Worker<'_> {
        Worker { spin_rounds: 1, ..Worker::new(&self.local, None) }
    }

    /// Finds up to `n` goroutines on the queue of its P, each as the M does before a poll.
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
            Some((leak(found.gp), found.slice))
        };
        (0..n).map_while(|_| find()).collect()
    }

    /// Finds `n` goroutines anywhere. There must be as many: the M would sleep.
    fn find_anywhere(&self, n: usize) -> Vec<u64> {
        let mut worker = self.worker();
        let mut find = || {
            worker.token =
                worker.token.take().or_else(|| Some(self.sched().idle.word.spin_unconditionally()));
            let Step::Run(found) = self.local.enter(|| worker.find_runnable()) else {
                panic!("the M exits")
            };
            self.local.p().begin_slice();
            leak(found.gp)
        };
        let found = (0..n).map(|_| find()).collect();
        self.sched().idle.word.drop_token(worker.token.take());
        found
    }

    /// Calls `f` as in a poll of a goroutine.
    fn in_poll<R>(&self, f: impl FnOnce(&Local) -> R) -> R {
        self.local.goid.set(1);
        let result = self.local.enter(|| f(&self.local));
        self.local.goid.set(0);
        result
    }

    /// Polls the goroutines on the queue of its P until it is empty.
    fn run(&self) {
        let mut worker = self.worker();
        self.local.enter(|| {
            while let Some(found) = worker.find_local() {
                self.local.execute(found);
            }
        });
    }

    fn global(&self) -> Vec<u64> {
        std::iter::from_fn(|| self.sched().globq.get().map(leak)).collect()
    }

    /// Returns how often an M was woken. Puts that M back to sleep, and its P on the idle list.
    fn wakes(&self) -> u64 {
        if let Some(Grant { p, token }) = self.sleeper.take_grant() {
            self.wakes.set(self.wakes.get() + 1);
            self.sched().idle.with(|lists| {
                self.sched().idle.put_p(lists, p, None, Some(token));
                lists.pool.push(self.sleeper.clone());
            });
        }
        self.wakes.get()
    }

    /// Makes one of the other Ps idle.
    fn make_idle(&mut self) {
        let p = self.others.pop().expect("another P");
        self.sched().idle.with(|lists| self.sched().idle.put_p(lists, p, None, None));
    }

    /// Installs a netpoller that returns `ready` in its next poll.
    fn netpoll(&self, ready: Vec<Waker>) -> Arc<Events> {
        let events = Arc::new(Events { ready: Mutex::new(ready), polls: Mutex::new(0) });
        let made: Arc<dyn Netpoll> = events.clone();
        let _ = self.sched().netpoll(|| Ok(made)).unwrap();
        events
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.local.release_p());
        stopped::go_on();
    }
}

/// A netpoller without a kernel.
#[derive(Debug)]
struct Events {
    ready: Mutex<Vec<Waker>>,
    polls: Mutex<usize>,
}

impl Netpoll for Events {
    fn poll(&self, _delay: Delay, _limit: usize, ready: &mut Ready) -> PollerWake {
        *self.polls.lock() += 1;
        let wakers = std::mem::take(&mut *self.ready.lock());
        wakers.into_iter().for_each(|waker| ready.push(StoredWaker::from(waker)));
        PollerWake::Left
    }

    fn wake(&self) {}

    fn is_used(&self) -> bool {
        true
    }

    fn has_waiters(&self) -> bool {
        false
    }

    fn shut(&self, _ready: &mut Ready) {}
}

/// Returns the id of a goroutine that no thread polls.
fn leak(gp: GRef) -> u64 {
    (gp.goid(), gp.into_raw()).0
}

/// Empties `list`. Returns the ids in order.
fn ids(mut list: GList) -> Vec<u64> {
    std::iter::from_fn(|| list.pop_front().map(leak)).collect()
}

// R3

#[test]
fn overflow_moves_the_older_half_and_the_newcomer_to_the_global_queue() {
    let bench = Bench::new(1);
    let all = bench.put(RUNQ_CAP + 2, Place::RunNext);
    let Queued { others, newcomers } = bench.local.p().runq().drain();
    // The 258th goroutine is `runnext`. It displaced the 257th, which did not fit.
    let half = RUNQ_CAP / 2;
    assert_eq!(ids(others), [&all[RUNQ_CAP + 1..], &all[half..RUNQ_CAP]].concat());
    assert!(newcomers.is_empty());
    assert_eq!(bench.global(), [&all[..half], &all[RUNQ_CAP..=RUNQ_CAP]].concat());
    assert_eq!(bench.local.p().counters.overflows.get(), 1);
}

#[test]
fn a_goroutine_is_spawned_on_the_p_of_its_spawner() {
    let bench = Bench::new(2);
    let origin = Origin::site_only(Location::caller());
    drop(bench.in_poll(|local| local.spawn(async {}, origin)));
    assert!(bench.local.p().runq.has_next());
    assert!(!bench.others[0].runq.has_next());
    assert_eq!(bench.others[0].runq.len(), 0);
    assert!(!bench.sched().has_queued());
}

// R4

#[test]
fn a_woken_goroutine_becomes_runnext() {
    let bench = Bench::new(1);
    let ring = bench.put(1, Place::Tail);
    let first = bench.put(1, Place::RunNext);
    let (waker, woken) = bench.waiting();
    bench.in_poll(|_| waker.wake());
    assert_eq!(bench.find(3), [woken, ring[0], first[0]]);
}

#[test]
fn goroutines_woken_as_a_batch_go_behind_the_ring_in_order() {
    let bench = Bench::new(1);
    let ring = bench.put(1, Place::Tail);
    let next = bench.put(1, Place::RunNext);
    let (wakers, batch): (Vec<_>, Vec<_>) = (0..3).map(|_| bench.waiting()).unzip();
    bench.in_poll(|_| wake_all(wakers));
    assert_eq!(bench.find(5), [next, ring, batch].concat());
}

// R5

#[test]
fn a_chain_whose_slice_is_over_goes_behind_the_global_queue() {
    let bench = Bench::new(1);
    let global = bench.put_global(1);
    let ring = bench.put(1, Place::Tail);
    let next = bench.put(1, Place::RunNext);
    stopped::advance(SLICE);
    bench.local.p().request_preempt();
    let slices = bench.local.p().counters.slices.get();
    let found = bench.worker().take_own().unwrap();
    assert_eq!((found.slice, leak(found.gp)), (Slice::Fresh, ring[0]));
    assert_eq!(bench.global(), [global, next].concat());
    assert_eq!(bench.local.p().counters.slices.get(), slices + 1);
    assert!(!bench.local.p().preempt_requested(), "one goroutine gives way for each request");
}

#[test]
fn runnext_inherits_the_slice_and_the_ring_begins_one() {
    let bench = Bench::new(1);
    let five = bench.put(3, Place::RunNext);
    let expected = [(five[2], Slice::Inherit), (five[0], Slice::Fresh), (five[1], Slice::Fresh)];
    assert_eq!(bench.find_with_slices(3), expected);
}

#[test]
fn sysmon_requests_a_yield_after_a_slice_in_one_poll() {
    let bench = Bench::new(1);
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    bench.local.p().counters.polls.add(1);
    let mut is_asked_at = |nanos| {
        let _ = sysmon.round(start + nanos);
        bench.local.p().preempt_requested()
    };
    let slice = clock::nanos(SLICE);
    assert_eq!([0, slice / 2, slice - 1].map(&mut is_asked_at), [false; 3]);
    assert!(is_asked_at(slice));
}

// R6

#[test]
fn a_p_without_work_takes_its_share_of_the_global_queue() {
    for (procs, queued, share) in [(1, 10, 10), (1, 1000, 128), (4, 10, 3), (4, 1000, 128)] {
        let bench = Bench::new(procs);
        let global = bench.put_global(queued);
        let Some(Work::Goroutine(first)) = bench.worker().take_global(&bench.local.p()) else {
            panic!("goroutines are queued")
        };
        assert_eq!(leak(first), global[0], "{procs} Ps");
        assert_eq!(ids(bench.local.p().runq().drain().others), global[1..share], "{procs} Ps");
        assert_eq!(bench.global(), global[share..], "{procs} Ps");
    }
}

// R7

#[test]
fn a_p_searches_its_queue_then_the_global_queue_then_the_network_then_steals() {
    let bench = Bench::new(2);
    let stolen = bench.put_other();
    let (waker, event) = bench.waiting();
    bench.netpoll(vec![waker]);
    let global = bench.put_global(1)[0];
    let ring = bench.put(1, Place::Tail)[0];
    let next = bench.put(1, Place::RunNext)[0];
    assert_eq!(bench.find_anywhere(5), [next, ring, global, event, stolen]);
}

#[test]
fn a_p_without_own_work_runs_due_timers_before_the_shared_queues() {
    let bench = Bench::new(2);
    let stolen = bench.put_other();
    let global = bench.put_global(1)[0];
    let (waker, timer) = bench.waiting();
    let now = clock::now();
    let _ = bench.local.timers().insert(now, now, &waker);
    assert_eq!(bench.find_anywhere(3), [timer, global, stolen]);
}

// R8

#[test]
fn each_p_may_be_the_first_victim() {
    let rand = Rand::new(8);
    let mut is_first = [false; 4];
    for _ in 0..1000 {
        let first = StealOrder::new(4, rand.next_u32()).next().unwrap();
        is_first[first] = true;
    }
    assert_eq!(is_first, [true; 4]);
}

#[test]
fn a_thief_takes_runnext_only_from_a_p_that_makes_no_progress() {
    let bench = Bench::new(2);
    let (gp, id) = bench.goroutine();
    assert!(bench.others[0].runq().swap_next(gp).is_none());
    let mut worker = bench.worker();
    let mut steal = || bench.local.enter(|| worker.steal_pass(false)).map(leak);
    assert_eq!(steal(), None, "the first look");
    stopped::advance(RUNNEXT_BACKOFF);
    bench.others[0].counters.polls.add(1);
    assert_eq!(steal(), None, "it polled since");
    stopped::advance(RUNNEXT_BACKOFF / 2);
    assert_eq!(steal(), None, "it may still run its `runnext`");
    stopped::advance(RUNNEXT_BACKOFF / 2);
    assert_eq!(steal(), Some(id));
}

#[test]
fn a_thief_fires_timers_only_in_its_last_pass() {
    let bench = Bench::new(2);
    let (waker, id) = bench.waiting();
    let now = clock::now();
    let _ = bench.sched().ps.timers(bench.others[0].number()).insert(now, now, &waker);
    let mut worker = bench.worker();
    assert_eq!(bench.local.enter(|| worker.steal_pass(false)).map(leak), None);
    assert_eq!(bench.local.enter(|| worker.steal_pass(true)).map(leak), Some(id));
}

// R9

#[test]
fn at_most_half_as_many_ms_spin_as_ps_are_busy() {
    let word = IdleWord::new();
    let spin = || word.try_spin(8);
    let spinning: Vec<Spinning> = std::iter::from_fn(spin).collect();
    assert_eq!(spinning.len(), 4);
    spinning.into_iter().for_each(|token| word.drop_token(Some(token)));
    (0..6).for_each(|_| word.add_idle(None));
    assert_eq!(std::iter::from_fn(spin).map(std::mem::forget).count(), 1, "two Ps are busy");
}

#[test]
fn a_lone_runnext_wakes_at_most_one_m_in_a_millisecond() {
    let mut bench = Bench::new(2);
    bench.make_idle();
    let stamp = clock::now() + 10 * MS;
    bench.local.p().own().stamp.set(stamp);
    let put_and_run = || {
        bench.put(1, Place::RunNext);
        let _ = bench.local.p().runq().take_next().map(leak);
    };
    put_and_run();
    assert_eq!(bench.wakes(), 1);
    (0..10).for_each(|_| put_and_run());
    bench.local.p().own().stamp.set(stamp + clock::nanos(NEXT_WAKE) - 1);
    put_and_run();
    assert_eq!(bench.wakes(), 1);
    bench.local.p().own().stamp.set(stamp + clock::nanos(NEXT_WAKE));
    put_and_run();
    assert_eq!(bench.wakes(), 2);
}

#[test]
fn a_second_goroutine_wakes_an_m_unless_one_spins() {
    let mut bench = Bench::new(2);
    bench.local.p().own().next_wake.set(bench.local.p().own().stamp.get());
    bench.put(2, Place::RunNext);
    assert_eq!(bench.wakes(), 0, "no P is idle");
    bench.make_idle();
    bench.put(1, Place::RunNext);
    assert_eq!(bench.wakes(), 1);
    let token = bench.sched().idle.word.spin_unconditionally();
    bench.put(10, Place::RunNext);
    assert_eq!(bench.wakes(), 1, "an M spins");
    bench.sched().idle.word.drop_token(Some(token));
}

#[test]
fn the_last_m_that_stops_spinning_wakes_the_next_one() {
    let mut bench = Bench::new(2);
    let word = &bench.local.sched.clone().idle.word;
    bench.put(1, Place::Tail);
    bench.worker().stop_spinning(word.spin_unconditionally());
    assert_eq!(bench.wakes(), 0, "no P is idle");
    bench.make_idle();
    let other = word.spin_unconditionally();
    bench.worker().stop_spinning(word.spin_unconditionally());
    assert_eq!(bench.wakes(), 0, "another M spins");
    bench.worker().stop_spinning(other);
    assert_eq!(bench.wakes(), 1);
    assert_eq!(bench.find(1).len(), 1);
    bench.worker().stop_spinning(word.spin_unconditionally());
    assert_eq!(bench.wakes(), 1, "there is no work");
}

// R10

#[test]
fn two_goroutines_that_yield_on_one_p_alternate() {
    let bench = Bench::new(1);
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let count = |name: &'static str| {
        let log = log.clone();
        async move {
            for i in 0..5 {
                log.lock().push(format!("{name}{i}"));
                crate::yield_now().await;
            }
        }
    };
    let (main, other) = (count("M"), count("G"));
    let origin = Origin::site_only(Location::caller());
    let main = async move {
        local::with(|local| drop(local.unwrap().spawn(other, origin)));
        main.await;
    };
    let origin = Origin::site_only(Location::caller());
    drop(bench.local.enter(|| bench.local.spawn(main, origin)));
    bench.run();
    let expected: Vec<String> = (0..5).flat_map(|i| [format!("M{i}"), format!("G{i}")]).collect();
    assert_eq!(*log.lock(), expected);
}

#[test]
fn a_goroutine_whose_slice_is_over_goes_behind_the_global_queue_at_its_checkpoint() {
    let bench = Bench::new(1);
    let global = bench.put_global(1);
    let ring = bench.put(1, Place::Tail);
    let origin = Origin::site_only(Location::caller());
    let two = async {
        crate::checkpoint().await;
        crate::checkpoint().await;
    };
    drop(bench.local.enter(|| bench.local.spawn(two, origin)));
    let found = bench.local.enter(|| bench.worker().find_local()).unwrap();
    let id = found.gp.goid();
    stopped::advance(SLICE);
    bench.local.p().request_preempt();
    bench.local.enter(|| bench.local.execute(found));
    assert_eq!(bench.local.p().counters.finished.get(), 0);
    assert_eq!(ids(bench.local.p().runq().drain().others), ring);
    assert_eq!(bench.sched().globq.get().map(leak), Some(global[0]));
    let gp = bench.sched().globq.get().expect("the goroutine");
    assert_eq!(gp.goid(), id);
    bench.local.enter(|| bench.local.execute(Found::fresh(gp)));
    assert_eq!(bench.local.p().counters.finished.get(), 1, "one request, one yield");
}

// R14

#[test]
fn a_marked_call_keeps_its_p_for_a_slice_if_no_work_waits() {
    let bench = Bench::new(1);
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    bench.local.p().counters.polls.add(1);
    assert!(bench.local.p().enter_blocking());
    let mut status_at = |nanos| {
        let _ = sysmon.round(start + nanos);
        bench.local.p().status()
    };
    let slice = clock::nanos(SLICE);
    assert_eq!([0, MS, slice - 1].map(&mut status_at), [PStatus::Running; 3]);
    assert_eq!(status_at(slice), PStatus::HandedOff);
    let (idle, _) = bench.sched().idle.word.counts();
    assert_eq!(idle, 1, "another P has its number");
}

#[test]
fn a_marked_call_loses_its_p_in_the_second_round_if_work_waits() {
    let bench = Bench::new(1);
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    let ring = bench.put(1, Place::Tail);
    bench.local.p().counters.polls.add(1);
    assert!(bench.local.p().enter_blocking());
    let _ = sysmon.round(start);
    assert_eq!(bench.local.p().status(), PStatus::Running);
    let _ = sysmon.round(start + 1);
    assert_eq!(bench.local.p().status(), PStatus::HandedOff);
    assert_eq!(bench.global(), ring);
}

#[test]
fn calls_that_end_between_two_rounds_keep_their_p() {
    let bench = Bench::new(1);
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    bench.put(1, Place::Tail);
    bench.local.p().counters.polls.add(1);
    for round in 0..20 {
        assert!(bench.local.p().enter_blocking());
        let _ = sysmon.round(start + round * clock::nanos(SYSMON_NAP));
        bench.local.p().exit_blocking();
    }
    assert_eq!(bench.local.p().status(), PStatus::Running);
}

// R15

#[test]
fn a_call_that_returns_prefers_its_number_among_the_idle_ps() {
    let mut bench = Bench::new(2);
    let own = bench.local.p().number();
    assert!(bench.sched().handoffp(&bench.local.p(), || true));
    // It went idle last, so it is the next one for other threads.
    bench.make_idle();
    let idle = || bench.sched().idle.word.counts().0;
    assert_eq!(idle(), 2);
    assert!(bench.local.reactivate_p());
    assert_eq!((bench.local.p().status(), bench.local.p().number()), (PStatus::Running, own));
    assert_eq!(idle(), 1);
    assert!(bench.sched().handoffp(&bench.local.p(), || true));
    let take = |wanted: fn(usize, usize) -> bool| {
        let wanted = |number| wanted(number, own);
        bench.sched().idle.with(|lists| bench.sched().idle.take_p_if(lists, wanted)).unwrap()
    };
    let _same = take(|number, own| number == own);
    assert!(bench.local.reactivate_p());
    assert_ne!(bench.local.p().number(), own, "any idle P");
    assert!(bench.sched().handoffp(&bench.local.p(), || true));
    let _last = take(|_, _| true);
    assert_eq!(idle(), 0);
    assert!(!bench.local.reactivate_p());
    assert_eq!(bench.local.p().status(), PStatus::HandedOff);
}

// R17

#[test]
fn goroutines_of_events_run_in_their_order_before_runnext() {
    let bench = Bench::new(1);
    let ring = bench.put(1, Place::Tail);
    let next = bench.put(1, Place::RunNext);
    let (wakers, events): (Vec<_>, Vec<_>) = (0..3).map(|_| bench.waiting()).unzip();
    bench.netpoll(wakers);
    bench.local.p().request_service();
    stopped::advance(SYSMON_MAX_NAP);
    assert_eq!(bench.find(5), [events, next, ring].concat());
}

#[test]
fn a_batch_of_events_wakes_one_m() {
    let mut bench = Bench::new(3);
    bench.make_idle();
    bench.make_idle();
    let wakers = (0..3).map(|_| bench.waiting().0).collect();
    bench.netpoll(wakers);
    bench.local.enter(|| bench.local.ask_network(Place::Newcomer, &mut Ready::default()));
    assert_eq!(bench.local.p().runq.newcomers_len(), 3);
    assert_eq!(bench.wakes(), 1);
}

#[test]
fn an_m_without_a_p_puts_goroutines_of_events_into_the_inbox() {
    let bench = Bench::new(1);
    let (wakers, events): (Vec<_>, Vec<_>) = (0..3).map(|_| bench.waiting()).unzip();
    let mut worker = bench.worker();
    wakers.into_iter().for_each(|waker| worker.ready.push(StoredWaker::from(waker)));
    bench.local.enter(|| worker.wake_ready_external());
    let mut inbox = Vec::new();
    bench.sched().inbox.take(usize::MAX, &BatchQueue::new_fifo(), |gp| inbox.push(leak(gp)));
    assert_eq!(inbox, events);
    assert_eq!(bench.local.p().runq.len(), 0);
}

#[test]
fn sysmon_polls_the_network_after_a_millisecond_without_a_poll() {
    let bench = Bench::new(1);
    let events = bench.netpoll(Vec::new());
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    bench.local.p().counters.polls.add(1);
    // What happened before the first round is unknown.
    let _ = sysmon.round(start);
    let mut polls_until = |nanos| {
        *events.polls.lock() = 0;
        let _ = sysmon.round(start + nanos);
        *events.polls.lock()
    };
    assert_eq!(polls_until(MS - 1), 0);
    assert_eq!(polls_until(MS), 1);
    bench.local.p().counters.netpolls.add(1);
    assert_eq!(polls_until(2 * MS), 0, "the P polled");
    assert_eq!(polls_until(3 * MS), 1);
}

// R19

#[test]
fn fewer_procs_retire_running_ps_at_their_next_search() {
    let bench = Bench::new(3);
    let (sched, own) = (bench.sched(), bench.local.p());
    assert_eq!(sched.set_procs(1), Ok(3));
    assert!(own.take_service_request());
    assert!(bench.others.iter().all(|p| p.take_service_request()));
    let all = [&bench.others[0], &bench.others[1], &*own];
    assert_eq!(all.map(|p| sched.must_retire(p)), [true, true, false]);
    assert_eq!(sched.set_procs(4), Ok(1));
    let (idle, _) = sched.idle.word.counts();
    assert_eq!(idle, 3);
    assert_eq!(own.status(), PStatus::Running);
}

// R20

#[test]
fn a_trace_line_has_a_column_for_each_proc() {
    /// Returns the running Ps and the ticks of a line for three procs.
    fn read(sched: &Sched) -> (usize, Vec<u64>) {
        let line = sched.line(0);
        let columns = |start: &str| -> Vec<u64> {
            let (_, rest) = line.split_once(start).expect(start);
            let (list, _) = rest.split_once(" ]").expect("the end of the list");
            list.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        assert_eq!(columns(" [").len(), 3, "{line}");
        let (_, rest) = line.split_once("idleprocs=").expect("idle Ps");
        let idle: usize = rest.split(' ').next().unwrap().parse().unwrap();
        (3 - idle, columns("schedticks=["))
    }
    let mut bench = Bench::new(3);
    let (running, first) = read(bench.sched());
    assert_eq!(running, 3);
    assert!(bench.sched().handoffp(&bench.local.p(), || true));
    let (running, second) = read(bench.sched());
    assert_eq!((running, &second), (2, &first), "a handed-off P keeps its column");
    bench.make_idle();
    bench.sched().set_active_procs(1);
    let (running, third) = read(bench.sched());
    assert_eq!((running, third), (1, second), "a P that adaptive procs rest is idle");
}

#[test]
fn one_of_64_spawns_and_of_256_polls_is_timed() {
    let bench = Bench::new(1);
    for _ in 0..4 {
        bench.in_poll(|local| {
            for _ in 0..READY_SAMPLE {
                drop(local.spawn(
                    async { stopped::advance(Duration::from_micros(3)) },
                    Origin::site_only(Location::caller()),
                ));
            }
        });
        bench.run();
    }
    let metrics = bench.sched().metrics().total();
    assert_eq!(metrics.polls, POLL_SAMPLE);
    assert_eq!(metrics.poll_duration.count(), 1);
    assert_eq!(metrics.poll_duration.sum(), Duration::from_micros(3));
    assert_eq!(metrics.schedule_latency.count(), 4);
    // The last spawn of each round is timed. It runs first.
    assert!(metrics.schedule_latency.sum() < Duration::from_micros(3));
}
