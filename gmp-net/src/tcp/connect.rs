//! Connects to one address, or to the first of several that answers ("happy eyeballs", RFC 8305).

use super::{TcpSocket, TcpStream};
use crate::fd::{Direction, Fd, Left, Tried};
use crate::resolve::addr_errors::Failures;
use crate::sys::Os;
use futures::stream::{FuturesUnordered, StreamExt};
use gmp_rt::time::Sleep;
use rustix::io::Errno;
use socket2::Socket;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Time after which the next attempt starts concurrently. RFC 8305 recommends 250 ms.
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects `socket`, which is non-blocking, to `addr`.
pub(super) async fn one(socket: Socket, addr: SocketAddr) -> io::Result<TcpStream> {
    let connected = socket.connect(&addr.into());
    if let Err(error) = &connected
        && !matches!(Errno::from_io_error(error), Some(Errno::INPROGRESS | Errno::INTR))
    {
        return Err(connected.unwrap_err());
    }
    let stream = TcpStream { fd: Fd::new(socket.into(), Os::STREAMS)? };
    if connected.is_err() {
        stream.fd.io(Direction::Write, is_connected).await?;
    }
    Ok(stream)
}

/// Checks whether a pending connection is established. Returns `WouldBlock` if this is not known
/// yet.
fn is_connected(stream: &std::net::TcpStream) -> Tried<()> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(((), Left::Maybe)),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => {
            Err(io::ErrorKind::WouldBlock.into())
        }
        Err(error) => Err(error),
    }
}

/// Connects to the first of `addrs` that answers.
pub(super) async fn any(addrs: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut rest = in_turn(addrs).into_iter();
    let first = rest.next().ok_or(io::ErrorKind::InvalidInput)?;
    if rest.len() == 0 {
        return one_from(first).await;
    }
    let (running, failures) = (FuturesUnordered::new(), Failures::default());
    let mut race = Race { rest, running, head_start: None, failures };
    race.begin(first);
    poll_fn(|cx| race.poll(cx)).await
}

async fn one_from(addr: SocketAddr) -> io::Result<TcpStream> {
    TcpSocket::for_addr(addr)?.connect(addr).await
}

/// Returns the addresses with the families in alternation, beginning with the family of the first
/// one.
fn in_turn(addrs: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addrs.first().is_some_and(SocketAddr::is_ipv6);
    let (mut a, mut b): (Vec<_>, Vec<_>) =
        addrs.into_iter().partition(|addr| addr.is_ipv6() == first_is_v6);
    a.reverse();
    b.reverse();
    let mut turns = Vec::with_capacity(a.len() + b.len());
    while !a.is_empty() || !b.is_empty() {
        turns.extend(a.pop());
        turns.extend(b.pop());
    }
    turns
}

/// A connection attempt. Its error has the address that failed.
type Attempt = Pin<Box<dyn Future<Output = Result<TcpStream, (SocketAddr, io::Error)>> + Send>>;

/// Concurrent attempts to connect.
struct Race {
    rest: std::vec::IntoIter<SocketAddr>,
    running: FuturesUnordered<Attempt>,
    /// When it is over, the next attempt starts.
    head_start: Option<Sleep>,
    failures: Failures,
}

impl Race {
    fn begin(&mut self, addr: SocketAddr) {
        let attempt = async move { one_from(addr).await.map_err(|error| (addr, error)) };
        self.running.push(Box::pin(attempt));
        self.head_start = Some(gmp_rt::sleep_until(Instant::now() + HEAD_START));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        loop {
            // The attempts are polled before the timer. If the budget defers an attempt, it defers
            // the timer too. So no further attempt starts after one has succeeded.
            let over = match self.running.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(stream))) => return Poll::Ready(Ok(stream)),
                Poll::Ready(Some(Err((addr, error)))) => {
                    self.failures.add(addr, error);
                    true
                }
                Poll::Ready(None) | Poll::Pending => {
                    self.head_start.as_mut().is_none_or(|nap| Pin::new(nap).poll(cx).is_ready())
                }
            };
            if !over {
                return Poll::Pending;
            }
            match self.rest.next() {
                Some(addr) => self.begin(addr),
                // The last attempt has started: the timer is not needed any more.
                None => self.head_start = None,
            }
            if self.head_start.is_none() {
                return self.finish(cx);
            }
        }
    }

    /// Waits for the running attempts after all have started.
    fn finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        loop {
            match ready!(self.running.poll_next_unpin(cx)) {
                Some(Ok(stream)) => return Poll::Ready(Ok(stream)),
                Some(Err((addr, error))) => self.failures.add(addr, error),
                None => return Poll::Ready(Err(mem::take(&mut self.failures).into_error())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_turn;

    #[test]
    fn addresses_of_both_families_alternate() {
        let of =
            |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
        let mixed = of(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        let turns = of(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
        assert_eq!(in_turn(mixed), turns);
        assert_eq!(in_turn(of(&["1.1.1.1:1"])), of(&["1.1.1.1:1"]));
    }
}
