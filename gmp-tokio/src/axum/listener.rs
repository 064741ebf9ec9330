//! Listeners of Tokio and of gmp for a server.

use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The sleeps between two tries while descriptors are exhausted. As in gmp's sockets.
const FIRST_NAP: Duration = Duration::from_millis(5);
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// A source of connections for [`serve`](super::serve).
pub trait Listener: Send + Sync + 'static {
    /// A connection.
    type Io: Read + Write + Send + Unpin + 'static;
    /// The address of a client.
    type Addr: Send;

    /// Accepts a connection. Returns an error only if the listener cannot accept any more: the
    /// implementation skips a connection that fails, and waits while descriptors are exhausted.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Io, Self::Addr)>> + Send;
}

/// Accepts until it succeeds or fails for good.
macro_rules! retrying {
    ($accept:expr) => {{
        let mut retry = Retry::new();
        loop {
            match $accept.await {
                Ok(accepted) => break accepted,
                Err(error) => retry.after(error).await?,
            }
        }
    }};
}

impl Listener for tokio::net::TcpListener {
    type Io = TokioIo<tokio::net::TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&self) -> io::Result<(Self::Io, SocketAddr)> {
        let (stream, peer) = retrying!(self.accept());
        // It fails if the client is gone, which the next read reports.
        let _ = stream.set_nodelay(true);
        Ok((TokioIo::new(stream), peer))
    }
}

impl Listener for tokio::net::UnixListener {
    type Io = TokioIo<tokio::net::UnixStream>;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&self) -> io::Result<(Self::Io, Self::Addr)> {
        let (stream, peer) = retrying!(self.accept());
        Ok((TokioIo::new(stream), peer))
    }
}

impl Listener for gmp_net::TcpListener {
    type Io = gmp_net::TcpStream;
    type Addr = SocketAddr;

    async fn accept(&self) -> io::Result<(Self::Io, SocketAddr)> {
        let (stream, peer) = retrying!(self.accept());
        let _ = stream.set_nodelay(true);
        Ok((stream, peer))
    }
}

impl Listener for gmp_net::UnixListener {
    type Io = gmp_net::UnixStream;
    type Addr = std::os::unix::net::SocketAddr;

    async fn accept(&self) -> io::Result<(Self::Io, Self::Addr)> {
        Ok(retrying!(self.accept()))
    }
}

/// What to do after errors of one accept.
struct Retry {
    nap: Duration,
}

impl Retry {
    fn new() -> Self {
        Self { nap: FIRST_NAP }
    }

    /// Returns when the accept can be tried again. Returns the error if it will not succeed.
    async fn after(&mut self, error: io::Error) -> io::Result<()> {
        if concerns_one_connection(&error) {
            return Ok(());
        }
        if is_exhausted(&error) {
            gmp_rt::sleep(self.nap).await;
            self.nap = (2 * self.nap).min(LONGEST_NAP);
            return Ok(());
        }
        Err(error)
    }
}

/// Whether the connection failed before it was accepted.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::PROTO
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::NOPROTOOPT
        )
    )
}

/// Whether the process or the system is out of descriptors or memory. gmp's listener waits for
/// descriptors by itself.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
        || error.kind() == io::ErrorKind::QuotaExceeded // `gmp_net::WatchLimit`
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts after `errors`. Also returns how many tries it took.
    fn accept_after(errors: &[Errno]) -> (io::Result<u32>, usize) {
        let mut left = errors.iter();
        let mut tries = 0;
        let mut accept = async || {
            tries += 1;
            left.next().map_or(Ok(7), |errno| Err(io::Error::from(*errno)))
        };
        let accepted = gmp_rt::block_on(async { Ok(retrying!(accept())) });
        (accepted, tries)
    }

    #[test]
    fn accept_goes_on_after_errors_that_pass() {
        let passing = [Errno::CONNABORTED, Errno::MFILE, Errno::NFILE, Errno::CONNRESET];
        let (accepted, tries) = accept_after(&passing);
        assert_eq!((accepted.unwrap(), tries), (7, 5));
    }

    #[test]
    fn accept_ends_with_an_error_that_stays() {
        let (accepted, tries) = accept_after(&[Errno::CONNABORTED, Errno::BADF, Errno::MFILE]);
        assert_eq!(Errno::from_io_error(&accepted.unwrap_err()), Some(Errno::BADF));
        assert_eq!(tries, 2);
    }
}
