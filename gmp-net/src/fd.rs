//! A descriptor that goroutines wait for (Go: `internal/poll.FD`). All sockets are built on it.
//!
//! An operation first tries the system call and waits if it would block. [`Fd::poll_io`] is the
//! loop that does so.
//!
//! The [`Fd`] owns the OS's descriptor and closes it when it is dropped. An operation borrows the
//! `Fd`, so the OS cannot reuse the number during an operation. Go needs a count of users for that.
//! [`Fd::close`] makes every later operation fail and wakes the waiting ones.

use crate::deadline::Deadlines;
use crate::poll::cache::Index;
use crate::poll::desc::{Fault, PollDesc, Side, Ticket, Trust, Wait};
use crate::poll::poller::Poller;
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::task::park::{
    WaitReason, Wanted, forked_error, note_wait, poll_one, poll_proceed, wake_all,
};
use rustix::event::Timespec;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// One of the two [`Side`]s of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    #[inline]
    pub(crate) fn side(self, desc: &PollDesc) -> &Side {
        match self {
            Self::Read => &desc.read,
            Self::Write => &desc.write,
        }
    }
}

/// What a successful try left in the OS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// There may be more.
    Maybe,
    /// There is no more: the try got, or could put, less than it asked for.
    Nothing,
}

impl Left {
    /// Returns the rest after `n` bytes of `wanted` from or to a stream.
    #[inline]
    pub(crate) fn of(n: usize, wanted: usize) -> Self {
        if n < wanted && n > 0 { Self::Nothing } else { Self::Maybe }
    }
}

/// The result of a try.
pub(crate) type Tried<R> = io::Result<(R, Left)>;

/// A registered descriptor. See the [module](self).
pub(crate) struct Fd<T: AsFd> {
    /// Taken out only by [`Fd::into_inner`].
    io: Option<T>,
    /// The number of the descriptor that is registered. `AsFd` is a safe trait, so `io` may name
    /// another one at each call.
    registered: RawFd,
    poller: Arc<Poller>,
    index: Index,
    deadlines: OnceLock<Arc<Deadlines>>,
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Fd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

impl<T: AsFd> Fd<T> {
    /// Registers `io`, which must be non-blocking, with the caller's runtime.
    pub(crate) fn new(io: T, trust: Trust) -> io::Result<Self> {
        Self::prepared(io, trust, |_| Ok(()))
    }

    /// Registers an `io`, as [`new`](Self::new), that `prepare` makes non-blocking. `prepare` gets
    /// the descriptor that is registered, even if `io` names another one later.
    pub(crate) fn prepared(
        io: T,
        trust: Trust,
        prepare: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let fd = io.as_fd();
        prepare(fd)?;
        let poller = Poller::of_runtime()?;
        let (registered, index) = (fd.as_raw_fd(), poller.register(fd, trust)?);
        Ok(Self { io: Some(io), registered, poller, index, deadlines: OnceLock::new() })
    }

    /// Removes the descriptor from the netpoller. If `io` names another descriptor now, that one is
    /// left alone: another socket may have registered it. Events of the first descriptor, if it is
    /// still open, then cause spurious wake-ups.
    fn silence(&self) {
        let fd = self.get().as_fd();
        if fd.as_raw_fd() == self.registered {
            self.poller.silence(fd);
        }
    }

    /// Returns the wrapped value.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        self.io.as_ref().expect("taken out only when it is dropped")
    }

    /// Removes the descriptor from the netpoller and returns the wrapped value.
    pub(crate) fn into_inner(mut self) -> T {
        self.unregister();
        self.io.take().expect("taken out only here")
    }

    fn desc(&self) -> &PollDesc {
        self.poller.desc(self.index)
    }

    #[inline]
    fn side(&self, direction: Direction) -> &Side {
        direction.side(self.desc())
    }

    /// Makes all later operations fail and wakes the waiting ones. Returns `true` if it was open.
    pub(crate) fn close(&self) -> bool {
        let mut wakers = Vec::new();
        let was_open = self.desc().fail(Fault::Closed, |waker| wakers.push(waker));
        if was_open {
            self.silence();
        }
        wake_all(wakers);
        was_open
    }

    /// Whether [`close`](Self::close) was called.
    pub(crate) fn is_closed(&self) -> bool {
        self.desc().read.look().fault() == Some(Fault::Closed)
    }

    /// Sets or clears the deadline of a direction.
    pub(crate) fn set_deadline(&self, direction: Direction, deadline: Option<Instant>) {
        if deadline.is_none() && self.deadlines.get().is_none() {
            return;
        }
        let deadlines = self
            .deadlines
            .get_or_init(|| Arc::new(Deadlines::new(self.poller.clone(), self.index)));
        deadlines.set(direction, deadline);
    }

