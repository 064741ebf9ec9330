//! Every number the primitives are tuned by, with where it comes from.

use std::time::Duration;

/// A waiter for a mutex that has waited longer gets it handed to, past all who come later.
/// Go: `starvationThresholdNs`.
pub(crate) const STARVING_AFTER: Duration = Duration::from_millis(1);

/// Looks at a held mutex before a goroutine parks. Go: `active_spin`.
#[cfg(not(gmp_loom))]
pub(crate) const MUTEX_SPINS: u32 = 4;
/// In the models one is enough to get to each state.
#[cfg(gmp_loom)]
pub(crate) const MUTEX_SPINS: u32 = 1;

/// `spin_loop` hints between two looks. Go: `active_spin_cnt`.
#[cfg(not(gmp_loom))]
pub(crate) const MUTEX_PAUSES: u32 = 30;
/// In the models each is a switch to another thread.
#[cfg(gmp_loom)]
pub(crate) const MUTEX_PAUSES: u32 = 1;

/// How long a receive that does not wait waits for a sender that it has woken: the sender has to
/// run before it has a value to send. Chosen: long beside the wake-up of a thread, short beside a
/// time slice.
#[cfg(not(gmp_loom))]
pub(crate) const RENDEZVOUS: Duration = Duration::from_millis(1);
/// In the models it may be over at any moment, for they have no clock.
#[cfg(gmp_loom)]
pub(crate) const RENDEZVOUS: Duration = Duration::ZERO;

/// How much longer such a receive waits for a sender that has confirmed and evaluates its value. A
/// receive that leaves it returns "empty" although the sender returns "sent". Chosen: longer than
/// the evaluation of a value, and a bound for a call that must return.
#[cfg(not(gmp_loom))]
pub(crate) const COMMITTED: Duration = Duration::from_millis(100);
/// In the models it is never over.
#[cfg(gmp_loom)]
pub(crate) const COMMITTED: Duration = Duration::MAX;
