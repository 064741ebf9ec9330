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
#[doc(alias = "ErrClosed")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed;

/// A deadline has passed (Go: `os.ErrDeadlineExceeded`).
///
/// The kind of the [`io::Error`] around it is `TimedOut`.
#[doc(alias = "ErrDeadlineExceeded")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlineExceeded;

/// The runtime of the operation has ended, so no thread waits for its events.
///
/// A socket belongs to the runtime in which it was made, and a name lookup to the one in which it
/// was first polled. The kind of the [`io::Error`] around it is
/// `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeEnded;

/// The OS watches no more descriptors for this user, so a socket cannot be registered.
///
/// On Linux the limit is `fs.epoll.max_user_watches`, for all processes of the user. The kind of
/// the [`io::Error`] around it is `QuotaExceeded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchLimit;

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
        f.write_str("the gmp runtime of this operation has ended; begin it in one that lives")
    }
}

impl fmt::Display for WatchLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the OS watches no more descriptors for this user; \
             raise fs.epoll.max_user_watches or close sockets",
        )
    }
}

impl std::error::Error for Closed {}
impl std::error::Error for DeadlineExceeded {}
impl std::error::Error for RuntimeEnded {}
impl std::error::Error for WatchLimit {}

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

impl From<WatchLimit> for io::Error {
    fn from(error: WatchLimit) -> Self {
        Self::new(io::ErrorKind::QuotaExceeded, error)
    }
}

impl From<RuntimeEnded> for io::Error {
    fn from(error: RuntimeEnded) -> Self {
        Self::other(error)
    }
}
