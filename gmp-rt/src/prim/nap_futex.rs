//! The sleep of who waits for a [lock](super::raw_lock). Linux: in a futex that nobody wakes, so that it does not
//! begin if the lock was given back, and that sysmon can tell it from a sleep for the world.

use super::AtomicU32;
use super::raw_lock::TAKEN;
use rustix::thread::futex;
use std::time::Duration;

/// Sleeps for `time`, less than a second, or not if the lock was given back.
pub(super) fn while_taken(word: &AtomicU32, time: Duration) {
    let time = futex::Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // Any result will do: who sleeps too short tries too soon.
    let _ = futex::wait(word, futex::Flags::PRIVATE, TAKEN, Some(&time));
}
