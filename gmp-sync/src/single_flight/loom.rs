//! Models of a call: a leader that is dropped or finishes, against followers.

use super::SingleFlight;
use ::loom::future::block_on;
use ::loom::thread;
use std::future::ready;
use std::task::{Context, Waker};

type Flights = SingleFlight<u8, u8>;

/// Runs a model of up to three threads and two locks, in all orders with up to two preemptions.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(f);
}

fn is_empty(flights: &Flights) -> bool {
    flights.shared.with(|calls| calls.len() == 0)
}

/// A leader is dropped while another caller arrives: that one runs the call, and no call is left.
#[test]
fn loom_dropped_leader_vs_follower() {
    model(|| {
        let flights = Flights::new();
        let leader = flights.join(1);
        let dropping = thread::spawn(move || drop(leader));
        let following = {
            let flights = flights.clone();
            thread::spawn(move || block_on(flights.call(1, || ready(7))).value)
        };
        dropping.join().unwrap();
        assert_eq!(following.join().unwrap(), 7);
        assert!(is_empty(&flights));
    });
}

/// A leader is dropped while the first follower is: the second one runs the call.
#[test]
fn loom_dropped_leader_vs_dropped_follower() {
    model(|| {
        let flights = Flights::new();
        let leader = flights.join(1);
        let mut first = Box::pin(flights.join(1).fly(|| ready(1)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        let second = flights.join(1);
        let dropping = thread::spawn(move || drop(leader));
        let following = thread::spawn(move || block_on(second.fly(|| ready(2))).value);
        drop(first);
        dropping.join().unwrap();
        assert_eq!(following.join().unwrap(), 2);
        assert!(is_empty(&flights));
    });
}

/// A leader finishes while one follower leaves and a caller arrives: that one gets a value, of this
/// call or of its own.
#[test]
fn loom_end_of_call_vs_followers() {
    model(|| {
        let flights = Flights::new();
        let leader = flights.join(1);
        let mut leaves = Box::pin(flights.join(1).fly(|| ready(1)));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(leaves.as_mut().poll(&mut cx).is_pending());
        let landing = thread::spawn(move || block_on(leader.fly(|| ready(7))).value);
        let coming = {
            let flights = flights.clone();
            thread::spawn(move || block_on(flights.call(1, || ready(8))).value)
        };
        drop(leaves);
        assert_eq!(landing.join().unwrap(), 7);
        assert!([7, 8].contains(&coming.join().unwrap()));
        assert!(is_empty(&flights));
    });
}
