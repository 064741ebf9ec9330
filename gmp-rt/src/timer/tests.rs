//! The part of the timers' state that is read without their lock.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// `past` advances when all due timers are out of the wheel, not after the first batch.
#[test]
fn the_past_begins_when_all_are_out() {
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