    /// Tries `op`, and waits while it would block.
    ///
    /// `ticket` is the waiter's own, to pass to [`leave`](Self::leave), or [`Ticket::POLL`].
    #[inline]
    pub(crate) fn poll_io<R>(
        &self,
        direction: Direction,
        ticket: &mut Ticket,
        cx: &mut Context<'_>,
        mut op: impl FnMut(&T) -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        let side = self.side(direction);
        loop {
            let seen = side.look();
            if let Some(fault) = seen.fault()
                && !(fault == Fault::Expired && *ticket == Ticket::DEFERRED)
            {
                return Poll::Ready(Err(fault.into()));
            }
            if !seen.is_drained() {
                if poll_proceed(cx).is_pending() {
                    self.defer(direction, ticket);
                    return Poll::Pending;
                }
                match op(self.get()) {
                    Ok((result, left)) => {
                        if left == Left::Nothing {
                            side.drained(seen);
                        }
                        ticket.tried();
                        return Poll::Ready(Ok(result));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) if error.kind() != ErrorKind::WouldBlock => {
                        ticket.tried();
                        return Poll::Ready(Err(error));
                    }
                    Err(_) => {}
                }
            }
            if *ticket == Ticket::DEFERRED {
                ticket.tried();
                continue;
            }
            if self.poller.is_forked() {
                return Poll::Ready(Err(forked_error()));
            }
            match side.wait(seen, ticket, cx.waker()) {
                Wait::Changed => {}
                Wait::Ended => return Poll::Ready(Err(Fault::Ended.into())),
                Wait::Parked => {
                    note_wait(cx, WaitReason::IoWait, self.resource());
                    return Poll::Pending;
                }
            }
        }
    }

    /// Records that the budget has deferred an operation. The budget never changes a result, so a
    /// deadline that passes before the next poll does not apply. A task with [`Ticket::POLL`] keeps
    /// nothing between polls, so it cannot keep this record.
    #[cold]
    fn defer(&self, direction: Direction, ticket: &mut Ticket) {
        if *ticket != Ticket::POLL {
            self.leave(direction, *ticket);
            *ticket = Ticket::DEFERRED;
        }
    }

    /// Polls, as [`poll_io`](Self::poll_io), for a task that keeps nothing between polls.
    #[inline]
    pub(crate) fn poll_once<R>(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        op: impl FnMut(&T) -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(direction, &mut Ticket::POLL.clone(), cx, op)
    }

    /// [`poll_once`](Self::poll_once) for a waiter that is no task: it has no budget, records no
    /// wait, and fails only if `op` fails or no event can come.
    pub(crate) fn poll_outside<R>(
        &self,
        direction: Direction,
        waker: &Waker,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let side = self.side(direction);
        loop {
            let seen = side.look();
            match op(self.get()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
            if self.poller.is_forked() {
                return Poll::Ready(Err(forked_error()));
            }
            match side.wait(seen, &mut Ticket::POLL.clone(), waker) {
                Wait::Changed => {}
                Wait::Ended => return Poll::Ready(Err(Fault::Ended.into())),
                Wait::Parked => return Poll::Pending,
            }
        }
    }

    /// Tries `op` without waiting.
    pub(crate) fn try_io<R>(
        &self,
        direction: Direction,
        mut op: impl FnMut(&T) -> Tried<R>,
    ) -> io::Result<R> {
        let side = self.side(direction);
        loop {
            let seen = side.look();
            if let Some(fault) = seen.fault() {
                return Err(fault.into());
            }
            match op(self.get()) {
                Ok((result, left)) => {
                    if left == Left::Nothing {
                        side.drained(seen);
                    }
                    return Ok(result);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns [`poll_io`](Self::poll_io) as a future that leaves the list when it is dropped.
    #[inline]
    pub(crate) fn io<R, F>(&self, direction: Direction, op: F) -> Io<'_, T, F>
    where
        F: FnMut(&T) -> Tried<R> + Unpin,
    {
        Io { fd: self, direction, ticket: Ticket::NONE, op }
    }

    /// Waits until the direction fails, without trying an operation.
    pub(crate) fn poll_fault(
        &self,
        direction: Direction,
        ticket: &mut Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Error> {
        let side = self.side(direction);
        loop {
            let seen = side.look();
            if let Some(fault) = seen.fault() {
                return Poll::Ready(fault.into());
            }
            match side.wait(seen, ticket, cx.waker()) {
                Wait::Changed => {}
                Wait::Ended => return Poll::Ready(Fault::Ended.into()),
                Wait::Parked => {
                    note_wait(cx, WaitReason::IoWait, self.resource());
                    return Poll::Pending;
                }
            }
        }
    }

    /// Waits until an operation in this direction would not block, according to `poll(2)`.
    pub(crate) fn ready(&self, direction: Direction) -> impl Future<Output = io::Result<()>> {
        let wanted = match direction {
            Direction::Read => Wanted::Read,
            Direction::Write => Wanted::Write,
        };
        self.io(direction, move |io| match poll_one(io.as_fd(), wanted, &Timespec::default())? {
            false => Err(ErrorKind::WouldBlock.into()),
            true => Ok(((), Left::Maybe)),
        })
    }

    /// Removes a waiter from the list.
    pub(crate) fn leave(&self, direction: Direction, ticket: Ticket) {
        self.side(direction).leave(ticket);
    }

    /// Returns the number that a goroutine dump shows for this wait.
    fn resource(&self) -> usize {
        usize::try_from(self.registered).unwrap_or(0)
    }

    fn unregister(&self) {
        if let Some(deadlines) = self.deadlines.get() {
            deadlines.end();
        }
        if !self.is_closed() {
            self.silence();
        }
    }
}

impl<T: AsFd> Drop for Fd<T> {
    fn drop(&mut self) {
        /// Gives the index back, also if the user's `as_fd` panics. No task waits on it, because a
        /// waiter borrows the `Fd`.
        struct GiveBack<'a>(&'a Poller, Index);
        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
            }
        }
        let _give_back = GiveBack(&self.poller, self.index);
        if self.io.is_some() {
            self.unregister();
        }
    }
}

impl<T: AsFd> AsFd for Fd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get().as_fd()
    }
}

/// A descriptor of any kind, for code that moves bytes in the kernel.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for calls that Linux has"))]
pub(crate) trait Descriptor {
    /// Polls, as [`Fd::poll_once`], an operation on the bare descriptor.
    fn poll_fd(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        op: &mut dyn FnMut(BorrowedFd<'_>) -> Tried<usize>,
    ) -> Poll<io::Result<usize>>;
}

impl<T: AsFd> Descriptor for Fd<T> {
    fn poll_fd(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        op: &mut dyn FnMut(BorrowedFd<'_>) -> Tried<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_once(direction, cx, |io| op(io.as_fd()))
    }
}

/// A socket that can be used as a [`Descriptor`].
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for calls that Linux has"))]
pub(crate) trait Described {
    fn descriptor(&self) -> &dyn Descriptor;
}

/// Makes the open file of `fd` non-blocking, or blocking.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    if flags.contains(OFlags::NONBLOCK) != on {
        fcntl_setfl(fd, flags ^ OFlags::NONBLOCK)?;
    }
    Ok(())
}

/// The future of [`Fd::io`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Io<'a, T: AsFd, F> {
    fd: &'a Fd<T>,
    direction: Direction,
    ticket: Ticket,
    op: F,
}

