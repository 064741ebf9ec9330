//! A start that is dropped at any time: no place is lost, and no member is started twice.

use super::ErrGroup;
use std::future::{pending, ready};
use std::task::{Context, Waker};

/// The start is dropped before it is polled, while it waits, and after it was given a place.
#[test]
fn a_start_that_is_dropped_at_any_time_passes_its_place_on() {
    let mut cx = Context::from_waker(Waker::noop());
    for polls in 0..3 {
        for given in [true, false] {
            let group = ErrGroup::<()>::new();
            group.set_limit(1);
            assert!(group.shared.with(super::ErrGroupState::try_enter));
            let mut dropped = Box::pin(group.go(pending()));
            let mut next = Box::pin(group.go(ready(Ok(()))));
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
            assert!(next.as_mut().poll(&mut cx).is_ready());
            group.wait_blocking().unwrap();
            assert_eq!(group.shared.with(|state| state.active), 0);
            assert!(group.shared.with(|state| state.starting.is_empty()));
        }
    }
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
