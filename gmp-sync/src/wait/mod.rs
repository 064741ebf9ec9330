//! How a primitive makes goroutines wait: a queue of waiters, and the claim that ends a wait once.

#[expect(unsafe_code, reason = "a waker that the winner takes")]
pub(crate) mod claim;
pub(crate) mod phase;
#[expect(unsafe_code, reason = "an intrusive queue")]
pub(crate) mod queue;
#[expect(unsafe_code, reason = "pins nodes into the queue of a primitive")]
pub(crate) mod waiter;
pub(crate) mod wakers;
