//! Signals of the OS (Go: `os/signal`).
//!
//! A [`Signal`] listens from the moment it is made until it is dropped. Each listener is told of every
//! signal of its kind, wherever it is: in another goroutine, in another runtime, under another executor.
//! While it waits it is parked in the netpoller, as for a socket: no thread is kept, and nothing happens
//! until a signal comes.
//!
//! Signals that come while nobody receives count as one, as they do for the OS itself, which keeps one of
//! each kind.
//!
//! The first listener takes the signal from whoever had it, mostly from the default action, which ends the
//! process; dropping the last gives it back (Go: `signal.Stop`). So after `ctrl_c().await` a second
//! Ctrl-C ends a process that hangs while it cleans up.
//!
//! Signals are the process's and not a runtime's: a library should leave them to the program.
//!
//! # Examples
//!
//! ```no_run
//! use gmp_net::signal::{SignalKind, ctrl_c, signal};
//!
//! # gmp_rt::block_on(async {
//! let mut hangup = signal(SignalKind::hangup())?;
//! gmp_rt::spawn(async move {
//!     while let Some(()) = hangup.recv().await {
//!         println!("reading the configuration again");
//!     }
//! });
//! ctrl_c().await?;
//! println!("goodbye");
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```

#[cfg(all(target_os = "linux", not(gmp_portable_poll)))]
#[path = "bell_eventfd.rs"]
mod bell;
#[cfg(not(all(target_os = "linux", not(gmp_portable_poll))))]
#[path = "bell_pair.rs"]
mod bell;
#[expect(unsafe_code, reason = "sigaction and its handler, I1 and I2 of the module")]
mod handler;
mod kind;

pub use self::kind::SignalKind;

use self::handler::Listening;
use crate::fd::{Direction, Fd, Left};
use crate::poll_desc::{Ticket, Trust};
use futures::Stream;
use gmp_rt::park::{WaitReason, note_wait};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A listener to a signal, made by [`signal`]. See the [module](self).
#[derive(Debug)]
pub struct Signal {
    kind: SignalKind,
    index: usize,
    /// How often it had come when this listener was last told.
    seen: u64,
    bell: Fd<OwnedFd>,
    _listening: Listening,
}

/// Listens to a signal: from now on it does not have its usual effect, and no one is missed.
///
/// # Errors
///
/// `InvalidInput` for signals that no process can handle, SIGKILL and SIGSTOP, for faults (SIGSEGV,
/// SIGBUS, SIGFPE, SIGILL), and for numbers that are no signals; others if the OS is out of descriptors
/// or the runtime is ending.
///
/// # Examples
///
/// ```
/// use gmp_net::signal::{SignalKind, signal};
///
/// # gmp_rt::block_on(async {
/// let mut user = signal(SignalKind::user_defined1())?;
/// rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1)?;
/// user.recv().await;
/// assert!(signal(SignalKind::from_raw(9)).is_err());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let index = kind.index()?;
    let bell = Fd::new(handler::bell()?.listen()?, Trust::WouldBlock)?;
    let (listening, seen) = Listening::begin(kind)?;
    Ok(Signal { kind, index, seen, bell, _listening: listening })
}

/// Waits for Ctrl-C, once: SIGINT. It listens from the call on, and not only when it is awaited.
///
/// # Errors
///
/// As [`signal`].
///
/// # Cancel safety
///
/// Dropping it gives the signal back; see the [module](self).
///
/// # Examples
///
/// ```no_run
/// # gmp_rt::block_on(async {
/// gmp_net::signal::ctrl_c().await?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub fn ctrl_c() -> impl Future<Output = io::Result<()>> + Send + Sync + use<> {
    let listener = signal(SignalKind::interrupt());
    async {
        match listener?.recv().await {
            Some(()) => Ok(()),
            None => Err(crate::RuntimeEnded.into()),
        }
    }
}

impl Signal {
    /// Waits until the signal has come since the last time; `None` if the runtime in which it was made
    /// has ended.
    ///
    /// # Cancel safety
    ///
    /// A dropped wait has missed nothing.
    pub async fn recv(&mut self) -> Option<()> {
        /// Leaves the list of those who wait.
        struct Waits<'a> {
            signal: &'a mut Signal,
            ticket: Ticket,
        }
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                self.signal.bell.leave(Direction::Read, self.ticket);
            }
        }
        let mut waits = Waits { signal: self, ticket: Ticket::NONE };
        poll_fn(|cx| {
            let Waits { signal, ticket } = &mut waits;
            signal.poll_with(ticket, cx)
        })
        .await
    }

    /// [`recv`](Self::recv) for a future written by hand.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_with(&mut Ticket::POLL.clone(), cx)
    }

    /// Which signal.
    #[must_use]
    pub fn kind(&self) -> SignalKind {
        self.kind
    }

    fn poll_with(&mut self, ticket: &mut Ticket, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let (seen, index) = (self.seen, self.index);
        let told =
            self.bell.poll_io(Direction::Read, ticket, cx, |_| match handler::count(index) {
                count if count == seen => Err(ErrorKind::WouldBlock.into()),
                count => Ok((count, Left::Maybe)),
            });
        match told {
            Poll::Ready(Ok(count)) => {
                self.seen = count;
                if let Ok(bell) = handler::bell() {
                    bell.heard();
                }
                Poll::Ready(Some(()))
            }
            Poll::Ready(Err(_)) => Poll::Ready(None),
            Poll::Pending => {
                note_wait(cx, WaitReason::Signal, self.index);
                Poll::Pending
            }
        }
    }
}

/// Never ends while the runtime lives in which it was made.
impl Stream for Signal {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_recv(cx)
    }
}
