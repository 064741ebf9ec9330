//! Threads that the OS refuses, without a runtime.

use super::super::Config;
use super::super::registry;
use super::{Grant, Sched};
use crate::g::Ids;
use crate::g::origin::Origin;
use crate::util::clock;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Wake, Waker};

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 2) as u16;

/// No OS gives a thread such a stack.
const NO_THREAD: usize = 1 << 60;

/// Calls into the scheduler when it is woken, as a user's waker may.
struct CallsBack {
    sched: Weak<Sched>,
    was_free: AtomicBool,
}

impl Wake for CallsBack {
    fn wake(self: Arc<Self>) {
        let sched = self.sched.upgrade().expect("the test holds it");
        let all_free = sched.threads.handles.try_lock().is_some();
        self.was_free.store(all_free, Ordering::Relaxed);
        if all_free {
            sched.threads.forget(7);
            sched.wakep();
            sched.stop();
        }
    }
}

/// The last thread of a runtime that stops is refused, so all timers are woken at once. A waker
/// that takes the lock of the thread handles must not find it held.
#[test]
fn a_refused_thread_wakes_timers_without_a_lock() {
    let config = Config { stack_size: Some(NO_THREAD), thread_limit: 1, ..Config::default() };
    let sched = Sched::new(RUNTIME, config);
    let waker = Arc::new(CallsBack { sched: Arc::downgrade(&sched), was_free: false.into() });
    let hour = clock::now() + 3_600_000_000_000;
    let timers = sched.ps.timers(0);
    let _ = timers.insert(clock::now(), hour, &Waker::from(waker.clone()));
    // As `startm` does; then the runtime stops before the thread is there.
    let token = sched.idle.word.spin_unconditionally();
    let (p, id) = sched.idle.with(|lists| {
        let p = sched.idle.take_p(lists).unwrap();
        let id = lists.reserve_thread(1).unwrap();
        lists.stopping = true;
        (p, id)
    });
    let (grant, _why) = sched.start_thread(id, Grant { p, token }).unwrap_err();
    assert!(sched.take_back(grant), "the runtime stops");
    assert_eq!(timers.len(), 0, "the timer was woken");
    assert!(waker.was_free.load(Ordering::Relaxed), "woken under the lock of the handles");
    assert!(sched.idle.with(|lists| lists.is_over()));
}

/// A refused thread leaves the runtime unchanged: the P is idle again, and no thread is counted.
#[test]
fn a_refused_thread_gives_its_p_back() {
    let config = Config { stack_size: Some(NO_THREAD), thread_limit: 1, ..Config::default() };
    let sched = Sched::new(RUNTIME, config);
    let started = sched.startm(sched.idle.word.spin_unconditionally());
    assert_eq!(started, crate::sched::wake::Started::Refused);
    assert_eq!(sched.idle.word.counts(), (1, 0), "idle Ps and spinning Ms");
    assert_eq!(sched.idle.with(|lists| lists.threads.count), 0);
}

/// While the OS refuses threads, it is asked again only after a back-off.
#[test]
fn a_refused_thread_is_not_retried_at_once() {
    let config = Config { stack_size: Some(NO_THREAD), ..Config::default() };
    let sched = Sched::new(RUNTIME, config);
    let start = || sched.startm(sched.idle.word.spin_unconditionally());
    let attempts = || sched.idle.with(|lists| lists.threads.next);
    loop {
        assert_eq!(start(), crate::sched::wake::Started::Refused);
        let before = attempts();
        assert_eq!(start(), crate::sched::wake::Started::Refused);
        assert_eq!(sched.idle.word.counts(), (1, 0), "idle Ps and spinning Ms");
        // The back-off may be over already, if this thread has lost its CPU.
        if sched.idle.with(|lists| lists.is_refused()) {
            assert_eq!(attempts(), before);
            break;
        }
    }
    let before = attempts();
    while attempts() == before {
        assert_eq!(start(), crate::sched::wake::Started::Refused);
        std::thread::yield_now();
    }
}

/// Five goroutines block their threads, but only three threads can be had. All goroutines end.
#[test]
fn blocked_goroutines_beyond_the_thread_limit_run_later() {
    let config = Config { thread_limit: 3, ..Config::default() };
    let sched = registry::register(|id| Sched::new(id, config)).unwrap();
    sched.start_first(crate::sysmon::sysmon_main).unwrap();
    let (started, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(())));
    let closed = gate.lock().unwrap();
    let blocked: Vec<_> = (0..5)
        .map(|_| {
            let (started, gate) = (started.clone(), gate.clone());
            let goroutine = async move {
                started.fetch_add(1, Ordering::Relaxed);
                crate::block_in_place(|| drop(gate.lock().unwrap()));
            };
            sched.spawn_outside(goroutine, Origin::site_only(Location::caller()))
        })
        .collect();
    while !*sched.threads.refusal_reported.lock() {
        std::thread::yield_now();
    }
    assert_eq!(started.load(Ordering::Relaxed), 3);
    drop(closed);
    for handle in blocked {
        crate::block_on(handle).unwrap();
    }
    assert!(sched.metrics().threads.total <= 3);
    sched.close();
    assert!(sched.threads.join_until(None).is_empty());
}
