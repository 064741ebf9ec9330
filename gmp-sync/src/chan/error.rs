//! Errors of channels. Errors of a send return the value.

use std::fmt;
use std::io;

macro_rules! with_value {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum $name<T> {
            $($(#[$vdoc])* $variant(T),)+
        }

        impl<T> $name<T> {
            /// Returns the value that was not sent.
            #[must_use]
            pub fn into_inner(self) -> T {
                match self {
                    $(Self::$variant(value) => value,)+
                }
            }
        }

        // Without the value, which need not be `Debug`.
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(_) => f.write_str(concat!(stringify!($variant), "(..)")),)+
                }
            }
        }

        impl<T> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(_) => f.write_str($text),)+
                }
            }
        }

        impl<T> std::error::Error for $name<T> {}
    };
}

/// The channel is closed, or all receivers are dropped. Contains the value that was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> SendError<T> {
    /// Returns the value that was not sent.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("send on closed channel")
    }
}

impl<T> std::error::Error for SendError<T> {}

impl<T> From<SendError<T>> for io::Error {
    /// Returns an error of the kind [`BrokenPipe`](io::ErrorKind::BrokenPipe). Drops the value.
    fn from(_: SendError<T>) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, SendError(()))
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(SendError(value): SendError<T>) -> Self {
        Self::Closed(value)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(SendError(value): SendError<T>) -> Self {
        Self::Closed(value)
    }
}

with_value! {
    /// Why [`Sender::try_send`](super::Sender::try_send) did not send.
    TrySendError {
        /// There is no room, and no receiver waits.
        Full => "send on full channel",
        /// The channel is closed, or all receivers are dropped.
        Closed => "send on closed channel",
    }
}

with_value! {
    /// Why [`Sender::send_timeout`](super::Sender::send_timeout) did not send.
    SendTimeoutError {
        /// There was no room in time.
        Timeout => "send on full channel timed out",
        /// The channel is closed, or all receivers are dropped.
        Closed => "send on closed channel",
    }
}

macro_rules! plain {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($text),)+
                }
            }
        }

        impl std::error::Error for $name {}
    };
}

/// The channel is closed and all values have been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("receive on closed and empty channel")
    }
}

impl std::error::Error for RecvError {}

impl From<RecvError> for io::Error {
    /// Returns an error of the kind [`BrokenPipe`](io::ErrorKind::BrokenPipe).
    fn from(error: RecvError) -> Self {
        Self::new(io::ErrorKind::BrokenPipe, error)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(RecvError: RecvError) -> Self {
        Self::Closed
    }
}

plain! {
    /// Why [`Receiver::try_recv`](super::Receiver::try_recv) did not receive.
    TryRecvError {
        /// No value is available now.
        Empty => "receive on empty channel",
        /// The channel is closed and all values have been received.
        Closed => "receive on closed and empty channel",
    }
}

plain! {
    /// Why [`Receiver::recv_timeout`](super::Receiver::recv_timeout) did not receive.
    RecvTimeoutError {
        /// No value arrived in time.
        Timeout => "receive on empty channel timed out",
        /// The channel is closed and all values have been received.
        Closed => "receive on closed and empty channel",
    }
}
