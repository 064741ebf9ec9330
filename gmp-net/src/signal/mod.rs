//! Signals of the OS (Go: `os/signal`).
//!
//! A [`Signal`] listens from its creation until it is dropped. Each listener receives every signal
//! of its kind, in any goroutine, in any runtime and under any executor. While it waits it is
//! parked in the netpoller, like a socket: it needs no thread.
//!
//! Signals that come while no task waits count as one, as for the OS itself, which keeps one
//! pending signal of each kind.
//!
//! The first listener replaces the action of the signal. This is usually the default action, which
//! ends the process. Dropping the last listener restores it (Go: `signal.Stop`). So after
//! `ctrl_c().await` a second Ctrl-C ends a process that hangs in its clean-up. [`ctrl_c`] says what
//! happens if it is dropped earlier.
//!
//! If the program has a handler of the signal already, that handler still runs. Tokio and
//! `signal-hook` do the same. So listeners of all of them receive the signal, in whatever order
//! they are created and dropped. Its mask and its flags stay in effect: whether it interrupts
//! system calls (`SA_RESTART`), its stack, and which events of children raise SIGCHLD. Its
//! `SA_NODEFER` and `SA_RESETHAND` have no effect while a listener exists.
//!
//! Signals belong to the process, not to a runtime. A library should leave them to the program.
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
#[expect(unsafe_code, reason = "handlers of others, and links that are never freed")]
mod chain;
#[expect(unsafe_code, reason = "sigaction and its handler, I1 and I2 of the module")]
mod handler;
mod kind;

pub use self::kind::SignalKind;

use self::handler::Listening;
use crate::fd::{Direction, Fd, Left};
use crate::poll::desc::{Ticket, Trust};
use futures::future::{Either, select};
use futures::stream::{FusedStream, Stream};
use gmp_rt::task::park::{WaitReason, note_wait};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// A listener for a signal, created by [`signal`]. See the [module](self).
#[derive(Debug)]
pub struct Signal {
    kind: SignalKind,
    index: usize,
    /// The count of the signal when this listener last received it.
    seen: u64,
    bell: Fd<OwnedFd>,
    listening: Listening,
    state: SignalState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalState {
    Listens,
    /// The runtime has ended, and a receive has returned that.
    Ended,
}

/// Listens to a signal. From now on it does not have its usual effect, and every signal is
/// received.
///
/// # Errors
///
/// `InvalidInput` for signals that no process can handle (SIGKILL, SIGSTOP), for faults (SIGSEGV,
/// SIGBUS, SIGFPE, SIGILL), and for numbers that are not signals. Other errors if the OS is out of
/// descriptors, if the runtime is ending, and if listeners have replaced eight different handlers
/// of the signal before.
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
#[doc(alias("Notify", "signal.Notify"))]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    listen(kind, Listening::begin)
}

/// Creates a listener by `begin`.
fn listen(
    kind: SignalKind,
    begin: impl FnOnce(SignalKind) -> io::Result<(Listening, u64)>,
) -> io::Result<Signal> {
    let index = kind.index()?;
    let bell = Fd::new(handler::bell()?.listen()?, Trust::WouldBlock)?;
    let (listening, seen) = begin(kind)?;
    Ok(Signal { kind, index, seen, bell, listening, state: SignalState::Listens })
}

/// Waits for Ctrl-C (SIGINT) once. Listens from the call on, before it is awaited.
///
/// After it has returned, the previous action is restored, if there is no other listener. So a
/// second Ctrl-C ends a process that hangs in its clean-up.
///
/// # Errors
///
/// As [`signal`].
///
/// # Cancel safety
///
/// Cancel-safe. If it is dropped before Ctrl-C comes, as in a loop of `select!` whose other case is
/// chosen, Ctrl-C is kept: it does not end the process, and the next call of `ctrl_c` returns at
/// once. If Ctrl-C comes twice while nothing waits for it, the second one has its previous effect
/// and usually ends the process. So a program that never calls `ctrl_c` again can be stopped. A
/// program that must not be stopped creates one [`signal`] before its loop. (Tokio: Ctrl-C has no
/// effect after the first call, for the rest of the process.)
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
    let listener = listen(SignalKind::interrupt(), Listening::begin_kept);
    let listener = listener.map(|listener| Unheard(Some(listener)));
    async { listener?.wait().await }
}

