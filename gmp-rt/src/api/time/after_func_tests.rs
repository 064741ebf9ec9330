//! Calls whose runtime ends at each of their steps.

use super::*;
use crate::api::runtime::Builder;
use std::sync::mpsc;

const LONG: Duration = Duration::from_secs(3600);

/// Returns a call that is counted in the channel, made in a runtime of its own.
fn pending(at_end: AtEnd) -> (crate::Runtime, AfterFunc, mpsc::Receiver<()>) {
    let runtime = Builder::new().max_procs(1).build().unwrap();
    let (made, calls) = mpsc::channel();
    let f = Box::new(move || made.send(()).unwrap());
    let timer = runtime.block_on(async { AfterFunc::new(LONG, f, at_end, Location::caller()) });
    (runtime, timer, calls)
}

/// Takes the function of a call, as the start of its goroutine does.
fn start(timer: &AfterFunc) -> CallOnce {
    let mut state = timer.call.state.lock();
    let f = state.f.take();
    drop(state);
    CallOnce { f, at_end: timer.call.at_end }
}

/// The goroutine of the call was started but not polled when its runtime shut down.
#[test]
fn a_call_is_made_if_its_goroutine_is_cancelled() {
    for at_end in [AtEnd::Move, AtEnd::Drop] {
        let (runtime, timer, calls) = pending(at_end);
        drop(start(&timer));
        assert_eq!(calls.try_recv().is_ok(), at_end == AtEnd::Move);
        assert_eq!(calls.try_recv(), Err(mpsc::TryRecvError::Disconnected), "made once");
        runtime.shutdown(LONG).unwrap();
    }
}

#[test]
fn a_call_that_has_started_is_not_set_again() {
    for at_end in [AtEnd::Move, AtEnd::Drop] {
        let (runtime, timer, calls) = pending(at_end);
        let call = start(&timer);
        assert!(!timer.reset(LONG) && !timer.stop(), "it has started");
        call.make();
        assert!(!timer.reset(LONG) && !timer.stop(), "it was made");
        assert_eq!(calls.recv(), Ok(()));
        assert_eq!(calls.recv(), Err(mpsc::RecvError), "made once");
        runtime.shutdown(LONG).unwrap();
    }
}

#[test]
fn an_early_wake_up_makes_no_call() {
    for at_end in [AtEnd::Move, AtEnd::Drop] {
        let (runtime, timer, calls) = pending(at_end);
        timer.call.clone().wake();
        assert!(timer.reset(LONG), "it is still pending");
        runtime.shutdown(LONG).unwrap();
        let (moves, stopped) = (at_end == AtEnd::Move, timer.stop());
        assert_eq!(stopped, moves, "the end drops or moves it");
        timer.call.clone().wake();
        let none = if moves { mpsc::TryRecvError::Empty } else { mpsc::TryRecvError::Disconnected };
        assert_eq!(calls.try_recv(), Err(none));
    }
}

/// The call is set again after its runtime has ended, and is due then.
#[test]
fn a_moved_call_can_be_set_again() {
    let (runtime, timer, calls) = pending(AtEnd::Move);
    runtime.shutdown(LONG).unwrap();
    assert!(timer.stop());
    assert!(!timer.reset(LONG));
    assert!(timer.reset(Duration::from_millis(1)));
    assert_eq!(calls.recv(), Ok(()));
    assert_eq!(calls.recv(), Err(mpsc::RecvError), "made once");
}
