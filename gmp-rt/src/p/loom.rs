//! Models of the run queue: its owner and thieves, with a ring of four.

use super::OwnedP;
use super::blocking_calls::BlockingCalls;
use super::runq::{Got, Owner, RunQ, StealNext};
use super::status::{PStatus, StatusKey, StatusWord};
use crate::g::GRef;
use crate::testing::fake::{fake, number};
use crate::testing::owner::owner;
use crate::tuning::RUNQ_CAP;
use ::loom::sync::Arc;
use ::loom::thread;

fn drain(q: &Owner<'_>) -> Vec<usize> {
    let mut all = Vec::new();
    while let Some(Got::Next(gp) | Got::Ring(gp)) = q.get() {
        all.push(number(gp));
    }
    all
}

/// Returns everything that one thief gets: the goroutine to run and those on its ring.
fn thief(victim: Arc<RunQ>, next: StealNext) -> Vec<usize> {
    let own = RunQ::new();
    let own = owner(&own);
    let first = victim.steal_into(&own, next).map(|stolen| number(stolen.first));
    let newcomers = std::iter::from_fn(|| own.get_newcomer().map(number));
    first.into_iter().chain(newcomers).chain(drain(&own)).collect()
}

fn assert_each_once(mut seen: Vec<usize>, n: usize) {
    seen.sort_unstable();
    assert_eq!(seen, (1..=n).collect::<Vec<_>>());
}

/// Put and get race with a thief: every goroutine comes out exactly once.
#[test]
fn loom_put_and_get_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        me.put_tail(fake(1)).unwrap();
        me.put_tail(fake(2)).unwrap();
        let victim = q.clone();
        let t = thread::spawn(move || thief(victim, StealNext::No));
        me.put_tail(fake(3)).unwrap();
        let mut seen: Vec<usize> = me.get_ring().map(number).into_iter().collect();
        seen.extend(t.join().unwrap());
        seen.extend(drain(&me));
        assert_each_once(seen, 3);
    });
}

/// Two thieves and the owner take the same goroutines.
#[test]
fn loom_thief_vs_thief_and_owner() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        me.put_tail(fake(1)).unwrap();
        me.put_tail(fake(2)).unwrap();
        let (a, b) = (q.clone(), q.clone());
        let a = thread::spawn(move || thief(a, StealNext::No));
        let b = thread::spawn(move || thief(b, StealNext::No));
        let mut seen: Vec<usize> = me.get_ring().map(number).into_iter().collect();
        seen.extend(a.join().unwrap());
        seen.extend(b.join().unwrap());
        seen.extend(drain(&me));
        assert_each_once(seen, 2);
    });
}

/// The ring wraps while a thief copies: the owner does not write a slot again before the thief that
/// read it has committed.
#[test]
fn loom_wrap_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        for n in 1..=RUNQ_CAP {
            me.put_tail(fake(n)).unwrap();
        }
        let victim = q.clone();
        let t = thread::spawn(move || thief(victim, StealNext::No));
        let mut seen: Vec<usize> = me.get_ring().map(number).into_iter().collect();
        match me.put_tail(fake(RUNQ_CAP + 1)) {
            Ok(()) => {}
            Err(full) => seen.push(number(full.0)),
        }
        seen.extend(t.join().unwrap());
        seen.extend(drain(&me));
        assert_each_once(seen, RUNQ_CAP + 1);
    });
}

/// Overflow takes half while a thief takes half.
#[test]
fn loom_overflow_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        for n in 1..=RUNQ_CAP {
            me.put_tail(fake(n)).unwrap();
        }
        let victim = q.clone();
        let t = thread::spawn(move || thief(victim, StealNext::No));
        let half: Vec<GRef> = me.take_half();
        let mut seen: Vec<usize> = half.into_iter().map(number).collect();
        seen.extend(t.join().unwrap());
        seen.extend(drain(&me));
        assert_each_once(seen, RUNQ_CAP);
    });
}

