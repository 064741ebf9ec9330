//! Tuning constants of mutexes and channels, with the origin of each value.

use std::time::Duration;

/// Waiting time after which a mutex is handed to its first waiter, before goroutines that arrive
/// later. Go: `starvationThresholdNs`.
pub(crate) const STARVING_AFTER: Duration = Duration::from_millis(1);

/// Attempts to take a held mutex before a goroutine parks. Go: `active_spin`.
#[cfg(not(gmp_loom))]
pub(crate) const MUTEX_SPINS: u32 = 4;
/// In the models one attempt reaches every state.
#[cfg(gmp_loom)]
pub(crate) const MUTEX_SPINS: u32 = 1;

/// `spin_loop` hints between two attempts. Go: `active_spin_cnt`.
#[cfg(not(gmp_loom))]
pub(crate) const MUTEX_PAUSES: u32 = 30;
/// In the models each hint is a switch to another thread.
#[cfg(gmp_loom)]
pub(crate) const MUTEX_PAUSES: u32 = 1;

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
