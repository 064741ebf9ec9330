//! Models of `past`, which is read without the lock.

use super::Timers;
use std::sync::Arc;
use std::task::Waker;

/// If `is_past` is true for a timer, the timer is out of the wheel and need not be removed. Another
/// thread fires concurrently, late or exactly at the deadline, and may have fired before.
#[test]
fn loom_fire_vs_check_for_the_past() {
    for fired_at in [5, 9] {
        loom::model(move || {
            let timers = Arc::new(Timers::new(0));
            let other = {
                let timers = timers.clone();
                loom::thread::spawn(move || {
                    let _ = timers.fire(fired_at);
                    // An earlier timer, so that the next call takes the lock.
                    let _ = timers.insert(0, 1, Waker::noop());
                    let _ = timers.fire(fired_at);
                })
            };
            let (key, _) = timers.insert(0, 5, Waker::noop()).unwrap();
            if timers.is_past(5) {
                assert!(!timers.remove(key), "it was still there");
            }
            other.join().unwrap();
            let _ = timers.insert(0, 1, Waker::noop());
            let _ = timers.fire(9);
            assert!(timers.is_past(5) && !timers.is_past(10), "all was fired up to 9");
        });
    }
}

/// The same for a timer that is moved, also into the past.
#[test]
fn loom_fire_vs_reset_into_the_past() {
    loom::model(|| {
        let timers = Arc::new(Timers::new(0));
        let (key, _) = timers.insert(0, 20, Waker::noop()).unwrap();
        let other = {
            let timers = timers.clone();
            loom::thread::spawn(move || {
                let _ = timers.insert(0, 1, Waker::noop());
                let _ = timers.fire(9);
            })
        };
        if timers.reset(key, 5).is_some() && timers.is_past(5) {
            assert!(!timers.remove(key), "it was still there");
        }
        other.join().unwrap();
    });
}
