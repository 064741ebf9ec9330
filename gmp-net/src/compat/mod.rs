//! Traits of other crates on the sockets and goroutines of gmp, each behind a feature.

#[cfg(feature = "hyper")]
#[expect(unsafe_code, reason = "buffers that hyper has not initialised")]
pub mod hyper;
