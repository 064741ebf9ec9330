//! Waits through `polling`, on systems where it has edge-triggered registrations.
//!
//! `Poller::wait` admits one thread at a time and does not report whether it was notified. So every
//! wait that was admitted returns `PollerWake::Taken`. `polling` does not report the end of the
//! peer's data, so a short read is never trusted.

use super::{EVENTS, Edge, end_if_lost};
use crate::poll::desc::{EdgeKind, Trust};
use gmp_rt::prim::fixed::Mutex;
use gmp_rt::task::park::{Delay, PollerWake};
use polling::{Event, Events, PollMode, Poller};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The OS's part of a poller. See the [module](self).
pub(crate) struct Os {
    poller: Poller,
    /// Held by the thread inside `Poller::wait`.
    events: Mutex<Events>,
}

impl std::fmt::Debug for Os {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Os").field("poller", &self.poller).finish_non_exhaustive()
    }
}

impl Os {
    pub(crate) fn new() -> io::Result<Self> {
        let poller = Poller::new()?;
        if !poller.supports_edge() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "gmp needs edge-triggered events, which this system's poller does not have",
            ));
        }
        let capacity = NonZeroUsize::new(EVENTS).unwrap_or(NonZeroUsize::MIN);
        Ok(Self { poller, events: Mutex::new(Events::with_capacity(capacity)) })
    }

    /// Whether a stream registered here trusts short reads and writes.
    pub(crate) const STREAMS: Trust = Trust::WouldBlock;

    /// Registers `fd` for both directions.
    ///
    /// The caller calls [`delete`](Self::delete) before it closes `fd`.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, key: usize, _: Trust) -> io::Result<()> {
        // SAFETY: the caller deletes it before it is closed. A type that swaps its descriptor
        // prevents that. Kernels with edge-triggered events forget a descriptor that is closed.
        unsafe { self.poller.add_with_mode(&fd, Event::all(key), PollMode::Edge) }
    }

    /// Undoes [`add`](Self::add).
    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) {
        // It fails only if `fd` is not registered: then there is nothing to undo.
        let _ = self.poller.delete(fd);
    }

    /// Ends a wait (Go: `netpollBreak`).
    pub(crate) fn ring(&self) {
        if let Err(error) = self.poller.notify() {
            end_if_lost("wake-up of the poller", &error);
        }
    }

    /// Waits for events and calls `each` with every one.
    pub(crate) fn wait(
        &self,
        delay: Delay,
        _limit: usize,
        mut each: impl FnMut(Edge),
    ) -> PollerWake {
        let (events, timeout) = match delay {
            Delay::Now => (self.events.try_lock(), Some(Duration::ZERO)),
            Delay::For(time) => (Some(self.events.lock()), Some(time)),
            Delay::Forever => (Some(self.events.lock()), None),
        };
        let Some(mut events) = events else { return PollerWake::Left };
        events.clear();
        // An interruption by a signal counts as no event.
        if let Err(error) = self.poller.wait(&mut events, timeout) {
            end_if_lost("wait of the poller", &error);
        }
        for event in events.iter() {
            // Hang-ups are reported as readable and writable.
            let side = |ready: bool| ready.then_some(EdgeKind::More);
            each(Edge { key: event.key, read: side(event.readable), write: side(event.writable) });
        }
        PollerWake::Taken
    }
}
