//! Which types may cross a `catch_unwind`.
//!
//! The state of a descriptor is in atomics and behind locks under which no user code runs. So it is
//! consistent after a panic.

use crate::io::{Stderr, Stdin, StdinLines, Stdout};
use crate::signal::Signal;
use crate::{AddrErrors, Async, tcp, unix};
use crate::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::os::fd::AsFd;
use std::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! unwind_safe {
    ($($type:ty,)*) => {$(
        impl UnwindSafe for $type {}
        impl RefUnwindSafe for $type {}
    )*};
}

// The halves of a stream refer to it, and are safe because it is.
unwind_safe! {
    TcpListener, TcpStream, tcp::Incoming<'_>,
    UdpSocket, UnixDatagram, UnixListener, UnixStream, unix::Incoming<'_>,
    Signal, Stdin, StdinLines, Stdout, Stderr,
    // The errors in it are only read.
    AddrErrors,
}

impl<T: AsFd + UnwindSafe> UnwindSafe for Async<T> {}
impl<T: AsFd + RefUnwindSafe> RefUnwindSafe for Async<T> {}
