//! The counters of a P.
//!
//! Each counter has one writer at a time, the owner of the P, so it counts without a
//! read-modify-write. Any thread may read it. [`Totals`] are plain numbers: sums over Ps, or what a
//! P counted while it had a number (see [`crate::sched::ps`]).
//!
//! # Sampling
//!
//! Two durations are sampled, because a read of the clock costs as much as a short poll:
//!
//! - each [`POLL_SAMPLE`]th poll of a P is timed;
//! - each [`READY_SAMPLE`]th spawn and wake-up on a P, and each one by an external thread, is
//!   marked in the status word of its goroutine. The M that polls the goroutine then knows how long
//!   it was runnable.
//!
//! Both count events and not time, so a long poll is not sampled more often than a short one.

use crate::util::duration_tally::{DurationTally, Durations};
use crate::util::tally::{Counter, Tally};
use std::ops::{AddAssign, Sub};

/// One of this many polls is timed, by two reads of the clock. Chosen.
pub(crate) const POLL_SAMPLE: u64 = 256;

/// One of this many spawns and wake-ups is timed. Chosen.
pub(crate) const READY_SAMPLE: u32 = 64;

/// Defines [`Counters`] and [`Totals`] with the same fields.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty => $total:ty,)*) => {
        /// The counters of a P. `metrics` shows the sums over all Ps, and for each number.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: $kind,)*
        }

        /// The sums of the [`Counters`] of several Ps.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Totals {
            $($(#[$doc])* pub(crate) $name: $total,)*
        }

        impl Counters {
            /// Returns the present counts.
            pub(crate) fn get(&self) -> Totals {
                Totals { $($name: self.$name.get(),)* }
            }
        }

        impl AddAssign for Totals {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Sub for Totals {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self { $($name: self.$name - other.$name,)* }
            }
        }
    };
}

counters! {
    spawned: Counter => u64,
    finished: Counter => u64,
    polls: Tally => u64,
    /// Operations of gmp's own futures.
    ops: Tally => u64,
    /// Time slices begun: polls, except those that inherit the slice of another goroutine.
    slices: Tally => u64,
    /// Goroutines that yielded because their slice was over, or because newcomers waited.
    preempted: Tally => u64,
    steals: Tally => u64,
    stolen: Tally => u64,
    /// Goroutines taken in batches from the global queue, when the P had no other work.
    taken: Tally => u64,
    /// Attempts to take a lock that found it taken.
    contended: Tally => u64,
    parks: Tally => u64,
    overflows: Tally => u64,
    /// Polls of the network without waiting.
    netpolls: Tally => u64,
    /// Wakers that these polls returned.
    net_events: Tally => u64,
    /// Services: checks for newcomers, and searches of a P without work.
    services: Tally => u64,
    /// Times from runnable to running, sampled.
    ready: DurationTally => Durations,
    /// Durations of polls, sampled.
    poll_times: DurationTally => Durations,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_sums_and_differences_of_all_counters() {
        let counters = Counters::default();
        counters.polls.add(2);
        counters.spawned.add(3);
        counters.ready.record(5_000);
        let first = counters.get();
        counters.polls.add(5);
        counters.ready.record(7);
        let later = counters.get();
        let mut sum = first;
        sum += later - first;
        assert_eq!(sum, later);
        assert_eq!((later.polls, later.spawned, later.ready.sum), (7, 3, 5_007));
        assert_eq!((later - first).ready.counts[0], 1);
    }
}
