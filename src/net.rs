//! Sockets and name resolution.
//!
//! A goroutine that waits for a socket holds no thread. An operation first makes the system call.
//! If the call would block, the goroutine parks until the OS reports an event. The event is
//! received by a thread that has no other work, or by a busy one between two polls.
//!
//! The number of sockets is limited by the descriptors of the process (`ulimit -n`). Beyond the
//! limit an operation that makes a socket returns the error `EMFILE`, and `accept` waits until a
//! descriptor is free.

#[cfg(target_os = "linux")]
pub use gmp_net::UCred;
#[cfg(unix)]
pub use gmp_net::{
    AddrErrors, Async, Incoming, TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket,
    UnixDatagram, UnixListener, UnixStream, tcp, unix,
};
pub use gmp_net::{Closed, DeadlineExceeded, RuntimeEnded, WatchLimit, resolve};