impl<T, R, F> Future for Io<'_, T, F>
where
    T: AsFd,
    F: FnMut(&T) -> Tried<R> + Unpin,
{
    type Output = io::Result<R>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.fd.poll_io(this.direction, &mut this.ticket, cx, &mut this.op)
    }
}

impl<T: AsFd, F> Drop for Io<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        self.fd.leave(self.direction, self.ticket);
    }
}

/// Implements the methods that all sockets have: closing, deadlines, access to the descriptor.
macro_rules! common_calls {
    ($type:ident $(<$param:ident>)?, $close:literal) => {
        impl $(<$param: std::os::fd::AsFd>)? $type $(<$param>)? {
            #[doc = $close]
            ///
            /// Wakes the goroutines that wait in one of its operations. Those operations and all
            /// later ones return an error that wraps [`Closed`](crate::Closed). The OS's descriptor
            /// is closed when the last owner is dropped, so never during an operation. Dropping the
            /// only owner is enough to close it. Use this method if the socket is shared.
            pub fn close(&self) {
                if self.fd.close() {
                    self.closed();
                }
            }

            /// Whether [`close`](Self::close) was called.
            #[must_use]
            pub fn is_closed(&self) -> bool {
                self.fd.is_closed()
            }

            /// Sets the deadline of all operations, waiting ones included. `None` removes it.
            ///
            /// After the deadline they fail with an error of the kind `TimedOut`, until another
            /// deadline is set. With a deadline in the past they fail at once.
            pub fn set_deadline(&self, deadline: Option<std::time::Instant>) {
                self.set_read_deadline(deadline);
                self.set_write_deadline(deadline);
            }

            /// Sets the [deadline](Self::set_deadline) of the operations that receive.
            pub fn set_read_deadline(&self, deadline: Option<std::time::Instant>) {
                self.fd.set_deadline($crate::fd::Direction::Read, deadline);
            }

            /// Sets the [deadline](Self::set_deadline) of the operations that send.
            pub fn set_write_deadline(&self, deadline: Option<std::time::Instant>) {
                self.fd.set_deadline($crate::fd::Direction::Write, deadline);
            }
        }

        impl $(<$param: std::os::fd::AsFd>)? $crate::fd::Described for $type $(<$param>)? {
            fn descriptor(&self) -> &dyn $crate::fd::Descriptor {
                &self.fd
            }
        }

        impl $(<$param: std::os::fd::AsFd>)? std::os::fd::AsFd for $type $(<$param>)? {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(&self.fd)
            }
        }

        impl $(<$param: std::os::fd::AsFd>)? std::os::fd::AsRawFd for $type $(<$param>)? {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&self.fd))
            }
        }

        impl $(<$param: std::os::fd::AsFd + std::fmt::Debug>)? std::fmt::Debug for $type $(<$param>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.fd.fmt(f)
            }
        }
    };
}
pub(crate) use common_calls;
