//! Primitives for goroutines to wait for each other. Use them through the facade crate `gmp`.
//!
//! Each is an ordinary future that keeps a `Waker`: it works on any executor. Inside gmp it also
//! says why its goroutine waits, through [`gmp_rt::park`].
#![forbid(unsafe_code)]

mod wait_group;
mod wakers;

pub use crate::wait_group::{Wait, WaitGroup};
