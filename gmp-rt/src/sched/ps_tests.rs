//! The Ps of a runtime without threads: the test is every M.

use super::super::Config;
use super::super::goid;
use super::super::local::Local;
use super::super::local::Place;
use super::super::submit::GmpSchedule;
use super::super::worker::Worker;
use super::*;
use crate::g::origin::Origin;
use crate::g::{Birth, Ids, cell};
use crate::m::M;
use crate::util::rand::Rand;
use std::panic::Location;

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 5) as u16;

fn sched(procs: usize) -> Arc<Sched> {
    Sched::new(RUNTIME, Config { procs, thread_limit: 0, ..Config::default() })
}

/// An M that is in a poll.
fn m_with_p(sched: &Arc<Sched>, id: usize) -> Option<Local> {
    let p = sched.idle.with(|lists| sched.idle.take_p(lists))?;
    let local = Local::new(sched.clone(), Arc::new(M::for_this_thread(id)));
    local.acquire_p(p);
    Some(local)
}

/// Ends the poll of an M: it reactivates its P if it was handed off, or retires it.
fn end_poll(local: &Local) {
    if local.p().status() == PStatus::Running || local.reactivate_p() {
        let p = local.release_p().unwrap();
        local.sched.idle.with(|lists| local.sched.idle.put_p(lists, p, None, None));
        return;
    }
    Worker::new(local, None).retire_p();
    local.sched.idle.with(|lists| assert!(lists.pool.leave(&local.m)));
}

fn view(sched: &Sched) -> PsView {
    let mut view = PsView::default();
    view.refresh(sched);
    view
}

/// The numbers are dense, each active P knows its own, and no P is in two places.
fn check(sched: &Sched) {
    sched.idle.with(|lists| {
        let table = &lists.ps;
        assert_eq!(table.active().count(), lists.quota.active);
        for (number, holder) in table.holders.iter().enumerate() {
            let Some(p) = &holder.p else {
                assert!(number >= lists.quota.active, "a gap at {number}");
                continue;
            };
            assert_eq!(p.number(), number);
            assert!(matches!(p.status(), PStatus::Running | PStatus::Idle));
        }
        for (at, p) in table.handed_off.iter().enumerate() {
            assert_eq!(p.handed_off_at.load(Relaxed), at);
            assert_eq!(p.status(), PStatus::HandedOff);
        }
        assert!(table.spare.iter().all(|p| p.status() == PStatus::Spare));
        assert!(table.spare.len() <= lists.quota.max, "{} spare Ps", table.spare.len());
    });
    let view = view(sched);
    assert_eq!(view.iter().count(), sched.idle.with(|lists| lists.quota.active));
}

#[test]
fn a_burst_of_hand_offs_leaves_few_ps_and_thieves_visit_active_ones_only() {
    let sched = sched(2);
    let burst: Vec<Local> = (0..500)
        .map(|id| {
            let local = m_with_p(&sched, id).expect("each hand-off activates another P");
            assert!(sched.handoffp(&local.p(), || true));
            local
        })
        .collect();
    check(&sched);
    assert_eq!(view(&sched).len(), 2, "thieves and sysmon visit these");
    assert_eq!(sched.idle.with(|lists| lists.ps.all().count()), 502);
    burst.iter().for_each(end_poll);
    check(&sched);
    assert!(sched.idle.with(|lists| lists.ps.all().count()) <= 4);
    assert_eq!(sched.ps.timers_len(), 2);
}

#[test]
fn the_ticks_of_a_number_grow_across_hand_offs() {
    let sched = sched(1);
    let ticks = || sched.idle.with(|lists| lists.ps.numbers(1).next().unwrap().1);
    let mut before = ticks();
    for id in 0..5 {
        let local = m_with_p(&sched, id).unwrap();
        local.p().begin_slice();
        local.p().enter_blocking();
        local.p().exit_blocking();
        assert!(sched.handoffp(&local.p(), || true));
        // Not on an active P any more.
        local.p().begin_slice();
        let now = ticks();
        assert_eq!((now.counts.slices, now.calls), (before.counts.slices + 1, before.calls + 1));
        // It gets the number again, and begins a slice.
        end_poll(&local);
        before = ticks();
        assert_eq!((before.counts.slices, before.calls), (now.counts.slices + 1, now.calls));
    }
}

#[test]
fn the_totals_count_freed_ps() {
    let sched = sched(1);
    for id in 0..100 {
        let first = m_with_p(&sched, id).unwrap();
        assert!(sched.handoffp(&first.p(), || true));
        let second = m_with_p(&sched, id).unwrap();
        assert!(sched.handoffp(&second.p(), || true));
        first.p().counters.polls.add(1);
        second.p().counters.polls.add(1);
        end_poll(&first);
        end_poll(&second);
    }
    assert_eq!(sched.metrics().total().polls, 200);
    assert!(sched.idle.with(|lists| lists.ps.all().count()) <= 3);
}

