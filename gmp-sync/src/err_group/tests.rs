//! Members and waits that are dropped at any time: no place is lost, and no member starts twice.

use super::pending::PendingSeat;
use super::{ErrGroup, GroupError};
use std::future::{pending, ready};
use std::task::{Context, Waker};

/// A member above the limit is dropped before it is polled, while it waits, and after it was given
/// a place.
#[test]
fn a_pending_member_dropped_at_any_time_passes_its_place_on() {
    let mut cx = Context::from_waker(Waker::noop());
    for polls in 0..3 {
        for given in [true, false] {
            let group = ErrGroup::<()>::new();
            group.set_limit(1);
            assert!(group.shared.with(super::ErrGroupState::try_enter));
            let join = || PendingSeat::join(&group.shared).ok().unwrap();
            let ((dropped, mut tells), (next, mut next_tells)) = (join(), join());
            let mut dropped = Box::pin(PendingSeat::run(pending(), dropped));
            let mut next = Box::pin(PendingSeat::run(ready(Ok(())), next));
            let mut wait = Box::pin(group.wait());
            for _ in 0..polls {
                assert!(dropped.as_mut().poll(&mut cx).is_pending());
            }
            assert!(next.as_mut().poll(&mut cx).is_pending());
            if given {
                group.shared.with(super::ErrGroupState::leave).wake_all();
                drop(dropped);
            } else {
                drop(dropped);
                group.shared.with(super::ErrGroupState::leave).wake_all();
            }
            assert!(tells.try_recv().is_err(), "it has not started");
            assert!(wait.as_mut().poll(&mut cx).is_pending(), "a member has not started");
            assert!(next.as_mut().poll(&mut cx).is_ready());
            assert_eq!(next_tells.try_recv(), Ok(()));
            assert!(matches!(group.wait_blocking(), Err(GroupError::Cancelled)));
            assert!(wait.as_mut().poll(&mut cx).is_ready());
            group.shared.with(|state| {
                assert_eq!((state.active, state.pending), (0, 0));
                assert!(state.starting.is_empty());
            });
        }
    }
}

/// The last member of a group is one that never starts.
#[test]
fn a_wait_ends_with_a_member_that_never_started() {
    let mut cx = Context::from_waker(Waker::noop());
    let group = ErrGroup::<()>::new();
    group.set_limit(0);
    let (seat, _) = PendingSeat::join(&group.shared).ok().unwrap();
    let mut wait = Box::pin(group.wait());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    drop(PendingSeat::run(pending(), seat));
    assert!(wait.as_mut().poll(&mut cx).is_ready());
}

/// A wait that is dropped at any time does not affect another wait.
#[test]
fn a_wait_that_is_dropped_at_any_time_affects_no_other_wait() {
    let mut cx = Context::from_waker(Waker::noop());
    for polls in 0..3 {
        for ended in [true, false] {
            let group = ErrGroup::<()>::new();
            assert!(group.shared.with(super::ErrGroupState::try_enter));
            let (mut dropped, mut stays) = (Box::pin(group.wait()), Box::pin(group.wait()));
            for _ in 0..polls {
                assert!(dropped.as_mut().poll(&mut cx).is_pending());
            }
            assert!(stays.as_mut().poll(&mut cx).is_pending());
            if ended {
                group.shared.with(super::ErrGroupState::leave).wake_all();
                drop(dropped);
            } else {
                drop(dropped);
                group.shared.with(super::ErrGroupState::leave).wake_all();
            }
            assert!(stays.as_mut().poll(&mut cx).is_ready());
            drop(stays);
            assert!(group.shared.with(|state| state.waiting.is_empty()));
        }
    }
}

/// Records the number of active members when it is dropped.
struct ActiveAtDrop(ErrGroup<()>, std::sync::mpsc::Sender<usize>);

impl Drop for ActiveAtDrop {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shared.with(|state| state.active));
    }
}

/// `wait` must not return while the future of a member still exists.
#[test]
fn a_member_that_never_ran_drops_its_future_before_it_leaves() {
    let group = ErrGroup::<()>::new();
    assert!(group.shared.with(super::ErrGroupState::try_enter));
    let (tx, rx) = std::sync::mpsc::channel();
    let noted = ActiveAtDrop(group.clone(), tx);
    let future = async move {
        let _noted = noted;
        Ok(())
    };
    drop(super::Seat::run(future, super::Seat::new(group.shared.clone())));
    assert_eq!(rx.recv(), Ok(1), "members while the future was dropped");
    assert_eq!(group.shared.with(|state| state.active), 0);
}

/// The same for a member that waits for its place, dropped before and after its first poll.
#[test]
fn a_pending_member_drops_its_future_before_it_leaves() {
    for polls in 0..2 {
        let group = ErrGroup::<()>::new();
        group.set_limit(0);
        let (tx, rx) = std::sync::mpsc::channel();
        let noted = PendingAtDrop(group.clone(), tx);
        let future = async move {
            let _noted = noted;
            Ok(())
        };
        let (seat, _) = PendingSeat::join(&group.shared).ok().unwrap();
        let mut member = Box::pin(PendingSeat::run(future, seat));
        for _ in 0..polls {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(member.as_mut().poll(&mut cx).is_pending());
        }
        drop(member);
        assert_eq!(rx.recv(), Ok(1), "members while the future was dropped");
        assert_eq!(group.shared.with(|state| state.pending), 0);
    }
}

/// Records the number of members that have not started when it is dropped.
struct PendingAtDrop(ErrGroup<()>, std::sync::mpsc::Sender<usize>);

impl Drop for PendingAtDrop {
    fn drop(&mut self) {
        let _ = self.1.send(self.0.shared.with(|state| state.pending));
    }
}