/// The owner takes newcomers while a thief steals: every goroutine comes out exactly once.
#[test]
fn loom_newcomers_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        me.put_newcomer(fake(1)).unwrap();
        me.put_tail(fake(2)).unwrap();
        let victim = q.clone();
        let t = thread::spawn(move || thief(victim, StealNext::No));
        me.put_newcomer(fake(3)).unwrap();
        let mut seen: Vec<usize> = me.get_newcomer().map(number).into_iter().collect();
        seen.extend(t.join().unwrap());
        seen.extend(std::iter::from_fn(|| me.get_newcomer().map(number)));
        seen.extend(drain(&me));
        assert_each_once(seen, 3);
    });
}

/// Either the owner or a thief takes `runnext`, not both and not neither.
#[test]
fn loom_runnext_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let me = owner(&q);
        assert!(me.swap_next(fake(1)).is_none());
        let victim = q.clone();
        let t = thread::spawn(move || thief(victim, StealNext::Yes));
        let kicked = me.swap_next(fake(2)).map(number);
        let mut seen: Vec<usize> = kicked.into_iter().collect();
        seen.extend(t.join().unwrap());
        seen.extend(drain(&me));
        assert_each_once(seen, 2);
    });
}

/// A blocking call ends while sysmon hands off the P. If the hand-off stays in effect, the M
/// notices it at the end of the call.
#[test]
fn loom_end_of_call_vs_hand_off() {
    ::loom::model(|| {
        let (p, key) = (OwnedP::new(0), StatusKey::new());
        p.set_status(PStatus::Running, &key);
        let sysmon = p.shared().clone();
        assert!(p.enter_blocking() && !p.enter_blocking(), "a call inside another is none");
        let t = thread::spawn(move || {
            let call = sysmon.calls.get();
            call.in_progress() && sysmon.hand_off_in_call(call, &key).is_some()
        });
        let noticed = p.exit_blocking();
        let taken = t.join().unwrap();
        assert!(noticed || !taken, "the M computes on without a P");
        assert_eq!(p.status(), if taken { PStatus::HandedOff } else { PStatus::Running });
        assert!(!p.calls.get().in_progress() && p.calls.get().begun() == 1);
    });
}

/// A thief that sees the P handed off in a call finds what the M queued before the call. No other
/// thread would run it.
#[test]
fn loom_put_before_a_call_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let p = Arc::new((StatusWord::spare(), BlockingCalls::default()));
        p.0.set(PStatus::Running);
        let me = owner(&q);
        let (victim, thief_p, sysmon) = (q.clone(), p.clone(), p.clone());
        let sysmon = thread::spawn(move || {
            let (status, calls) = &*sysmon;
            calls.get().in_progress() && status.hand_off()
        });
        let thief = thread::spawn(move || {
            let handed_off = thief_p.0.get() == PStatus::HandedOff;
            handed_off.then(|| thief(victim, StealNext::Yes))
        });
        me.put_tail(fake(1)).unwrap();
        assert!(p.1.begin());
        let _ = sysmon.join().unwrap();
        let found = thief.join().unwrap();
        assert!(found.is_none_or(|found| found == [1]), "queued before, and not found");
    });
}

/// The M hands off its own P while sysmon does: one of the two succeeds.
#[test]
fn loom_hand_off_vs_hand_off() {
    ::loom::model(|| {
        let status = Arc::new(StatusWord::spare());
        status.set(PStatus::Running);
        let sysmon = status.clone();
        let t = thread::spawn(move || sysmon.hand_off());
        let own = status.hand_off();
        assert!(own ^ t.join().unwrap(), "handed off twice, or not at all");
    });
}

/// A thread that sees a P handed off also sees the goroutines that its M has queued.
#[test]
fn loom_hand_off_vs_thief() {
    ::loom::model(|| {
        let q = Arc::new(RunQ::new());
        let status = Arc::new(StatusWord::spare());
        status.set(PStatus::Running);
        let me = owner(&q);
        me.put_tail(fake(1)).unwrap();
        let (victim, seen) = (q.clone(), status.clone());
        let t = thread::spawn(move || match seen.get() {
            PStatus::HandedOff => thief(victim, StealNext::Yes),
            _ => Vec::new(),
        });
        assert!(me.swap_next(fake(2)).is_none());
        assert!(status.hand_off());
        let mut all = t.join().unwrap();
        all.extend(drain(&me));
        assert_each_once(all, 2);
    });
}
