//! Sleep and wake-up of threads that wait for a [lock](super::raw_lock): Linux's futex.
//!
//! Sysmon distinguishes a thread in a futex call from a thread in other calls
//! ([`crate::sys::thread_state`]).
//!
//! # Invariants
//!
//! - I1: a [`Word`] has the size and alignment of an `AtomicU32`. Only the kernel accesses it as
//!   one.

pub(super) use super::barrier::light as light_barrier;

use super::barrier::{self, Heavy};
use super::raw_lock::{HELD, SLEEPERS, Word};
use crate::tuning::WAKE_LATENCY;
use rustix::thread::futex::{self, Flags, Timespec};
use std::sync::atomic::AtomicU32;

const _: () = assert!(size_of::<Word>() == 4 && align_of::<Word>() == align_of::<AtomicU32>());

/// The longest sleep on a kernel without `membarrier`, where a wake-up can be lost.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: WAKE_LATENCY.subsec_nanos() as _ };

/// Sleeps until [`wake_one`] selects this thread. Returns whether it did. The caller set the mark.
///
/// Returns `false` at once if the lock is free or its mark is gone, and early if a signal arrives.
pub(super) fn sleep_while_held(word: &Word) -> bool {
    let limit = match barrier::try_heavy() {
        Heavy::Done => None,
        Heavy::Refused => Some(&NAP),
    };
    let ([a, b], [c, d]) = (HELD.to_ne_bytes(), SLEEPERS.to_ne_bytes());
    let expected = u32::from_ne_bytes([a, b, c, d]);
    futex::wait(whole(word), Flags::PRIVATE, expected, limit).is_ok()
}

/// Wakes the thread that has slept on `word` for the longest time, if there is one.
pub(super) fn wake_one(word: &Word) {
    // No error is possible for an aligned address. The result is the number of woken threads.
    let _ = futex::wake(whole(word), Flags::PRIVATE, 1);
}

fn whole(word: &Word) -> &AtomicU32 {
    // SAFETY: I1.
    unsafe { &*std::ptr::from_ref(word).cast() }
}
