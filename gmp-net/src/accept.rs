//! Accepts connections and recovers from errors.
//!
//! Some errors concern one connection only: its client gave up before the accept, or a network
//! error was pending on it. Then the next connection is accepted. If the process or the system is
//! out of descriptors or memory, the accept has to wait until some are released. An immediate retry
//! would be a busy loop, because the connection stays in the queue. So there is a sleep between
//! tries. It doubles from `FIRST_NAP` to `LONGEST_NAP`, as in Go's `net/http`. A close and a
//! deadline end it.

use crate::fd::{Direction, Fd, Left};
use crate::poll::desc::Ticket;
use crate::sys::accept::accept;
use gmp_rt::time::Sleep;
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

const FIRST_NAP: Duration = Duration::from_millis(5);
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The state of an accept operation, also between two connections.
#[derive(Debug, Default)]
pub(crate) struct Accepting {
    ticket: Ticket,
    nap: Option<Sleep>,
    /// The length of the last sleep, or zero after a connection was accepted.
    last: Duration,
}

/// What to do about an error of `accept`.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    /// Accept the next connection.
    Next,
    /// Sleep, then try again.
    Nap,
    /// Return the error to the caller.
    Return,
}

fn remedy(error: &io::Error) -> Remedy {
    match Errno::from_io_error(error) {
        Some(
            Errno::CONNABORTED
            | Errno::CONNRESET
            | Errno::PROTO
            | Errno::NETDOWN
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::NOPROTOOPT,
        ) => Remedy::Next,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Remedy::Nap,
        _ => Remedy::Return,
    }
}

impl Accepting {
    /// Accepts the next connection.
    pub(crate) fn poll_accept<T: AsFd>(
        &mut self,
        fd: &Fd<T>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(OwnedFd, Option<SocketAddrAny>)>> {
        loop {
            if let Some(nap) = &mut self.nap {
                if Pin::new(nap).poll(cx).is_pending() {
                    return fd.poll_fault(Direction::Read, &mut self.ticket, cx).map(Err);
                }
                self.nap = None;
            }
            let accepted = fd.poll_io(Direction::Read, &mut self.ticket, cx, |io| {
                accept(io).map(|connection| (connection, Left::Maybe))
            });
            match accepted {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(connection)) => {
                    self.last = Duration::ZERO;
                    return Poll::Ready(Ok(connection));
                }
                Poll::Ready(Err(error)) => match remedy(&error) {
                    Remedy::Next => {}
                    Remedy::Return => return Poll::Ready(Err(error)),
                    Remedy::Nap => self.take_nap(),
                },
            }
        }
    }

    /// [`poll_accept`](Self::poll_accept) for a task that keeps nothing between polls. It cannot
    /// sleep, so it also returns the errors after which the other one tries again later.
    pub(crate) fn poll_accept_once<T: AsFd>(
        fd: &Fd<T>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(OwnedFd, Option<SocketAddrAny>)>> {
        loop {
            let accepted = fd.poll_once(Direction::Read, cx, |io| {
                accept(io).map(|connection| (connection, Left::Maybe))
            });
            match accepted {
                Poll::Ready(Err(error)) if remedy(&error) == Remedy::Next => {}
                accepted => return accepted,
            }
        }
    }

    fn take_nap(&mut self) {
        self.last = (2 * self.last).clamp(FIRST_NAP, LONGEST_NAP);
        self.nap = Some(gmp_rt::sleep(self.last));
    }

    /// Leaves the waiter list.
    pub(crate) fn leave<T: AsFd>(&self, fd: &Fd<T>) {
        fd.leave(Direction::Read, self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_double_up_to_a_second() {
        let mut accepting = Accepting::default();
        let naps: Vec<u128> = (0..10)
            .map(|_| {
                accepting.take_nap();
                accepting.last.as_millis()
            })
            .collect();
        assert_eq!(naps, [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    }

    #[test]
    fn each_error_of_an_accept_has_its_remedy() {
        let of = |errno: Errno| remedy(&errno.into());
        assert_eq!(of(Errno::CONNABORTED), Remedy::Next);
        assert_eq!(of(Errno::MFILE), Remedy::Nap);
        assert_eq!(of(Errno::INVAL), Remedy::Return);
        assert_eq!(remedy(&crate::Closed.into()), Remedy::Return);
    }
}
