//! Primitives for goroutines to wait for each other. Use them through the facade crate `gmp`.
//!
//! Each is an ordinary future that keeps a `Waker`: it works on any executor. Inside gmp it also
//! says why its goroutine waits, through [`gmp_rt::park`].

#[expect(unsafe_code, reason = "is the home of waiters")]
mod wait_group;
#[expect(unsafe_code, reason = "pins nodes into the queue of a primitive")]
mod waiter;
#[expect(unsafe_code, reason = "an intrusive queue")]
mod waitq;
mod wakers;

pub use crate::wait_group::{Wait, WaitGroup};
