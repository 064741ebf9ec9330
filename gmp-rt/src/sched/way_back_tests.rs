//! Ms that return from marked calls, without threads of the scheduler: the test is one M, and a
//! thread of the test another.

use super::super::local::Place;
use super::super::submit::GmpSchedule;
use super::super::worker::Work;
use super::super::{Config, goid, handoff};
use super::*;
use crate::g::origin::Origin;
use crate::g::{Birth, GRef, Ids, cell};
use crate::m::M;
use crate::p::P;
use crate::tuning::GLOBAL_TICK;
use crate::util::clock::stopped;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 6) as u16;

fn sched(procs: usize) -> Arc<Sched> {
    Sched::new(RUNTIME, Config { procs, thread_limit: 0, ..Config::default() })
}

/// An M with an idle P, as in a poll.
fn m_with_p(sched: &Arc<Sched>, id: usize) -> Local {
    let p = take_idle_p(sched).expect("an idle P");
    let local = Local::new(sched.clone(), Arc::new(M::for_this_thread(id)));
    local.acquire_p(p);
    local
}

/// Calls `f` as in a poll.
fn in_poll<R>(local: &Local, f: impl FnOnce() -> R) -> R {
    local.goid.set(1);
    let result = local.enter(f);
    local.goid.set(0);
    result
}

/// Makes a marked call whose P is handed off, and calls `meanwhile` inside.
fn call(local: &Local, meanwhile: impl FnOnce()) {
    in_poll(local, || {
        handoff::syscall(|| {
            assert!(local.sched.handoffp(&local.p(), || true));
            meanwhile();
        });
    });
}

fn take_idle_p(sched: &Sched) -> Option<OwnedP> {
    sched.idle.with(|lists| sched.idle.take_p(lists))
}

fn put_idle_p(sched: &Sched, p: OwnedP) {
    sched.idle.with(|lists| sched.idle.put_p(lists, p, None, None));
}

/// Ends the poll of an M that has a P: the P is idle, and an M is woken if there is work.
fn end(local: &Local) {
    put_idle_p(&local.sched, local.release_p().unwrap());
    local.sched.wakep();
}

/// What an M found on its P after its call.
#[derive(Debug)]
struct Returned {
    number: usize,
    newcomers: Vec<u64>,
    others: Vec<u64>,
    is_asked: bool,
}

/// An M on a thread of its own.
struct OtherM {
    id: usize,
    returns: mpsc::Sender<()>,
    returned: mpsc::Receiver<Returned>,
    thread: thread::JoinHandle<()>,
}

impl OtherM {
    /// Starts an M that takes the idle P, begins a marked call and loses its P there.
    fn in_call(sched: &Arc<Sched>, id: usize) -> Self {
        let (handed_off, is_handed_off) = mpsc::channel();
        let ((returns, goes), (result, returned)) = (mpsc::channel(), mpsc::channel());
        let own = sched.clone();
        let thread = thread::spawn(move || {
            let local = m_with_p(&own, id);
            call(&local, || {
                handed_off.send(()).unwrap();
                goes.recv().unwrap();
            });
            let p = local.p();
            assert_eq!(p.status(), PStatus::Running);
            let Queued { newcomers, others } = p.runq().drain();
            let (newcomers, others) = (ids(newcomers), ids(others));
            let is_asked = p.take_service_request();
            let returned = Returned { number: p.number(), newcomers, others, is_asked };
            drop(p);
            end(&local);
            result.send(returned).unwrap();
        });
        is_handed_off.recv().unwrap();
        Self { id, returns, returned, thread }
    }

    /// Lets the call return. The M waits then, because no P is idle.
    fn return_from_call(&self, sched: &Sched) {
        let queued = sched.globq.len();
        self.returns.send(()).unwrap();
        let is_it = |p: &Arc<P>| p.is_returning() && p.m() == self.id;
        let waits = || sched.idle.with(|lists| lists.ps.owned().any(is_it));
        while !waits() || sched.globq.len() == queued {
            thread::yield_now();
        }
    }

