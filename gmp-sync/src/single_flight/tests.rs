//! Callers that are dropped at any time: the others get a value, and no call is left.

use super::SingleFlight;
use std::cell::Cell;
use std::future::{pending, ready};
use std::task::{Context, Poll, Waker};

type Flights = SingleFlight<&'static str, u32>;

fn is_empty(flights: &Flights) -> bool {
    flights.shared.with(|calls| calls.len() == 0)
}

/// Of four callers, any subset is dropped after any number of polls, in both orders. One of the
/// others runs the call, and the rest get its value.
#[test]
fn callers_that_are_dropped_at_any_time_leave_the_call_to_the_others() {
    let mut cx = Context::from_waker(Waker::noop());
    for dropped in 0u32..16 {
        for polls in 0..3 {
            for backwards in [true, false] {
                let flights = Flights::new();
                let open = Cell::new(false);
                let mut callers: Vec<_> = (0..4)
                    .map(|n| {
                        let work = std::future::poll_fn({
                            let open = &open;
                            move |_| if open.get() { Poll::Ready(n) } else { Poll::Pending }
                        });
                        Some(Box::pin(flights.join("key").fly(move || work)))
                    })
                    .collect();
                for caller in callers.iter_mut().flatten() {
                    for _ in 0..polls {
                        assert!(caller.as_mut().poll(&mut cx).is_pending());
                    }
                }
                let gone = (0..4).filter(|n| dropped & (1 << n) != 0);
                let order: Vec<usize> =
                    if backwards { gone.rev().collect() } else { gone.collect() };
                for n in order {
                    callers[n] = None;
                }
                open.set(true);
                let mut values = Vec::new();
                // Some callers follow one that has not been polled yet.
                for _ in 0..2 {
                    for slot in &mut callers {
                        let Some(caller) = slot else { continue };
                        if let Poll::Ready(result) = caller.as_mut().poll(&mut cx) {
                            values.push(result.value);
                            *slot = None;
                        }
                    }
                }
                assert_eq!(values.len(), 4 - dropped.count_ones() as usize);
                assert!(values.iter().all(|value| *value == values[0]));
                assert!(is_empty(&flights), "{dropped:04b} after {polls}");
            }
        }
    }
}

/// A forgotten call gives its value to its followers, and does not affect the new one.
#[test]
fn a_forgotten_call_gives_its_value_to_its_followers() {
    let flights = Flights::new();
    let old = flights.join("key");
    let follower = flights.join("key");
    flights.forget("key");
    let new = flights.join("key");
    assert_eq!(gmp_rt::block_on(old.fly(|| ready(1))).value, 1);
    assert_eq!(gmp_rt::block_on(follower.fly(pending)).value, 1);
    assert!(!is_empty(&flights), "the new one is in flight");
    assert_eq!(gmp_rt::block_on(new.fly(|| ready(2))).value, 2);
    assert!(is_empty(&flights));
}
