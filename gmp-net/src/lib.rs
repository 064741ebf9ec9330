//! The network for goroutines. Use it through the facade crate `gmp`.
//!
//! A socket is a non-blocking socket of the OS and a descriptor in the netpoller of its runtime. An
//! operation first makes the system call. If the call would block, the goroutine parks until the
//! netpoller reports an event. No thread is reserved for I/O.
//!
//! The modules, from the bottom up: `sys` calls the OS, `poll` has the state of each descriptor and
//! the interface to the scheduler, `deadline` has the deadlines of a socket, `fd` is a descriptor
//! with its operations. `tcp`, `udp`, `unix` and `async_fd` are the public sockets. `resolve`
//! resolves names. `io`, `fs`, `process` and `signal` are for everything that is not a socket.
//! `compat` has the traits of other crates. `pipe_macros` has the methods of the ends of all pipes.

mod error;
mod resolve;

#[cfg(unix)]
mod accept;
#[cfg(unix)]
mod async_fd;
#[cfg(unix)]
pub mod compat;
#[cfg(unix)]
mod deadline;
#[cfg(unix)]
mod fd;
#[cfg(unix)]
pub mod fs;
#[cfg(unix)]
mod half_macros;
#[cfg(unix)]
pub mod io;
#[cfg(unix)]
mod owned_fd;
mod pipe_macros;
#[cfg(unix)]
mod poll;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod signal;
#[cfg(unix)]
mod stream_macros;
#[cfg(unix)]
mod sys;
#[cfg(unix)]
pub mod tcp;
#[cfg(unix)]
mod udp;
#[cfg(unix)]
pub mod unix;
#[cfg(unix)]
mod unwind_safe;

pub use crate::error::{Closed, DeadlineExceeded, RuntimeEnded, WatchLimit};
pub use crate::resolve::resolve;

#[cfg(unix)]
pub use crate::async_fd::Async;
#[cfg(unix)]
pub use crate::resolve::addr::ToSocketAddrs;
#[cfg(unix)]
pub use crate::resolve::addr_errors::AddrErrors;
#[cfg(unix)]
pub use crate::tcp::{Incoming, TcpListener, TcpSocket, TcpStream};
#[cfg(unix)]
pub use crate::udp::UdpSocket;
#[cfg(target_os = "linux")]
pub use crate::unix::UCred;
#[cfg(unix)]
pub use crate::unix::{UnixDatagram, UnixListener, UnixStream};
