//! Models of the gate and of the call of the pauser.
//!
//! A signal is a call of `Gate::wait` on the thread of the hog. It may come at any time after
//! `hold`, also late. Loom reports a deadlock if a thread stays paused for ever.
//!
//! # Mutations
//!
//! Each was made to the shipped code and seen to fail in the model beside it.
//!
//! | mutation | model |
//! |----------|-------|
//! | `release` does not wake | `loom_release_vs_wait` |
//! | `release` wakes before it changes the word | `loom_release_vs_wait` |
//! | `release` is a plain store | `loom_mark_vs_leave` |
//! | `mark` is a plain exchange | `loom_second_mark_vs_wait` |
//! | `leave` does nothing | `loom_late_signal_vs_end_of_poll`, `loom_mark_vs_leave` |
//! | `leave` is an exchange of `HOG` for `FREE` | `loom_late_signal_vs_end_of_poll` |
//! | `hold` is a plain store | `loom_late_signal_vs_end_of_poll` |
//! | `call` does not wake | `loom_call_vs_sleep_of_the_pauser` |
//! | `call` does not count | `loom_call_vs_sleep_of_the_pauser` |
//! | `call` is Relaxed | `loom_call_vs_sleep_of_the_pauser` |

use super::{Gate, PauserCalls};
use crate::prim::{AtomicU32, Mutex};
use std::sync::Arc;

fn gate() -> Arc<Gate> {
    Arc::new(Gate::over(AtomicU32::new(0)))
}

/// A hog that is held and released continues, whenever its signal arrives.
#[test]
fn loom_release_vs_wait() {
    loom::model(|| {
        let gate = gate();
        gate.mark();
        let hog = {
            let gate = gate.clone();
            loom::thread::spawn(move || gate.wait())
        };
        assert!(gate.hold());
        gate.release();
        hog.join().unwrap();
        assert!(gate.is_marked() && !gate.is_held());
    });
}

/// A hog that is held, marked once more and released continues.
#[test]
fn loom_second_mark_vs_wait() {
    loom::model(|| {
        let gate = gate();
        gate.mark();
        assert!(gate.hold());
        let hog = {
            let gate = gate.clone();
            loom::thread::spawn(move || gate.wait())
        };
        gate.mark();
        gate.release();
        hog.join().unwrap();
    });
}

/// The poll of a hog ends while the pauser holds it and never releases it. The M may be paused
/// before the end of its poll only.
#[test]
fn loom_late_signal_vs_end_of_poll() {
    loom::model(|| {
        let gate = gate();
        gate.mark();
        let m = {
            let gate = gate.clone();
            loom::thread::spawn(move || {
                gate.leave();
                gate.wait();
                assert!(!gate.is_held(), "an M that is no hog is held");
            })
        };
        let held = gate.hold();
        m.join().unwrap();
        assert!(!gate.is_marked(), "held: {held}");
    });
}

/// Sysmon marks as it hands off the P, under the lock of the lists. The M leaves after it has seen
/// the hand-off under the same lock. In the end the gate is free.
#[test]
fn loom_mark_vs_leave() {
    loom::model(|| {
        let (gate, handed_off) = (gate(), Arc::new(Mutex::new(false)));
        let m = {
            let (gate, handed_off) = (gate.clone(), handed_off.clone());
            loom::thread::spawn(move || {
                let seen = *handed_off.lock();
                if seen {
                    gate.leave();
                }
                seen
            })
        };
        {
            let mut handed_off = handed_off.lock();
            gate.mark();
            *handed_off = true;
        }
        let _ = gate.hold();
        gate.release();
        let left = m.join().unwrap();
        assert_eq!(gate.is_marked(), !left);
    });
}

/// The pauser sees a gate that was marked before a call, or does not sleep.
#[test]
fn loom_call_vs_sleep_of_the_pauser() {
    loom::model(|| {
        let (gate, calls) = (gate(), Arc::new(PauserCalls::over(AtomicU32::new(0))));
        let sysmon = {
            let (gate, calls) = (gate.clone(), calls.clone());
            loom::thread::spawn(move || {
                gate.mark();
                calls.call();
            })
        };
        loop {
            let seen = calls.count();
            if gate.is_marked() {
                break;
            }
            assert_eq!(seen, 0, "a call is seen without its mark");
            calls.wait(seen, None);
        }
        sysmon.join().unwrap();
    });
}
