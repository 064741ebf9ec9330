//! One of the three standard descriptors, for goroutines.
//!
//! These descriptors are shared: with other code in this process, and with other processes that
//! have the same *open file*, such as the shell. Setting `O_NONBLOCK` would set it for all of them,
//! and they would fail with unexpected errors. So it is never set. Instead `poll(2)` reports
//! whether the call would wait. Then the call is made inside [`gmp_rt::block_in_place`]. If another
//! process takes the bytes in between, the call blocks its thread, and the other goroutines
//! continue on another one.
//!
//! No thread reads ahead. A read that is dropped while it waits has taken nothing. Bytes that no
//! read asked for stay for others, such as a child process that inherits the descriptor.
//!
//! Files and devices that the netpoller rejects are always ready.

use crate::error::RuntimeEnded;
use crate::fd::{Direction, Fd, Left};
use crate::poll::desc::Trust;
use gmp_rt::block_in_place;
use gmp_rt::task::park::poll_proceed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::io::{self, ErrorKind};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};

/// How to wait for the descriptor.
#[derive(Debug, Default)]
enum StdioWait {
    /// No wait was necessary yet.
    #[default]
    NotYet,
    /// In the netpoller, with a duplicate: the same open file may be registered more than once.
    Netpoll(Fd<OwnedFd>),
    /// In the call itself, because the netpoller rejects the descriptor.
    InCall,
}

/// A shared descriptor. See the [module](self).
#[derive(Debug)]
pub(super) struct Stdio {
    fd: BorrowedFd<'static>,
    direction: Direction,
    wait: StdioWait,
}

impl Stdio {
    pub(super) const fn new(fd: BorrowedFd<'static>, direction: Direction) -> Self {
        Self { fd, direction, wait: StdioWait::NotYet }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'static> {
        self.fd
    }

    /// Makes `call` as soon as it would not wait.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> Poll<io::Result<usize>> {
        let direction = self.direction;
        let mut attempt = |fd: BorrowedFd<'_>| match is_ready(fd, direction)? {
            true => block_in_place(|| call(fd)),
            false => Err(Errno::AGAIN),
        };
        if let StdioWait::NotYet = self.wait {
            ready!(poll_proceed(cx));
            match attempt(self.fd) {
                Err(Errno::AGAIN | Errno::INTR) => self.wait = wait_for(self.fd)?,
                done => return Poll::Ready(Ok(done?)),
            }
        }
        let done = match &self.wait {
            StdioWait::Netpoll(fd) => {
                ready!(fd.poll_once(direction, cx, |fd| {
                    Ok((attempt(std::os::fd::AsFd::as_fd(fd))?, Left::Maybe))
                }))
            }
            StdioWait::NotYet | StdioWait::InCall => {
                ready!(poll_proceed(cx));
                Ok(rustix::io::retry_on_intr(|| block_in_place(|| call(self.fd)))?)
            }
        };
        // The next poll may be in another runtime.
        if done.as_ref().is_err_and(|error| error.get_ref().is_some_and(|e| e.is::<RuntimeEnded>()))
        {
            self.wait = StdioWait::NotYet;
        }
        Poll::Ready(done)
    }
}

/// Whether a call would return at once, with a result or an error.
fn is_ready(fd: BorrowedFd<'_>, direction: Direction) -> Result<bool, Errno> {
    let events = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    Ok(poll(&mut [PollFd::from_borrowed_fd(fd, events)], Some(&Timespec::default()))? > 0)
}

/// Registers a duplicate of `fd` with the netpoller.
fn wait_for(fd: BorrowedFd<'_>) -> io::Result<StdioWait> {
    // The number is at least 3: it must not replace a standard descriptor that is closed.
    let fd = fcntl_dupfd_cloexec(fd, 3)?;
    match Fd::new(fd, Trust::WouldBlock) {
        Ok(fd) => Ok(StdioWait::Netpoll(fd)),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(StdioWait::InCall),
        Err(error) => Err(error),
    }
}
