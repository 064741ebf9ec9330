//! Waits on Linux by one system call.
//!
//! A write to an eventfd ends a wait. The eventfd is edge-triggered and never read, so every write
//! is an event. Its 64-bit counter cannot overflow in practice.
//!
//! A descriptor costs two calls of `epoll_ctl` in its life: one adds it and one deletes it.
//! `polling` adds without `EPOLLRDHUP`, so [`Os::add`] adds streams itself, with that flag. Without
//! the flag, a read that got less than it asked for could not know whether the end follows. Each
//! message would then cost one more read (see `poll/desc.rs`). All other descriptors are added
//! through `polling`.
//!
//! Closing a descriptor does not replace the deletion. epoll forgets a descriptor only when the
//! last reference to its open file is gone. Another reference can exist at any time: a duplicate
//! that the user made, or the copy in a process that another thread has just forked. The
//! registration would then stay. It would report events for a key that belongs to another socket,
//! and a later registration of the same file under the same number would fail.

use super::{EVENTS, Edge, end_if_lost, is_lost};
use crate::poll::desc::{EdgeKind, Trust};
use gmp_rt::prim::Ordering::Relaxed;
use gmp_rt::prim::fixed::{AtomicBool, Mutex};
use gmp_rt::task::park::{Delay, PollerWake, lost_descriptor};
use polling::{Event, PollMode, Poller};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The key of the eventfd. `usize::MAX` belongs to `polling`.
const BELL: usize = usize::MAX - 1;

/// The events of a stream: those that `polling` requests, and the end of the peer's data.
const STREAM: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::PRI)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// The OS's part of a poller. See the [module](self).
#[derive(Debug)]
pub(crate) struct Os {
    poller: Poller,
    bell: OwnedFd,
    /// Held during a non-blocking poll. A second one at the same time would find no events.
    asks: Mutex<()>,
    /// Set if the kernel or a system call filter rejects `epoll_pwait2`.
    coarse: AtomicBool,
}

impl Os {
    pub(crate) fn new() -> io::Result<Self> {
        let poller = Poller::new()?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // SAFETY: the eventfd lives as long as the poller, in the same struct. Dropping a
        // descriptor that epoll still knows is harmless.
        unsafe { poller.add_with_mode(&bell, Event::readable(BELL), PollMode::Edge)? };
        Ok(Self { poller, bell, asks: Mutex::new(()), coarse: AtomicBool::new(false) })
    }

    /// Whether a stream registered here trusts short reads and writes.
    pub(crate) const STREAMS: Trust = Trust::Short;

