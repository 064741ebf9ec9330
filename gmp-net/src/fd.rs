//! A descriptor that goroutines wait for (Go: `internal/poll.FD`): what all sockets are made of.
//!
//! An operation tries first and waits after. The one loop that does so is [`Fd::poll_io`].
//!
//! The OS's descriptor is owned by the [`Fd`] and closed when that is dropped, that is when nobody
//! uses it: an operation borrows it. So a number can never be used again under a running operation, and
//! no count of users is kept, which Go needs. [`Fd::close`] lets every operation fail from now on, and
//! wakes those that wait.

use crate::deadline::Deadlines;
use crate::poll_cache::Index;
use crate::poll_desc::{Fault, PollDesc, Side, Ticket, Trust, Wait};
use crate::poller::Poller;
use gmp_rt::park::{WaitReason, note_wait, poll_go_on, wake_all};
use gmp_rt::prim::fixed::OnceLock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// Which of the two semaphores of a descriptor.
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

/// What a successful try left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Perhaps more.
    Maybe,
    /// Nothing: it got, or could put, less than it asked for.
    Nothing,
}

impl Left {
    /// After `n` bytes of `wanted` from or to a stream.
    #[inline]
    pub(crate) fn of(n: usize, wanted: usize) -> Self {
        if n < wanted && n > 0 { Self::Nothing } else { Self::Maybe }
    }
}

/// What a try gives.
pub(crate) type Tried<R> = io::Result<(R, Left)>;

/// A registered descriptor. See the [module](self).
pub(crate) struct Fd<T: AsFd> {
    /// Taken out only by [`Fd::into_inner`] and on drop.
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
    /// Registers `io`, which must be non-blocking, with the runtime around the caller.
    pub(crate) fn new(io: T, trust: Trust) -> io::Result<Self> {
        Self::prepared(io, trust, |_| Ok(()))
    }

    /// [`new`](Self::new) for what `prepare` makes non-blocking: the descriptor that is registered,
    /// whatever `io` names later.
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

    /// Takes the descriptor out of the netpoller. If `io` names another descriptor now, that one is
    /// left alone: it may be registered by another socket. Events of the first one, if it is still
    /// open, then wake somebody in vain.
    fn silence(&self) {
        let fd = self.get().as_fd();
        if fd.as_raw_fd() == self.registered {
            self.poller.silence(fd);
        }
    }

    /// What it is made of.
    #[inline]
    pub(crate) fn get(&self) -> &T {
        self.io.as_ref().expect("taken out only when it is dropped")
    }

    /// Takes it out of the netpoller.
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

    /// Lets all operations fail from now on, and wakes those that wait. `true` if it was open.
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

    /// Sets the deadline of a direction.
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
    /// `ticket` is the waiter's own, for [`leave`](Self::leave), or [`Ticket::POLL`].
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
                if poll_go_on(cx).is_pending() {
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

    /// Notes that the budget has deferred an operation: the budget never changes a result, so a
    /// deadline that passes before the next poll does not count. A task that keeps nothing between
    /// polls cannot keep this note.
    #[cold]
    fn defer(&self, direction: Direction, ticket: &mut Ticket) {
        if *ticket != Ticket::POLL {
            self.leave(direction, *ticket);
            *ticket = Ticket::DEFERRED;
        }
    }

    /// [`poll_io`](Self::poll_io) for a task that keeps nothing between polls.
    #[inline]
    pub(crate) fn poll_once<R>(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        op: impl FnMut(&T) -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(direction, &mut Ticket::POLL.clone(), cx, op)
    }

    /// Tries `op`, without waiting.
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

    /// [`poll_io`](Self::poll_io) as a future, which leaves nothing behind when it is dropped.
    #[inline]
    pub(crate) fn io<R, F>(&self, direction: Direction, op: F) -> Io<'_, T, F>
    where
        F: FnMut(&T) -> Tried<R> + Unpin,
    {
        Io { fd: self, direction, ticket: Ticket::NONE, op }
    }

    /// Waits until the direction fails, without trying anything.
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

    /// Waits until the OS says that an operation in this direction would not block.
    pub(crate) fn ready(&self, direction: Direction) -> impl Future<Output = io::Result<()>> {
        let events = match direction {
            Direction::Read => PollFlags::IN,
            Direction::Write => PollFlags::OUT,
        };
        self.io(direction, move |io| {
            let mut asked = [PollFd::new(io, events)];
            match poll(&mut asked, Some(&Timespec::default()))? {
                0 => Err(ErrorKind::WouldBlock.into()),
                _ => Ok(((), Left::Maybe)),
            }
        })
    }

    /// A waiter goes away.
    pub(crate) fn leave(&self, direction: Direction, ticket: Ticket) {
        self.side(direction).leave(ticket);
    }

    /// What a dump says it waits for.
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
        /// Gives the index back, also if the user's `as_fd` panics. Nobody waits on it: a waiter
        /// borrows the `Fd`.
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

/// A descriptor of whatever kind: for who moves bytes without looking at them.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for calls that Linux has"))]
pub(crate) trait Descriptor {
    /// [`Fd::poll_once`] with nothing but the descriptor's number.
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

/// What is made of a descriptor.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for calls that Linux has"))]
pub(crate) trait Described {
    fn descriptor(&self) -> &dyn Descriptor;
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

/// The calls that all sockets have: closing, deadlines, the descriptor itself.
macro_rules! common_calls {
    ($type:ident $(<$param:ident>)?, $close:literal) => {
        impl $(<$param: std::os::fd::AsFd>)? $type $(<$param>)? {
            #[doc = $close]
            ///
            /// Goroutines that wait in one of its operations are woken, and get an error that is
            /// [`Closed`](crate::Closed), as does every operation from now on. The descriptor itself
            /// is given back to the OS when the last owner is dropped: never under a running operation.
            /// Dropping the only owner is enough to close it; this is for those who share it.
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

            /// Sets the deadline of all operations, those that wait now included; `None` for none.
            ///
            /// When it has passed they fail with an error of the kind `TimedOut`, until another
            /// deadline is set. One in the past lets them fail at once.
            pub fn set_deadline(&self, deadline: Option<std::time::Instant>) {
                self.set_read_deadline(deadline);
                self.set_write_deadline(deadline);
            }

            /// [`set_deadline`](Self::set_deadline) for what receives.
            pub fn set_read_deadline(&self, deadline: Option<std::time::Instant>) {
                self.fd.set_deadline($crate::fd::Direction::Read, deadline);
            }

            /// [`set_deadline`](Self::set_deadline) for what sends.
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