    fn waits(&self) -> bool {
        self.returned.try_recv().is_err()
    }

    /// Waits until the M has been given a P and its poll has ended.
    fn join(self) -> Returned {
        let returned = self.returned.recv().unwrap();
        self.thread.join().unwrap();
        returned
    }
}

/// Starts an M whose call has returned. `before` takes the idle P before.
fn returning(sched: &Arc<Sched>, id: usize, before: impl FnOnce()) -> OtherM {
    let m = OtherM::in_call(sched, id);
    before();
    m.return_from_call(sched);
    m
}

fn goroutine() -> (GRef, u64) {
    let ids = Ids::new(goid::single(), RUNTIME);
    let origin = Origin::site_only(Location::caller());
    let gp = cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp;
    let id = gp.goid();
    (gp, id)
}

fn put_global(sched: &Sched) -> u64 {
    let (gp, id) = goroutine();
    sched.globq.put(gp);
    id
}

fn leak(gp: GRef) -> u64 {
    (gp.goid(), gp.into_raw()).0
}

fn ids(mut list: crate::g::list::GList) -> Vec<u64> {
    std::iter::from_fn(|| list.pop_front().map(leak)).collect()
}

/// Searches as an M without a spinning token, until a goroutine is found.
fn find(worker: &mut Worker<'_>) -> u64 {
    let Step::Run(found) = worker.local.enter(|| worker.find_runnable()) else {
        panic!("the M exits")
    };
    worker.local.p().begin_slice();
    leak(found.gp)
}

#[test]
fn goroutines_and_returning_ms_get_a_p_in_the_order_of_the_global_queue() {
    let sched = sched(1);
    let (m1, m2) = (OtherM::in_call(&sched, 1), OtherM::in_call(&sched, 2));
    let local = m_with_p(&sched, 0);
    let first = put_global(&sched);
    m1.return_from_call(&sched);
    let second = put_global(&sched);
    m2.return_from_call(&sched);
    let third = put_global(&sched);
    let mut worker = Worker::new(&local, None);
    assert_eq!(find(&mut worker), first);
    assert!(m1.waits() && m2.waits());
    // This M sleeps in its search until `m1` has ended and wakes it.
    assert_eq!(find(&mut worker), second);
    assert_eq!(m1.join().number, 0);
    assert!(m2.waits());
    assert_eq!(find(&mut worker), third);
    assert_eq!(m2.join().number, 0);
    assert_eq!(sched.globq.len(), 0);
}

#[test]
fn a_p_that_is_handed_over_keeps_its_queue() {
    let sched = sched(1);
    let mut local = None;
    let m = returning(&sched, 1, || local = Some(m_with_p(&sched, 0)));
    let local = local.unwrap();
    let put = |place| {
        let (gp, id) = goroutine();
        local.enter(|| local.runqput(gp, place));
        id
    };
    let ring: Vec<u64> = (0..3).map(|_| put(Place::Tail)).collect();
    let next = put(Place::RunNext);
    let newcomers: Vec<u64> = (0..2).map(|_| put(Place::Newcomer)).collect();
    local.p().request_service();
    let mut worker = Worker::new(&local, None);
    let Some(Work::ReturningM(waiting)) = worker.take_global(&local.p()) else {
        panic!("an M waits")
    };
    let last = put_global(&sched);
    assert!(worker.hand_over(waiting).is_none(), "the M was woken again");
    let returned = m.join();
    assert_eq!(returned.others, [&[next][..], &ring].concat());
    assert_eq!((returned.newcomers, returned.is_asked), (newcomers, true));
    assert_eq!(find(&mut worker), last);
}