    /// Registers `fd` for both directions.
    ///
    /// The caller calls [`delete`](Self::delete) before it closes `fd`.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, key: usize, trust: Trust) -> io::Result<()> {
        let added = match trust {
            Trust::Short => {
                let data = EventData::new_u64(key as u64);
                epoll::add(&self.poller, fd, data, STREAM).map_err(io::Error::from)
            }
            // SAFETY: epoll itself forgets a descriptor when its open file is closed. Nothing
            // dangles even if the caller does not delete it.
            Trust::WouldBlock => unsafe {
                self.poller.add_with_mode(&fd, Event::all(key), PollMode::Edge)
            },
        };
        added.inspect_err(|error| self.check(error))
    }

    /// Ends the process if `error`, of a registration, is due to the poller and not to the
    /// descriptor of the caller.
    fn check(&self, error: &io::Error) {
        if is_lost(error) {
            // Changes nothing, and causes a spurious wake-up.
            let bell = Event::readable(BELL);
            if let Err(error) = self.poller.modify_with_mode(&self.bell, bell, PollMode::Edge) {
                lost_descriptor("epoll_ctl", &error);
            }
        }
    }

    /// Undoes [`add`](Self::add).
    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) {
        // It fails only if `fd` is not registered: then there is nothing to undo.
        let _ = self.poller.delete(fd);
    }

    /// Ends a wait (Go: `netpollBreak`).
    pub(crate) fn ring(&self) {
        // The counter cannot overflow, so the write cannot fail for an eventfd.
        if let Err(error) = rustix::io::write(&self.bell, &1u64.to_ne_bytes()) {
            end_if_lost("write to an eventfd", &error.into());
        }
    }

    /// Waits for events and calls `each` with every one.
    pub(crate) fn wait(
        &self,
        delay: Delay,
        limit: usize,
        mut each: impl FnMut(Edge),
    ) -> PollerWake {
        let asks = (delay == Delay::Now).then(|| self.asks.try_lock());
        if let Some(None) = asks {
            return PollerWake::Left;
        }
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let buffer = &mut buffer[..limit.clamp(1, EVENTS)];
        let mut wake = PollerWake::Left;
        for event in self.wait_once(delay, buffer) {
            let (flags, key) = (event.flags, event.data.u64() as usize);
            if key == BELL {
                wake = PollerWake::Taken;
            } else {
                each(edge(key, flags));
            }
        }
        wake
    }

    /// Makes one system call. Treats an interruption by a signal as no event.
    fn wait_once<'b>(
        &self,
        delay: Delay,
        buffer: &'b mut [MaybeUninit<epoll::Event>],
    ) -> &'b [epoll::Event] {
        let zero = Timespec::default();
        let timeout = match delay {
            Delay::Now => Some(&zero),
            Delay::Forever => None,
            Delay::For(time) => return self.wait_for(time, buffer),
        };
        self.wait_coarsely(timeout, buffer)
    }

    /// Makes one system call with a limit in milliseconds.
    fn wait_coarsely<'b>(
        &self,
        timeout: Option<&Timespec>,
        buffer: &'b mut [MaybeUninit<epoll::Event>],
    ) -> &'b [epoll::Event] {
        match epoll::wait(&self.poller, buffer, timeout) {
            Ok((events, _)) => events,
            Err(error) => {
                end_if_lost("epoll_wait", &error.into());
                &[]
            }
        }
    }

    /// Waits, as [`wait_once`](Self::wait_once), with a limit in nanoseconds, if the kernel
    /// supports it.
    fn wait_for<'b>(
        &self,
        time: Duration,
        buffer: &'b mut [MaybeUninit<epoll::Event>],
    ) -> &'b [epoll::Event] {
        if !self.coarse.load(Relaxed) {
            match pwait2(self.poller.as_fd(), time, buffer) {
                Ok(n) => {
                    let filled = std::ptr::from_ref(&buffer[..n]) as *const [epoll::Event];
                    // SAFETY: the kernel has filled `n` events, and `MaybeUninit` has the layout of
                    // its content.
                    return unsafe { &*filled };
                }
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.coarse.store(true, Relaxed); // Relaxed: a hint
                }
                Err(error) => {
                    end_if_lost("epoll_pwait2", &error);
                    return &[];
                }
            }
        }
        // rustix rounds up to milliseconds. A longer wait is cut to an hour; the caller then waits
        // again.
        let time = Timespec::try_from(time.min(Duration::from_secs(3600))).ok();
        self.wait_coarsely(time.as_ref(), buffer)
    }
}

/// The kernel's 64-bit timespec, the same on all architectures.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanos: i64,
}

/// Calls `epoll_pwait2` without a signal mask. rustix offers this call only with a feature that
/// requires Linux 5.11, and then for the whole program.
fn pwait2(
    epoll: BorrowedFd<'_>,
    time: Duration,
    buffer: &mut [MaybeUninit<epoll::Event>],
) -> io::Result<usize> {
    let time = KernelTimespec {
        seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        nanos: i64::from(time.subsec_nanos()),
    };
    // SAFETY: the kernel writes at most as many events as the buffer has room for. rustix's event
    // has the kernel's layout. There is no signal mask.
    let n = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw const time,
            std::ptr::null::<()>(),
            0usize,
        )
    };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Translates the flags of an event.
fn edge(key: usize, flags: EventFlags) -> Edge {
    let hung_up = EventFlags::HUP | EventFlags::ERR;
    let side = |data: EventFlags, more: EventFlags| {
        if flags.intersects(more) {
            Some(EdgeKind::More)
        } else {
            flags.intersects(data).then_some(EdgeKind::Data)
        }
    };
    Edge {
        key,
        read: side(EventFlags::IN, hung_up | EventFlags::RDHUP | EventFlags::PRI),
        write: side(EventFlags::OUT, hung_up),
    }
}