/// Each P counts polls at random, with and without a number.
#[test]
fn counts_of_numbers_and_of_the_rest_only_grow_and_add_up() {
    let (sched, rand) = (sched(2), Rand::new(3));
    let mut locals: Vec<Local> = Vec::new();
    let (mut counted, mut before) = (0, sched.idle.with(|lists| lists.ps.all_totals()));
    for id in 0..2000 {
        match rand.next_u32() % 4 {
            0 => locals.extend(m_with_p(&sched, id)),
            1 if !locals.is_empty() => {
                let local = locals.swap_remove(rand.next_u32() as usize % locals.len());
                end_poll(&local);
            }
            2 if !locals.is_empty() => {
                let at = rand.next_u32() as usize % locals.len();
                let _ = sched.handoffp(&locals[at].p(), || true);
            }
            _ => {
                locals.iter().for_each(|local| {
                    let _ = local.p().counters.polls.add(1);
                });
                counted += locals.len() as u64;
            }
        }
        let now = sched.idle.with(|lists| lists.ps.all_totals());
        for (number, before) in before.0.iter().enumerate() {
            assert!(now.0[number].counts.polls >= before.counts.polls, "number {number} fell");
        }
        assert!(now.1.counts.polls >= before.1.counts.polls, "the rest fell");
        let sum: u64 = now.0.iter().chain([&now.1]).map(|totals| totals.counts.polls).sum();
        assert_eq!(sum, counted);
        before = now;
    }
    assert!(before.1.counts.polls > 0, "no P counted without a number");
    locals.iter().for_each(end_poll);
}

#[test]
fn a_thief_finds_work_on_a_p_that_became_active_after_its_last_search() {
    let sched = sched(2);
    let (thief, owner) = (m_with_p(&sched, 0).unwrap(), m_with_p(&sched, 1).unwrap());
    let mut worker = Worker { spin_rounds: 1, ..Worker::new(&thief, None) };
    assert!(worker.steal_pass(false).is_none() && !worker.any_work());
    assert!(sched.handoffp(&owner.p(), || true));
    let next = m_with_p(&sched, 2).unwrap();
    let ids = Ids::new(goid::single(), RUNTIME);
    let origin = Origin::site_only(Location::caller());
    let gp = cell::spawn::<_, GmpSchedule>(async {}, Birth { ids, parent: 0, origin }).gp;
    next.runqput(gp, Place::Tail);
    assert!(worker.any_work());
    let stolen = worker.steal_pass(false).expect("the goroutine is on a ring");
    // Leaked: no thread polls it.
    let _ = stolen.into_raw();
    drop(worker);
    [owner, next, thief].iter().for_each(end_poll);
}

/// Sysmon gets each handed-off P once, with its number of hand-offs.
#[test]
fn sysmon_gets_each_handed_off_p_once() {
    let sched = sched(1);
    let taken = || sched.idle.with(|lists| lists.ps.take_hand_offs());
    let local = m_with_p(&sched, 0).unwrap();
    for _ in 0..3 {
        assert!(sched.handoffp(&local.p(), || true));
        assert!(local.reactivate_p());
    }
    let counts = |taken: Vec<(Arc<P>, u64)>| taken.into_iter().map(|(_, n)| n).collect::<Vec<_>>();
    assert_eq!(counts(taken()), [3]);
    assert_eq!(counts(taken()), []);
    assert!(sched.handoffp(&local.p(), || true));
    assert_eq!(counts(taken()), [4]);
    assert_eq!(local.p().hand_offs(), 4);
    assert!(local.reactivate_p());
    end_poll(&local);
}

#[test]
fn random_hand_offs_and_resizes_lose_no_p_and_leave_no_gap() {
    let (sched, rand) = (sched(4), Rand::new(11));
    let mut ms: Vec<Local> = Vec::new();
    for id in 0..20_000 {
        let random = rand.next_u32() as usize;
        match random % 4 {
            0 => ms.extend(m_with_p(&sched, id)),
            1 if !ms.is_empty() => {
                let local = &ms[random / 4 % ms.len()];
                let _ = sched.handoffp(&local.p(), || true);
            }
            2 if !ms.is_empty() => {
                let local = ms.swap_remove(random / 4 % ms.len());
                let _ = sched.must_retire(&local.p());
                end_poll(&local);
            }
            3 if random % 64 == 3 => {
                sched.set_procs(1 + random / 64 % 8).unwrap();
            }
            _ => {}
        }
        if ms.len() > 32 {
            ms.drain(..).for_each(|local| end_poll(&local));
        }
    }
    ms.drain(..).for_each(|local| end_poll(&local));
    sched.set_procs(3).unwrap();
    check(&sched);
    assert_eq!(sched.idle.with(|lists| lists.quota.active), 3);
}
