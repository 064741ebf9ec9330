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

/// The goroutine of the call was started but not polled when its runtime shut down.
#[test]
fn a_call_is_made_if_its_goroutine_is_cancelled() {
    for at_end in [AtEnd::Move, AtEnd::Drop] {
        let (runtime, timer, calls) = pending(at_end);
        drop(CallOnce { call: timer.call.clone(), made: Made::No });
        assert_eq!(calls.try_recv().is_ok(), at_end == AtEnd::Move);
        CallOnce { call: timer.call.clone(), made: Made::No }.make();
        assert!(calls.try_recv().is_ok());
        assert!(calls.try_recv().is_err(), "made once");
        assert!(timer.stop());
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
        assert_eq!(timer.stop(), at_end == AtEnd::Move, "the end drops or moves it");
        timer.call.clone().wake();
        assert!(calls.try_recv().is_err());
    }
}

/// The call is due after its runtime has ended, and is set again after that.
#[test]
fn a_moved_call_can_be_made_again() {
    let (runtime, timer, calls) = pending(AtEnd::Move);
    runtime.shutdown(LONG).unwrap();
    for _ in 0..3 {
        timer.reset(Duration::from_millis(1));
        calls.recv().unwrap();
    }
}
