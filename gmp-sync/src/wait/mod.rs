//! How a primitive makes goroutines wait: a queue of waiters, the claim that ends a wait once, and
//! the reports of the members of a set.

#[expect(unsafe_code, reason = "a waker that the winner takes")]
pub(crate) mod claim;
pub(crate) mod phase;
#[expect(unsafe_code, reason = "an intrusive queue")]
pub(crate) mod queue;
pub(crate) mod reports;
#[expect(unsafe_code, reason = "pins nodes into the queue of a primitive")]
pub(crate) mod waiter;
pub(crate) mod wakers;
