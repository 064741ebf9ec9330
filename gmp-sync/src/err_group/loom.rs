//! A model of the group's places: a place that a dropped wait was given goes to the next one.

use super::ErrGroup;
use super::state::ErrGroupState;
use super::wait_lists::Starting;
use crate::wait::waiter::Waiter;
use ::loom::future::block_on;
use ::loom::thread;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;

fn enter(state: &mut ErrGroupState<()>) -> ControlFlow<()> {
    if state.try_enter() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The only place is given back while a wait for it is dropped: the next wait gets it. When that
/// member leaves, none is active.
#[test]
fn loom_leave_vs_dropped_start() {
    ::loom::model(|| {
        let group = ErrGroup::<()>::new();
        group.set_limit(1);
        assert!(group.shared.with(ErrGroupState::try_enter));
        let leaving = {
            let shared = group.shared.clone();
            thread::spawn(move || shared.with(ErrGroupState::leave).wake_all())
        };
        let shared = group.shared.clone();
        let starting = thread::spawn(move || {
            let cx = std::task::Context::from_waker(std::task::Waker::noop());
            let mut dropped = Box::pin(Waiter::new(Starting(shared.clone()), ()));
            if dropped.as_mut().poll_wait(&cx, |state, ()| enter(state)).is_ready() {
                shared.with(ErrGroupState::leave).wake_all();
            }
            drop(dropped);
            block_on(async {
                let mut waiter = pin!(Waiter::new(Starting(shared.clone()), ()));
                poll_fn(|cx| waiter.as_mut().poll_wait(cx, |state, ()| enter(state))).await;
                waiter.reset();
            });
            shared.with(ErrGroupState::leave).wake_all();
        });
        leaving.join().unwrap();
        starting.join().unwrap();
        assert_eq!(group.shared.with(|state| state.active), 0);
    });
}
