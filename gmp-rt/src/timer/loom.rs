//! Models of what is known without the lock.

use super::Timers;
use std::sync::Arc;
use std::task::Waker;

/// Who sets a timer and then hears that it is past need not remove it: it is gone. Another fires meanwhile, late or
/// at the very moment, and has perhaps done so before.
#[test]
fn loom_what_is_past_is_gone() {
    for fired_at in [5, 9] {
        loom::model(move || {
            let timers = Arc::new(Timers::new(0));
            let other = {
                let timers = timers.clone();
                loom::thread::spawn(move || {
                    let _ = timers.fire(fired_at);
                    // One that makes the next call look.
                    let _ = timers.insert(0, 1, Waker::noop());
                    let _ = timers.fire(fired_at);
                })
            };
            let (key, _) = timers.insert(0, 5, Waker::noop());
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

/// The same of one that is moved, into the past too.
#[test]
fn loom_what_is_moved_is_not_past() {
    loom::model(|| {
        let timers = Arc::new(Timers::new(0));
        let (key, _) = timers.insert(0, 20, Waker::noop());
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
