//! The run queue alone, after Go's `TestSchedLocalQueue*`.

use super::runq::{Full, Got, RunQ, StealNext};
use crate::g::GRef;
use crate::testing::fake::{fake, number};
use crate::testing::owner::owner;
use crate::tuning::RUNQ_CAP;
use std::sync::atomic::{AtomicBool, Ordering};

/// `TestSchedLocalQueue`: put i goroutines, get i, in order, for every i.
#[test]
fn the_ring_gives_goroutines_in_their_order() {
    let q = RunQ::new();
    let me = owner(&q);
    for n in 0..=RUNQ_CAP {
        assert!(me.get().is_none());
        (1..=n).for_each(|i| me.put_tail(fake(i)).unwrap());
        assert_eq!(q.len(), n);
        for i in 1..=n {
            assert_eq!(me.get_ring().map(number), Some(i));
        }
        assert_eq!(q.len(), 0);
    }
}

#[test]
fn a_full_ring_refuses_a_goroutine_and_gives_its_older_half() {
    let q = RunQ::new();
    let me = owner(&q);
    (1..=RUNQ_CAP).for_each(|i| me.put_tail(fake(i)).unwrap());
    let Err(Full(gp)) = me.put_tail(fake(999)) else { panic!("it fits") };
    assert_eq!(number(gp), 999);
    let half: Vec<usize> = me.take_half::<Vec<GRef>>().into_iter().map(number).collect();
    assert_eq!(half, (1..=RUNQ_CAP / 2).collect::<Vec<_>>());
    assert!(me.take_half::<Vec<GRef>>().is_empty(), "not full any more");
    assert_eq!(q.len(), RUNQ_CAP / 2);
}

#[test]
fn runnext_runs_before_the_ring_and_displaces_the_former_one() {
    let q = RunQ::new();
    let me = owner(&q);
    me.put_tail(fake(1)).unwrap();
    assert!(me.swap_next(fake(2)).is_none());
    assert_eq!(me.swap_next(fake(3)).map(number), Some(2));
    let Some(Got::Next(gp)) = me.get() else { panic!("no runnext") };
    assert_eq!(number(gp), 3);
    let Some(Got::Ring(gp)) = me.get() else { panic!("nothing on the ring") };
    assert_eq!(number(gp), 1);
    assert!(me.get().is_none());
}

/// `TestSchedLocalQueueSteal`: a thief gets the older half, rounded up; each goroutine comes out
/// exactly once.
#[test]
fn a_thief_takes_the_older_half_rounded_up() {
    for n in 1..=RUNQ_CAP {
        let (victim, thief) = (RunQ::new(), RunQ::new());
        let (v, t) = (owner(&victim), owner(&thief));
        (1..=n).for_each(|i| v.put_tail(fake(i)).unwrap());
        let first = victim.steal_into(&t, StealNext::No).map(|stolen| number(stolen.first));
        assert_eq!(first, Some(1), "the oldest runs now");
        assert_eq!(thief.len() + 1, n - n / 2);
        let mut seen = vec![1];
        seen.extend(std::iter::from_fn(|| t.get_ring().map(number)));
        seen.extend(std::iter::from_fn(|| v.get_ring().map(number)));
        assert_eq!(seen, (1..=n).collect::<Vec<_>>());
    }
}

#[test]
fn runnext_is_stolen_only_when_allowed_and_the_ring_is_empty() {
    let (victim, thief) = (RunQ::new(), RunQ::new());
    let (v, t) = (owner(&victim), owner(&thief));
    assert!(v.swap_next(fake(1)).is_none());
    assert!(victim.steal_into(&t, StealNext::No).is_none());
    v.put_tail(fake(2)).unwrap();
    assert_eq!(victim.steal_into(&t, StealNext::Yes).map(|stolen| number(stolen.first)), Some(2));
    assert_eq!(victim.steal_into(&t, StealNext::Yes).map(|stolen| number(stolen.first)), Some(1));
    assert!(victim.steal_into(&t, StealNext::Yes).is_none());
}

#[test]
fn a_thief_takes_newcomers_before_the_ring_and_as_newcomers() {
    let (victim, thief) = (RunQ::new(), RunQ::new());
    let (v, t) = (owner(&victim), owner(&thief));
    (1..=2).for_each(|i| v.put_tail(fake(i)).unwrap());
    (3..=5).for_each(|i| v.put_newcomer(fake(i)).unwrap());
    assert_eq!((victim.len(), victim.newcomers_len()), (5, 3));
    assert_eq!(victim.steal_into(&t, StealNext::No).map(|stolen| number(stolen.first)), Some(3));
    assert_eq!(t.get_newcomer().map(number), Some(4), "half of the newcomers, rounded up");
    assert_eq!(victim.steal_into(&t, StealNext::No).map(|stolen| number(stolen.first)), Some(5));
    assert_eq!(victim.steal_into(&t, StealNext::No).map(|stolen| number(stolen.first)), Some(1));
}

/// Real threads: one owner and three thieves, a million goroutines; each comes out once.
#[test]
fn thieves_and_the_owner_take_each_goroutine_once() {
    const N: usize = 300_000;
    let (q, done) = (RunQ::new(), AtomicBool::new(false));
    let seen: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let thieves: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let own = RunQ::new();
                    let me = owner(&own);
                    let mut seen = Vec::new();
                    while !done.load(Ordering::Acquire) {
                        seen.extend(
                            q.steal_into(&me, StealNext::Yes).map(|stolen| number(stolen.first)),
                        );
                        seen.extend(std::iter::from_fn(|| me.get_ring().map(number)));
                    }
                    seen
                })
            })
            .collect();
        let me = owner(&q);
        let mut seen = Vec::new();
        for i in 1..=N {
            let kicked = if i % 3 == 0 { me.swap_next(fake(i)) } else { Some(fake(i)) };
            if let Some(Err(Full(gp))) = kicked.map(|gp| me.put_tail(gp)) {
                seen.push(number(gp));
                seen.extend(me.take_half::<Vec<GRef>>().into_iter().map(number));
            }
            if i % 5 == 0 {
                seen.extend(me.get_ring().map(number));
            }
        }
        while let Some(Got::Next(gp) | Got::Ring(gp)) = me.get() {
            seen.push(number(gp));
        }
        done.store(true, Ordering::Release);
        let mut all = vec![seen];
        all.extend(thieves.into_iter().map(|thief| thief.join().unwrap()));
        all
    });
    let mut all: Vec<usize> = seen.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=N).collect::<Vec<_>>());
}
