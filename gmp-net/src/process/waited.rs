//! A child that was not reaped yet, or whose status is known.

use super::exit::Exit;
use crate::error::RuntimeEnded;
use crate::fd::{Direction, Left};
use crate::poll::desc::Ticket;
use gmp_rt::task::park::{WaitReason, note_wait};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::process::{self, ExitStatus};
use std::task::{Context, Poll, Waker};

/// A child of the standard library and the event of its end.
#[derive(Debug)]
pub(super) struct WaitedChild {
    child: process::Child,
    exit: Exit,
    /// Set when the child is reaped. Its number may then belong to another process.
    status: Option<ExitStatus>,
}

impl WaitedChild {
    pub(super) fn new(child: process::Child, exit: Exit) -> Self {
        Self { child, exit, status: None }
    }

    /// Returns the number of the process until it is reaped.
    pub(super) fn pid(&self) -> Option<u32> {
        self.status.is_none().then(|| self.child.id())
    }

    /// Returns the status if the child has ended. Reaps it.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// Blocks the thread until the child has ended.
    pub(super) fn wait_blocking(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }

    /// Waits for the end of the child, in a goroutine. If the runtime of its event has ended, it
    /// waits in the caller's.
    pub(super) fn poll_wait(
        &mut self,
        ticket: &mut Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        let mut polled = self.poll_event(ticket, cx);
        if let Poll::Ready(Err(error)) = &polled
            && has_ended(error)
        {
            self.exit = Exit::watch(self.child.id())?;
            *ticket = Ticket::NONE;
            polled = self.poll_event(ticket, cx);
        }
        if polled.is_pending() {
            note_wait(cx, WaitReason::ProcessWait, self.child.id() as usize);
        }
        polled
    }

    fn poll_event(
        &mut self,
        ticket: &mut Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        if let Some(status) = self.status {
            return Poll::Ready(Ok(status));
        }
        let Self { child, exit, status } = self;
        exit.event().poll_io(Direction::Read, ticket, cx, |_| {
            *status = child.try_wait()?;
            match *status {
                Some(status) => Ok((status, Left::Maybe)),
                None => Err(ErrorKind::WouldBlock.into()),
            }
        })
    }

    /// Leaves the list of waiters.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.exit.event().leave(Direction::Read, ticket);
    }

    /// Returns the status if the child has ended. Otherwise `waker` is woken by the event.
    pub(super) fn poll_reap(&mut self, waker: &Waker) -> Poll<io::Result<ExitStatus>> {
        let Self { child, exit, .. } = self;
        exit.event().poll_outside(Direction::Read, waker, |_| {
            child.try_wait()?.ok_or(ErrorKind::WouldBlock.into())
        })
    }

    /// Sends a signal.
    ///
    /// # Errors
    ///
    /// The OS's error for a process that does not exist, if the child is reaped.
    pub(super) fn send(&self, signal: libc::c_int) -> io::Result<()> {
        match self.pid() {
            Some(pid) => self.exit.send(pid, signal),
            None => Err(Errno::SRCH.into()),
        }
    }

    /// Kills the child, unless it has ended.
    pub(super) fn kill(&self) -> io::Result<()> {
        match self.pid() {
            Some(pid) => self.exit.send(pid, libc::SIGKILL),
            None => Ok(()),
        }
    }
}

/// Whether an error says that the runtime of an event has ended.
pub(super) fn has_ended(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<RuntimeEnded>())
}
