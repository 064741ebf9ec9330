//! Errors that gmp returns and not the OS.
//!
//! Each one is inside an [`io::Error`]. `get_ref` and a downcast distinguish them.

use std::{fmt, io};

/// The socket was closed by `close`, here or in another goroutine (Go: `net.ErrClosed`).
///
/// The kind of the [`io::Error`] around it is `NotConnected`.
///
/// # Examples
///
/// ```
/// # gmp_rt::block_on(async {
/// let listener = gmp_net::TcpListener::bind("127.0.0.1:0").await.unwrap();
/// listener.close();
/// let error = listener.accept().await.unwrap_err();
/// assert!(error.get_ref().unwrap().is::<gmp_net::Closed>());
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed;

/// A deadline has passed (Go: `os.ErrDeadlineExceeded`).
///
/// The kind of the [`io::Error`] around it is `TimedOut`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlineExceeded;

/// The runtime of the socket has ended, so no thread waits for its events.
///
/// A socket belongs to the runtime in which it was made. The kind of the [`io::Error`] around it is
/// `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeEnded;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("use of closed network connection")
    }
}

impl fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("i/o timeout")
    }
}

impl fmt::Display for RuntimeEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the gmp runtime of this socket has ended; use a socket made in one that lives")
    }
}

impl std::error::Error for Closed {}
impl std::error::Error for DeadlineExceeded {}
impl std::error::Error for RuntimeEnded {}

impl From<Closed> for io::Error {
    fn from(error: Closed) -> Self {
        Self::new(io::ErrorKind::NotConnected, error)
    }
}

impl From<DeadlineExceeded> for io::Error {
    fn from(error: DeadlineExceeded) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}

impl From<RuntimeEnded> for io::Error {
    fn from(error: RuntimeEnded) -> Self {
        Self::other(error)
    }
}