/// Waits for a request to end the process once: SIGINT, which is Ctrl-C, or SIGTERM. Returns the
/// one that comes first.
///
/// Listens from the call on, before it is awaited. After it has returned, the previous actions are
/// restored, if there are no other listeners.
///
/// # Errors
///
/// As [`signal`].
///
/// # Cancel safety
///
/// As [`ctrl_c`], for each of the two signals.
///
/// # Examples
///
/// ```no_run
/// # gmp_rt::block_on(async {
/// let kind = gmp_net::signal::shutdown().await?;
/// println!("ends because of {kind}");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
pub fn shutdown() -> impl Future<Output = io::Result<SignalKind>> + Send + Sync + use<> {
    let listener = |kind| listen(kind, Listening::begin_kept).map(|it| Unheard(Some(it)));
    let listeners = listener(SignalKind::interrupt())
        .and_then(|interrupt| Ok((interrupt, listener(SignalKind::terminate())?)));
    async {
        let (mut interrupt, mut terminate) = listeners?;
        let first = match select(pin!(interrupt.recv()), pin!(terminate.recv())).await {
            Either::Left((received, _)) => received.map(|()| SignalKind::interrupt()),
            Either::Right((received, _)) => received.map(|()| SignalKind::terminate()),
        };
        let ended = first.ok_or(crate::RuntimeEnded);
        // Neither of them is kept for a later call.
        interrupt.end();
        terminate.end();
        Ok(ended?)
    }
}

/// A listener for one signal. If it is dropped before the signal comes, the signal is kept.
struct Unheard(Option<Signal>);

impl Unheard {
    async fn wait(mut self) -> io::Result<()> {
        let received = match &mut self.0 {
            Some(listener) => listener.recv().await,
            None => None,
        };
        let listener = self.0.take();
        received.ok_or(crate::RuntimeEnded)?;
        if let Some(Signal { listening, .. }) = listener {
            listening.heard();
        }
        Ok(())
    }
}

impl Unheard {
    async fn recv(&mut self) -> Option<()> {
        self.0.as_mut()?.recv().await
    }

    /// Ends the listener. The signal is not kept.
    fn end(&mut self) {
        if let Some(Signal { listening, .. }) = self.0.take() {
            listening.heard();
        }
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        if let Some(Signal { listening, seen, .. }) = self.0.take() {
            listening.keep(seen);
        }
    }
}

impl Signal {
    /// Waits until the signal has come since the last call. Returns `None` if the runtime in which
    /// the listener was created has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait misses no signal.
    pub async fn recv(&mut self) -> Option<()> {
        /// Leaves the waiter list on drop.
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

    /// Polls for a signal, as [`recv`](Self::recv), for a hand-written future.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_with(&mut Ticket::POLL.clone(), cx)
    }

    /// Returns the signal that it listens to.
    #[must_use]
    pub fn kind(&self) -> SignalKind {
        self.kind
    }

    /// Returns the descriptor with an event for each signal.
    pub(crate) fn bell(&self) -> &Fd<OwnedFd> {
        &self.bell
    }

    /// Receives the signals that have come, for a task that waits for an event of the bell itself.
    pub(crate) fn catch_up(&mut self) {
        let count = handler::count(self.index);
        if count != self.seen {
            self.receive(count);
        }
    }

    /// Records that the listener has received a signal.
    fn receive(&mut self, count: u64) {
        self.seen = count;
        if let Ok(bell) = handler::bell() {
            bell.heard();
        }
    }

    fn poll_with(&mut self, ticket: &mut Ticket, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let (seen, index) = (self.seen, self.index);
        let polled =
            self.bell.poll_io(Direction::Read, ticket, cx, |_| match handler::count(index) {
                count if count == seen => Err(ErrorKind::WouldBlock.into()),
                count => Ok((count, Left::Maybe)),
            });
        match polled {
            Poll::Ready(Ok(count)) => {
                self.receive(count);
                Poll::Ready(Some(()))
            }
            Poll::Ready(Err(_)) => {
                self.state = SignalState::Ended;
                Poll::Ready(None)
            }
            Poll::Pending => {
                note_wait(cx, WaitReason::Signal, self.index);
                Poll::Pending
            }
        }
    }
}

/// Ends only with the runtime in which the listener was created.
impl Stream for Signal {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_recv(cx)
    }
}

impl FusedStream for Signal {
    fn is_terminated(&self) -> bool {
        self.state == SignalState::Ended
    }
}

/// The descriptor becomes readable when any signal comes. It is for `poll` only: its content
/// belongs to this crate.
impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl AsRawFd for Signal {
    fn as_raw_fd(&self) -> RawFd {
        self.bell.as_fd().as_raw_fd()
    }
}