/// Returns what a P ran before it is handed to a returning M, and the ring at the begin. There are
/// goroutines on the ring all the time. Their polls take `polls`, in turn.
fn ran_before_a_returning_m(polls: [Duration; 4]) -> (Vec<u64>, [u64; 3]) {
    let sched = sched(1);
    let mut local = None;
    let m = returning(&sched, 1, || local = Some(m_with_p(&sched, 0)));
    let local = local.unwrap();
    let p = local.p();
    // The next turn of the global queue is 61 slices away.
    (0..2 * GLOBAL_TICK).for_each(|_| p.begin_slice());
    p.own().global_slice.set(p.counters.slices.get());
    let put = || {
        let (gp, id) = goroutine();
        local.enter(|| local.runqput(gp, Place::Tail));
        id
    };
    let ring = [put(), put(), put()];
    // The first search is a check of the shared queues.
    p.request_service();
    let mut worker = Worker::new(&local, None);
    let mut ran = Vec::new();
    while worker.returning.is_none() {
        if let Some(found) = local.enter(|| worker.find_local()) {
            p.begin_slice();
            stopped::advance(polls[ran.len() % 4]);
            ran.push(leak(found.gp));
            put();
        }
        assert!(ran.len() < 10, "the M starves");
    }
    drop(p);
    let waiting = worker.returning.take().unwrap();
    put_global(&sched);
    assert!(worker.hand_over(waiting).is_none());
    assert_eq!(m.join().others.len(), 3);
    (ran, ring)
}

/// For polls of all lengths: the length decides when the P makes its services.
#[test]
fn a_returning_m_gets_a_busy_p_after_the_goroutines_on_its_ring() {
    const LENGTHS: [u64; 4] = [0, 10, 40, 1000];
    stopped::stop();
    for n in 0..4usize.pow(4) {
        let digit = |place: u32| LENGTHS[n / 4usize.pow(place) % 4];
        let polls = [digit(0), digit(1), digit(2), digit(3)].map(Duration::from_micros);
        let (ran, ring) = ran_before_a_returning_m(polls);
        assert_eq!(ran, ring, "polls of {polls:?}");
    }
    stopped::go_on();
}

#[test]
fn an_idle_p_goes_to_a_returning_m_if_no_thread_can_start() {
    for queued in [0, 1] {
        let sched = sched(1);
        let mut local = None;
        let m = returning(&sched, 1, || {
            local = Some(m_with_p(&sched, 0));
            if queued == 1 {
                put_global(&sched);
            }
        });
        // No M is in the pool, and none can be started.
        end(&local.unwrap());
        assert_eq!(m.join().number, 0, "{queued} goroutines are queued before it");
        assert_eq!(sched.globq.len(), queued);
    }
}

#[test]
fn a_surplus_p_is_retired_and_another_one_goes_to_the_returning_m() {
    let sched = sched(2);
    let (local, mut other) = (m_with_p(&sched, 0), None);
    let m = returning(&sched, 1, || other = take_idle_p(&sched));
    let last = put_global(&sched);
    assert_eq!(sched.set_procs(1), Ok(2));
    let (shared, other) = (sched.clone(), other.unwrap());
    let ends = thread::spawn(move || {
        while shared.idle.with(|lists| lists.quota.active) > 1 {
            thread::yield_now();
        }
        put_idle_p(&shared, other);
        shared.wakep();
    });
    let mut worker = Worker::new(&local, None);
    let Some(Work::ReturningM(waiting)) = worker.take_global(&local.p()) else {
        panic!("an M waits")
    };
    assert!(worker.hand_over(waiting).is_none(), "the M was woken again");
    ends.join().unwrap();
    assert_eq!(m.join().number, 0, "the numbers have no gap");
    assert_eq!(find(&mut worker), last);
}

