//! The network for goroutines. Use it through the facade crate `gmp`.
//!
//! A socket here is an ordinary non-blocking one of the OS and a descriptor in the netpoller of its
//! runtime. Reading tries first and waits after; while it waits the goroutine is parked, and no thread
//! is set aside for it.
//!
//! Where to find what, from the bottom up: `sys` how the OS is asked, `poll_desc` the state of a
//! descriptor, `poll_cache` where they are kept, `poller` what the scheduler calls, `deadline`, `fd` a
//! descriptor with its operations, `tcp` `udp` `unix` `async_fd` what programs use, `io` and `signal` what
//! is no socket.

mod error;
mod resolve;

#[cfg(unix)]
mod accept;
#[cfg(unix)]
mod addr;
#[cfg(unix)]
mod addr_errors;
#[cfg(unix)]
mod async_fd;
#[cfg(unix)]
mod deadline;
#[cfg(unix)]
mod fd;
#[cfg(unix)]
mod half;
#[cfg(all(unix, feature = "hyper"))]
#[expect(unsafe_code, reason = "buffers that hyper has not initialised")]
pub mod hyper;
#[cfg(unix)]
pub mod io;
#[cfg(unix)]
mod poll_cache;
#[cfg(unix)]
mod poll_desc;
#[cfg(unix)]
mod poller;
#[cfg(unix)]
pub mod signal;
#[cfg(unix)]
mod stream;
#[cfg(unix)]
mod sys;
#[cfg(unix)]
pub mod tcp;
#[cfg(all(unix, feature = "tokio-io"))]
#[expect(unsafe_code, reason = "buffers that tokio has not initialised")]
mod tokio_io;
#[cfg(unix)]
mod udp;
#[cfg(all(unix, any(feature = "hyper", feature = "tokio-io")))]
mod uninit;
#[cfg(unix)]
pub mod unix;

pub use crate::error::{Closed, DeadlineExceeded, RuntimeEnded};
pub use crate::resolve::resolve;

#[cfg(unix)]
pub use crate::addr::ToAddrs;
#[cfg(unix)]
pub use crate::addr_errors::AddrErrors;
#[cfg(unix)]
pub use crate::async_fd::Async;
#[cfg(unix)]
pub use crate::tcp::{Incoming, TcpListener, TcpSocket, TcpStream};
#[cfg(unix)]
pub use crate::udp::UdpSocket;
#[cfg(target_os = "linux")]
pub use crate::unix::UCred;
#[cfg(unix)]
pub use crate::unix::{UnixDatagram, UnixListener, UnixStream};
