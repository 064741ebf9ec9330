//! The network for goroutines. Use it through the facade crate `gmp`.
#![forbid(unsafe_code)]

mod resolve;

pub use crate::resolve::resolve;
