//! Traits of other crates on the sockets and goroutines of gmp, each behind a feature.

#[cfg(feature = "hyper")]
#[expect(unsafe_code, reason = "buffers that hyper has not initialised")]
pub mod hyper;
#[cfg(feature = "tokio-io")]
#[expect(unsafe_code, reason = "buffers that tokio has not initialised")]
mod tokio_io;
#[cfg(any(feature = "hyper", feature = "tokio-io"))]
mod uninit;
