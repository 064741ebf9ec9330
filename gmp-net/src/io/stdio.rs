//! One of the three descriptors a process starts with, for goroutines to wait for.
//!
//! They are shared: with whoever else uses them in this process, and with other processes that have the same
//! *open file*, the shell among them. Setting `O_NONBLOCK` would set it for all of those, and they would
//! fail with errors they do not expect; so it is never set. Instead the OS is asked whether a call would
//! wait, then the call is made, inside [`gmp_rt::blocking`]: should another process take the bytes in
//! between, the goroutine waits in the call, and holds no P.
//!
//! No thread reads ahead. A read that is dropped while it waits has taken nothing, and whatever is not asked
//! for stays for others, as a child process that inherits the descriptor.
//!
//! Files and devices that the netpoller does not take are always ready.

use crate::error::RuntimeEnded;
use crate::fd::{Direction, Fd, Left};
use crate::poll_desc::Trust;
use gmp_rt::blocking;
use gmp_rt::park::poll_go_on;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::io::{self, ErrorKind};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};

/// How the descriptor is waited for.
#[derive(Debug, Default)]
enum Wait {
    /// It was not necessary yet.
    #[default]
    NotYet,
    /// In the netpoller, under a number of its own: the same open file may be there more than once.
    Netpoll(Fd<OwnedFd>),
    /// In the call itself: the netpoller does not take it.
    InCall,
}

/// A shared descriptor. See the [module](self).
#[derive(Debug)]
pub(super) struct Stdio {
    fd: BorrowedFd<'static>,
    direction: Direction,
    wait: Wait,
}

impl Stdio {
    pub(super) const fn new(fd: BorrowedFd<'static>, direction: Direction) -> Self {
        Self { fd, direction, wait: Wait::NotYet }
    }

    /// Makes `call` as soon as it would not wait.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> Poll<io::Result<usize>> {
        let direction = self.direction;
        let mut attempt = |fd: BorrowedFd<'_>| match is_ready(fd, direction)? {
            true => blocking(|| call(fd)),
            false => Err(Errno::AGAIN),
        };
        if let Wait::NotYet = self.wait {
            ready!(poll_go_on(cx));
            match attempt(self.fd) {
                Err(Errno::AGAIN | Errno::INTR) => self.wait = wait_for(self.fd)?,
                done => return Poll::Ready(Ok(done?)),
            }
        }
        let done = match &self.wait {
            Wait::Netpoll(fd) => {
                ready!(fd.poll_once(direction, cx, |fd| {
                    Ok((attempt(std::os::fd::AsFd::as_fd(fd))?, Left::Maybe))
                }))
            }
            Wait::NotYet | Wait::InCall => {
                ready!(poll_go_on(cx));
                Ok(rustix::io::retry_on_intr(|| blocking(|| call(self.fd)))?)
            }
        };
        // It may go on in another runtime.
        if done.as_ref().is_err_and(|error| error.get_ref().is_some_and(|e| e.is::<RuntimeEnded>()))
        {
            self.wait = Wait::NotYet;
        }
        Poll::Ready(done)
    }
}

/// Whether a call would not wait, or fail.
fn is_ready(fd: BorrowedFd<'_>, direction: Direction) -> Result<bool, Errno> {
    let events = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    Ok(poll(&mut [PollFd::from_borrowed_fd(fd, events)], Some(&Timespec::default()))? > 0)
}

/// Registers the open file behind `fd` with the netpoller.
fn wait_for(fd: BorrowedFd<'_>) -> io::Result<Wait> {
    // Above the three, should one of them be closed.
    let fd = fcntl_dupfd_cloexec(fd, 3)?;
    match Fd::new(fd, Trust::WouldBlock) {
        Ok(fd) => Ok(Wait::Netpoll(fd)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Wait::InCall),
        Err(error) => Err(error),
    }
}
