//! Traits of other crates on the sockets and goroutines of gmp, each behind a feature.
//!
//! - `hyper`: sockets implement hyper's `Read` and `Write`. The module `hyper` has an executor, a
//!   timer and an adapter.
//! - `tokio-io`: sockets implement tokio's `AsyncRead` and `AsyncWrite`. No runtime of tokio.
//! - `tokio`: the module `tokio` starts a Tokio runtime beside the goroutines.
//! - `axum`: the module `tokio::axum` serves axum's routers and other tower services.

#[cfg(feature = "hyper")]
pub use gmp_net::compat::hyper;
#[cfg(feature = "tokio")]
pub use gmp_tokio as tokio;
