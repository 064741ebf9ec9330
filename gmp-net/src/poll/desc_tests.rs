//! Tests of the waiter list and of the flags, on one thread.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted() -> (Arc<Counted>, Waker) {
    let counted = Arc::new(Counted::default());
    (counted.clone(), counted.into())
}

fn side(trust: Trust) -> Side {
    let side = Side::new();
    side.reset(trust);
    side
}

#[test]
fn an_edge_wakes_each_waiter_once() {
    let side = side(Trust::Short);
    let all: Vec<_> = (0..5).map(|_| counted()).collect();
    for (_, waker) in &all {
        assert_eq!(side.wait(side.look(), &mut Ticket::NONE.clone(), waker), Wait::Parked);
    }
    assert!(side.has_waiters());
    side.edge(EdgeKind::Data, StoredWaker::wake);
    side.edge(EdgeKind::Data, StoredWaker::wake);
    assert!(!side.has_waiters());
    assert!(all.iter().all(|(count, _)| count.0.load(Ordering::Relaxed) == 1));
}

#[test]
fn a_wait_is_refused_if_an_edge_came_after_its_check() {
    let side = side(Trust::Short);
    let (_, waker) = counted();
    let seen = side.look();
    side.edge(EdgeKind::Data, |_| unreachable!());
    assert_eq!(side.wait(seen, &mut Ticket::NONE.clone(), &waker), Wait::Changed);
}

#[test]
fn a_dropped_waiter_is_not_woken() {
    let side = side(Trust::Short);
    let ((left, a), (stays, b)) = (counted(), counted());
    let mut ticket = Ticket::NONE;
    let _ = side.wait(side.look(), &mut ticket, &a);
    let _ = side.wait(side.look(), &mut Ticket::NONE.clone(), &b);
    side.leave(ticket);
    side.edge(EdgeKind::Data, StoredWaker::wake);
    assert_eq!((left.0.load(Ordering::Relaxed), stays.0.load(Ordering::Relaxed)), (0, 1));
}

/// Polls `side` without a ticket as the task of `waker`.
fn poll(side: &Side, waker: &Waker) {
    assert_eq!(side.wait(side.look(), &mut Ticket::POLL.clone(), waker), Wait::Parked);
}

#[test]
fn tasks_without_a_ticket_do_not_wake_each_other_for_ever() {
    let side = side(Trust::Short);
    let all: Vec<_> = (0..3 * POLLERS).map(|_| counted()).collect();
    for _ in 0..10 {
        all.iter().for_each(|(_, waker)| poll(&side, waker));
    }
    let counts = || all.iter().map(|(count, _)| count.0.load(Ordering::Relaxed));
    let sweeps = side.waiters.lock().swept.map_or(0, |swept| swept.elapsed().as_secs() + 1);
    assert!(counts().all(|n| n as u64 <= sweeps), "{:?}", counts().collect::<Vec<_>>());
    side.edge(EdgeKind::Data, StoredWaker::wake);
    assert!(counts().all(|n| n >= 1));
}

#[test]
fn a_sweep_removes_tasks_without_a_ticket_and_keeps_the_others() {
    let mut waiters = Waiters::default();
    let now = Instant::now();
    let (_, keeps) = counted();
    let mut ticket = Ticket::NONE;
    assert!(matches!(waiters.put(&mut ticket, &mut StorableWaker::new(&keeps)), Replaced::Nothing));
    let all: Vec<_> = (0..3 * POLLERS).map(|_| counted()).collect();
    let mut put = |n: usize, at: Instant| {
        let replaced = waiters.put_poller(&mut StorableWaker::new(&all[n].1), || at);
        let swept = match replaced {
            Replaced::Others(swept) => swept.len(),
            Replaced::Nothing | Replaced::Own(_) => 0,
        };
        (swept, waiters.iter_mut().count())
    };
    for n in 0..POLLERS {
        assert_eq!(put(n, now), (0, n + 2));
    }
    assert_eq!(put(POLLERS, now), (POLLERS, 2), "the first sweep");
    for n in 0..POLLERS {
        assert_eq!(put(n, now), (0, n + 3), "they come back");
    }
    assert_eq!(put(POLLERS + 1, now), (0, POLLERS + 3), "no sweep soon after a sweep");
    let later = now + SWEEP_PERIOD;
    assert_eq!(put(0, later), (0, POLLERS + 3), "a task that is listed");
    assert_eq!(put(POLLERS + 2, later), (POLLERS + 2, 2), "the next sweep");
    assert!(waiters.remove(ticket).is_some());
}

#[test]
fn a_returned_descriptor_keeps_no_waker() {
    let desc = PollDesc::new();
    desc.reset(Trust::WouldBlock);
    let (count, waker) = counted();
    poll(&desc.read, &waker);
    poll(&desc.write, &waker);
    drop(waker);
    desc.forget_waiters();
    assert_eq!(Arc::strong_count(&count), 1);
    assert_eq!(count.0.load(Ordering::Relaxed), 0);
}

#[test]
fn drained_lasts_until_the_next_edge() {
    let side = side(Trust::Short);
    side.drained(side.look());
    assert!(side.look().is_drained());
    side.edge(EdgeKind::Data, |_| {});
    assert!(!side.look().is_drained());
    side.edge(EdgeKind::More, |_| {});
    side.drained(side.look());
    assert!(!side.look().is_drained(), "a hang-up may be behind it");
}

#[test]
fn a_deadline_can_be_revived_and_a_close_cannot() {
    let side = side(Trust::WouldBlock);
    assert!(side.fail(Fault::Expired, |_| {}));
    assert_eq!(side.look().fault(), Some(Fault::Expired));
    side.revive();
    assert_eq!(side.look().fault(), None);
    assert!(side.fail(Fault::Ended, |_| {}));
    assert_eq!(side.look().fault(), None, "what is there can still be read");
    let (_, waker) = counted();
    assert_eq!(side.wait(side.look(), &mut Ticket::NONE.clone(), &waker), Wait::Ended);
    assert!(side.fail(Fault::Closed, |_| {}) && !side.fail(Fault::Closed, |_| {}));
    side.revive();
    assert_eq!(side.look().fault(), Some(Fault::Closed));
}
