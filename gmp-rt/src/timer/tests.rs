//! The part of the timers' state that is read without their lock.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// The end wakes what is pending, and refuses a timer that a waker sets meanwhile.
#[test]
fn the_end_wakes_all_and_refuses_new_timers() {
    struct SetsAgain(Arc<Timers>, Arc<AtomicUsize>);
    impl Wake for SetsAgain {
        fn wake(self: Arc<Self>) {
            let Self(timers, refused) = &*self;
            let set = timers.insert(0, 7, Waker::noop());
            refused.fetch_add(usize::from(set.is_none()), Ordering::Relaxed);
        }
    }
    let (timers, refused) = (Arc::new(Timers::new(0)), Arc::default());
    let waker = Waker::from(Arc::new(SetsAgain(timers.clone(), Arc::clone(&refused))));
    let keys = [5, u64::MAX - 1].map(|when| timers.insert(0, when, &waker).unwrap().0);
    timers.end();
    assert_eq!(refused.load(Ordering::Relaxed), 2);
    assert_eq!((timers.len(), timers.next_when()), (0, u64::MAX));
    assert!(keys.iter().all(|&key| !timers.contains(key) && timers.reset(key, 9).is_none()));
}

/// `past` advances when all due timers are out of the wheel, not after the first batch.
#[test]
fn a_deadline_is_past_when_all_its_timers_are_out() {
    struct Looks(Arc<Timers>, Arc<AtomicUsize>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let Self(timers, past) = &*self;
            past.fetch_add(usize::from(timers.is_past(5)), Ordering::Relaxed);
        }
    }
    let (timers, past) = (Arc::new(Timers::new(0)), Arc::default());
    let waker = Waker::from(Arc::new(Looks(timers.clone(), Arc::clone(&past))));
    for _ in 0..2 * FIRE_BATCH + 1 {
        let _ = timers.insert(0, 5, &waker);
    }
    assert_eq!(timers.fire(5), 2 * FIRE_BATCH + 1);
    assert_eq!(past.load(Ordering::Relaxed), 1, "all but the last batch have others behind them");
}
