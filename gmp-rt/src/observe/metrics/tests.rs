//! The counters of a runtime without threads: the test is every M.

use super::Sched;
use crate::g::origin::Origin;
use crate::g::{Birth, Ids, cell};
use crate::m::M;
use crate::sched::Config;
use crate::sched::goid;
use crate::sched::local::Local;
use crate::sched::local::Place;
use crate::sched::registry;
use crate::sched::submit::GmpSchedule;
use crate::sched::worker::{Step, Worker};
use crate::sysmon::Sysmon;
use crate::util::clock;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 7) as u16;

fn sched(procs: usize) -> Arc<Sched> {
    Sched::new(RUNTIME, Config { procs, thread_limit: 0, ..Config::default() })
}

/// An M that is in a poll.
fn m_with_p(sched: &Arc<Sched>, id: usize) -> Local {
    let p = sched.idle.with(|lists| sched.idle.take_p(lists)).expect("an idle P");
    let local = Local::new(sched.clone(), Arc::new(M::for_this_thread(id)));
    local.acquire_p(p);
    local
}

/// Queues a goroutine, which no thread polls.
fn put(local: &Local, place: Place) {
    let ids = Ids::new(goid::single(), RUNTIME);
    let origin = Origin::site_only(Location::caller());
    local.runqput(
        cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp,
        place,
    );
}

/// Puts the P of an M back on the idle list.
fn end(local: &Local) {
    let p = local.release_p().expect("a P");
    local.sched.idle.with(|lists| local.sched.idle.put_p(lists, p, None, None));
}

#[test]
fn wakes_do_not_count_refused_threads() {
    let sched = sched(2);
    let local = m_with_p(&sched, 1);
    local.sched.wakep();
    sched.wakep();
    assert_eq!(sched.metrics().wakeups, 0);
    end(&local);
}

#[test]
fn wakes_count_an_idle_p_that_a_thread_gets() {
    let sched = sched(2);
    let local = m_with_p(&sched, 1);
    let sleeper = Arc::new(M::for_this_thread(2));
    sched.idle.with(|lists| lists.pool.push(sleeper.clone()));
    sched.wakep();
    let grant = sleeper.take_grant().expect("the idle P");
    sched.idle.word.drop_token(Some(grant.token));
    assert_eq!(sched.metrics().wakeups, 1);
    // No P is idle.
    sched.idle.with(|lists| lists.pool.push(sleeper.clone()));
    let _ = sched.startm(sched.idle.word.spin_unconditionally());
    local.sched.wakep();
    assert_eq!(sched.metrics().wakeups, 1);
    sched.idle.with(|lists| {
        assert!(lists.pool.leave(&sleeper));
        sched.idle.put_p(lists, grant.p, None, None);
    });
    end(&local);
}

#[test]
fn wakes_count_the_first_thread() {
    let sched = registry::register(|id| Sched::new(id, Config::default())).unwrap();
    sched.start_first(crate::sysmon::sysmon_main).unwrap();
    assert_eq!(sched.metrics().wakeups, 1);
    sched.close();
    assert!(sched.threads.join_until(None).is_empty());
}

#[test]
fn parks_do_not_count_a_p_that_was_handed_off_before() {
    let sched = sched(1);
    // Each M exits in place of sleeping.
    sched.idle.with(|lists| (lists.threads.count, lists.stopping) = (2, true));
    let blocked = m_with_p(&sched, 1);
    assert!(sched.handoffp(&blocked.p(), || true));
    let next = m_with_p(&sched, 2);
    assert!(matches!(Worker::new(&blocked, None).stopm(), Some(Step::Exit)));
    assert_eq!(sched.metrics().total().parks, 0);
    assert!(matches!(Worker::new(&next, None).stopm(), Some(Step::Exit)));
    assert_eq!(sched.metrics().total().parks, 1);
}

#[test]
fn queues_count_the_goroutine_that_runs_next() {
    let sched = sched(2);
    let local = m_with_p(&sched, 1);
    put(&local, Place::RunNext);
    let queued = || {
        let queues = sched.metrics().queues;
        (queues.next, queues.local)
    };
    assert_eq!(queued(), (1, 0));
    put(&local, Place::Tail);
    put(&local, Place::Newcomer);
    assert_eq!(queued(), (1, 2));
    // Leaked: no thread polls them.
    while let Some(got) = local.p().runq().get() {
        let _ = got.into_g().into_raw();
    }
    end(&local);
}

