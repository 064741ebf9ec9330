//! Tuning constants of mutexes and channels, with the origin of each value.

use std::time::Duration;

/// Waiting time after which a mutex is handed to its first waiter, before goroutines that arrive
/// later. Go: `starvationThresholdNs`.
pub(crate) const STARVING_AFTER: Duration = Duration::from_millis(1);

/// How long a non-blocking receive waits for a sender that it has woken, because the sender has to
/// run before it has a value. Chosen: longer than the wake-up of a thread, shorter than a time
/// slice.
#[cfg(not(gmp_loom))]
pub(crate) const RENDEZVOUS: Duration = Duration::from_millis(1);
/// In the models it may end at any time, because they have no clock.
#[cfg(gmp_loom)]
pub(crate) const RENDEZVOUS: Duration = Duration::ZERO;

/// How much longer such a receive waits for a sender that has confirmed and evaluates its value. If
/// the time is over, the receive returns "empty" although the sender returns "sent". Chosen: longer
/// than the evaluation of a value, and a bound for a call that must return.
#[cfg(not(gmp_loom))]
pub(crate) const COMMITTED: Duration = Duration::from_millis(100);
/// In the models it never ends.
#[cfg(gmp_loom)]
pub(crate) const COMMITTED: Duration = Duration::MAX;

/// Values that `recv_many` takes under one lock. Chosen: the lock is held for about a microsecond.
pub(crate) const RECV_BATCH: usize = 64;
