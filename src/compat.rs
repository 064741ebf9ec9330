//! Traits of other crates on the sockets and goroutines of gmp, each behind a feature.
//!
//! - `hyper`: sockets implement hyper's `Read` and `Write`, and the module `hyper` has the rest.

#[cfg(feature = "hyper")]
pub use gmp_net::compat::hyper;
#[cfg(feature = "tokio")]
pub use gmp_tokio as tokio;