#[test]
fn timers_that_sysmon_fires_are_counted() {
    let sched = sched(1);
    let (timers, now) = (sched.ps.timers(0), clock::now());
    let _ = timers.insert(now, now, Waker::noop());
    let _ = timers.insert(now, clock::FOREVER - 1, Waker::noop());
    // No thread can be started, so sysmon fires the one that is due.
    let _ = Sysmon::new(sched.clone()).round(now + 1_000_000_000);
    assert_eq!((timers.len(), sched.metrics().timers.fired), (1, 1));
    timers.end();
    assert_eq!((timers.len(), sched.metrics().timers.fired), (0, 1), "the end wakes it early");
}

#[test]
fn hand_offs_count_each_loss_of_a_p_once() {
    let sched = sched(2);
    let local = m_with_p(&sched, 1);
    assert!(sched.handoffp(&local.p(), || true));
    assert!(!sched.handoffp(&local.p(), || true), "it is handed off");
    assert_eq!(sched.metrics().handoffs.total(), 1);
    assert!(local.reactivate_p());
    assert!(!sched.handoffp(&local.p(), || false), "the poll has ended");
    assert_eq!(sched.metrics().handoffs.total(), 1);
    // Both Ps run, and only one may.
    let other = m_with_p(&sched, 2);
    sched.set_active_procs(1);
    assert!(sched.must_retire(&other.p()));
    assert_eq!(sched.metrics().handoffs.total(), 1);
    Worker::new(&other, None).retire_p();
    sched.idle.with(|lists| assert!(lists.pool.leave(&other.m)));
    end(&local);
}

#[test]
fn goroutines_are_counted_by_state() {
    let sched = sched(2);
    let (running, blocked) = (m_with_p(&sched, 1), m_with_p(&sched, 2));
    let put_live = |local: &Local| {
        put(local, Place::Tail);
        local.p().counters.spawned.add(1);
    };
    let states = || {
        let g = sched.metrics().goroutines;
        (g.running, g.runnable, g.waiting, g.blocked)
    };
    // Six goroutines live: one is queued, two are polled, and the others wait.
    (0..5).for_each(|_| running.p().counters.spawned.add(1));
    put_live(&running);
    assert_eq!(states(), (0, 1, 5, 0));
    running.p().set_goid(1);
    blocked.p().set_goid(2);
    assert_eq!(states(), (2, 1, 3, 0));
    blocked.p().enter_blocking();
    assert_eq!(states(), (1, 1, 3, 1));
    assert_eq!(sched.metrics().threads.blocked, 1);
    blocked.p().exit_blocking();
    // Sysmon takes the P of a poll without a mark.
    blocked.p().counters.polls.add(1);
    assert!(sched.handoffp(&blocked.p(), || true));
    assert_eq!(states(), (1, 1, 3, 1));
    let metrics = sched.metrics();
    assert_eq!((metrics.handoffs.blocked, metrics.handoffs.total()), (1, 1));
    assert_eq!((metrics.goroutines.live(), metrics.goroutines.created), (6, 6));
    blocked.p().set_goid(0);
    running.p().set_goid(0);
    while let Some(got) = running.p().runq().get() {
        let _ = got.into_g().into_raw();
    }
    assert!(blocked.reactivate_p());
    end(&blocked);
    end(&running);
}

#[test]
fn hand_offs_are_counted_by_cause() {
    let sched = sched(3);
    let causes = || {
        let h = sched.metrics().handoffs;
        (h.calls, h.blocked, h.computing, h.own)
    };
    let local = m_with_p(&sched, 1);
    local.p().enter_blocking();
    assert!(sched.handoff_call(&local.p(), local.p().calls.get()));
    assert_eq!(causes(), (1, 0, 0, 0));
    local.p().exit_blocking();
    assert!(local.reactivate_p());
    assert!(sched.handoffp(&local.p(), || {
        local.p().note_computes();
        true
    }));
    assert_eq!(causes(), (1, 0, 1, 0));
    assert!(local.reactivate_p());
    local.p().counters.polls.add(1);
    assert!(sched.handoffp(&local.p(), || true));
    assert_eq!(causes(), (1, 1, 1, 0));
    assert!(local.reactivate_p());
    local.goid.set(1);
    local.enter(|| crate::sched::handoff::syscall_block_and_pass(|| ()));
    local.goid.set(0);
    assert_eq!(causes(), (1, 1, 1, 1));
    end(&local);
}
