//! The traits of other crates for sockets: hyper, and tokio's traits for reads and writes.

#[cfg(feature = "hyper")]
#[expect(unsafe_code, reason = "buffers that hyper has not initialised")]
pub mod hyper;
#[cfg(feature = "tokio-io")]
#[expect(unsafe_code, reason = "buffers that tokio has not initialised")]
mod tokio_io;
mod uninit;