/// Sysmon hands off the P on its way to the returning M, which then waits again.
#[test]
fn a_p_that_is_handed_off_on_its_way_is_not_used() {
    let sched = sched(1);
    let mut p = None;
    let m = returning(&sched, 1, || p = take_idle_p(&sched));
    let (given, waiting) = (p.unwrap(), sched.globq.take_any_returning().unwrap());
    let (gp, queued) = goroutine();
    given.runq().put_tail(gp).expect("the ring has room");
    assert!(sched.handoffp(&given, || true));
    let replacement = take_idle_p(&sched).unwrap();
    waiting.grant(Grant { p: given, token: sched.idle.word.spin_unconditionally() });
    while !sched.globq.has_returning() {
        thread::yield_now();
    }
    assert_eq!(sched.globq.get().map(leak), Some(queued));
    put_idle_p(&sched, replacement);
    sched.wakep();
    assert_eq!(m.join().others, []);
    let (active, handed_off) = sched
        .idle
        .with(|lists| (lists.quota.active, lists.ps.owned().count() - lists.ps.active().count()));
    assert_eq!((active, handed_off, sched.idle.word.counts()), (1, 0, (1, 0)));
}

/// Makes a call that returns while no P is idle, and does not wait for one.
fn returns_without_p(sched: &Arc<Sched>, call: impl FnOnce(&Local, &dyn Fn())) {
    let (local, taken) = (m_with_p(sched, 1), Cell::new(None));
    call(&local, &|| {
        // Some calls have handed it off.
        let _ = sched.handoffp(&local.p(), || true);
        taken.set(take_idle_p(sched));
    });
    assert_eq!(local.p().status(), PStatus::HandedOff);
    assert!(!sched.globq.has_returning());
    Worker::new(&local, None).retire_p();
    sched.idle.with(|lists| assert!(lists.pool.leave(&local.m)));
    put_idle_p(sched, taken.take().unwrap());
}

#[test]
fn a_panic_does_not_wait_for_a_p() {
    returns_without_p(&sched(1), |local, meanwhile| {
        let panics = AssertUnwindSafe(|| {
            handoff::syscall(|| {
                meanwhile();
                panic!("expected by the test");
            })
        });
        in_poll(local, || assert!(catch_unwind(panics).is_err()));
    });
}

#[test]
fn code_between_polls_does_not_wait_for_a_p() {
    returns_without_p(&sched(1), |local, meanwhile| local.enter(|| handoff::syscall(meanwhile)));
}

#[test]
fn a_goroutine_of_a_closing_runtime_does_not_wait_for_a_p() {
    let sched = sched(1);
    returns_without_p(&sched, |local, meanwhile| {
        in_poll(local, || {
            handoff::syscall(|| {
                meanwhile();
                sched.close();
            });
        });
    });
}

#[test]
fn calls_with_a_time_limit_do_not_wait_for_a_p() {
    returns_without_p(&sched(1), |local, meanwhile| {
        in_poll(local, || handoff::syscall_block_and_pass(meanwhile));
    });
}

/// The goroutine blocks its thread on, without a P.
#[test]
fn nested_calls_leave_the_way_back_to_the_outer_one() {
    let sched = sched(1);
    let (local, taken) = (m_with_p(&sched, 1), Cell::new(None));
    let inside = |inner: &dyn Fn()| {
        assert_eq!(local.p().status(), PStatus::HandedOff);
        inner();
        assert_eq!(local.p().status(), PStatus::HandedOff, "the outer call is not over");
    };
    in_poll(&local, || {
        handoff::syscall_block(|| {
            taken.set(take_idle_p(&sched));
            inside(&|| handoff::syscall(|| ()));
            inside(&|| handoff::syscall_block(|| ()));
            put_idle_p(&sched, taken.take().unwrap());
            inside(&|| handoff::syscall(|| ()));
        });
        assert_eq!(local.p().status(), PStatus::Running);
        handoff::syscall(|| {
            handoff::syscall_block(|| ());
            inside(&|| handoff::syscall(|| ()));
        });
        assert_eq!(local.p().status(), PStatus::Running);
    });
}
