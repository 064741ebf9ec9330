//! The signals that a program can listen to.

use std::fmt;
use std::io;

/// A signal of the OS, for [`signal`](super::signal).
///
/// # Examples
///
/// ```
/// use gmp_net::signal::SignalKind;
///
/// assert_eq!(SignalKind::terminate().as_raw(), 15);
/// assert_eq!(SignalKind::from_raw(15), SignalKind::terminate());
/// assert_eq!(SignalKind::terminate().to_string(), "SIGTERM");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(libc::c_int);

/// Defines a constructor for each common signal, and its name.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $signal:ident;)*) => {
        impl SignalKind {
            $($(#[$doc])*
            #[must_use]
            pub const fn $name() -> Self {
                Self(libc::$signal)
            })*

            fn name(self) -> Option<&'static str> {
                match self.0 {
                    $(libc::$signal => Some(stringify!($signal)),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// SIGALRM: a timer of the process expired.
    alarm = SIGALRM;
    /// SIGCHLD: a child process stopped or ended.
    child = SIGCHLD;
    /// SIGHUP: the terminal is gone. For a service it usually means "reload the configuration".
    hangup = SIGHUP;
    /// SIGINT: Ctrl-C.
    interrupt = SIGINT;
    /// SIGIO: a descriptor is ready.
    io = SIGIO;
    /// SIGPIPE: a write to a pipe without readers. Rust programs ignore it by default.
    pipe = SIGPIPE;
    /// SIGQUIT: Ctrl-\\. A listener replaces the goroutine dump of `#[gmp::main]`.
    quit = SIGQUIT;
    /// SIGTERM: a request to end.
    terminate = SIGTERM;
    /// SIGUSR1.
    user_defined1 = SIGUSR1;
    /// SIGUSR2.
    user_defined2 = SIGUSR2;
    /// SIGWINCH: the size of the terminal changed.
    window_change = SIGWINCH;
}

impl SignalKind {
    /// Returns the signal with this number. [`signal`](super::signal) checks whether a program can
    /// listen to it.
    #[must_use]
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// Returns the number of the signal.
    #[must_use]
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    /// Returns the index of the signal in a table, or an error if no program can listen to it.
    pub(super) fn index(self) -> io::Result<usize> {
        let no =
            |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{self}: {why}")));
        match self.0 {
            libc::SIGKILL | libc::SIGSTOP => no("no process can handle this signal"),
            libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL => {
                no("a fault of the program, which cannot go on after it: not a signal to listen to")
            }
            number => match usize::try_from(number) {
                Ok(index @ 1..=MAX) => Ok(index),
                _ => no("there is no such signal"),
            },
        }
    }
}

impl From<i32> for SignalKind {
    fn from(number: i32) -> Self {
        Self::from_raw(number)
    }
}

impl From<SignalKind> for i32 {
    fn from(kind: SignalKind) -> Self {
        kind.as_raw()
    }
}

/// The largest signal number on all systems.
pub(super) const MAX: usize = 127;

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}
