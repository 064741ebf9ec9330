//! Conversions between sockets, those of std, and descriptors.
//!
//! A socket is registered with the netpoller when it is made. That fails without free descriptors
//! and on a runtime that has ended. So the conversions into sockets are `TryFrom`, and those out of
//! them are `From`.

use crate::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::io;
use std::os::fd::OwnedFd;

macro_rules! convert {
    ($($socket:ident: $std:ty;)*) => {$(
        impl TryFrom<$std> for $socket {
            type Error = io::Error;

            /// The same as [`from_std`](Self::from_std).
            fn try_from(socket: $std) -> io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl From<$socket> for $std {
            /// The same as `into_std`: the socket is still non-blocking.
            fn from(socket: $socket) -> Self {
                socket.into_std()
            }
        }

        impl TryFrom<OwnedFd> for $socket {
            type Error = io::Error;

            /// Makes the descriptor non-blocking and registers it with the netpoller. The caller
            /// ensures that it is a socket of this kind.
            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                Self::from_std(fd.into())
            }
        }

        impl From<$socket> for OwnedFd {
            /// Removes the descriptor from the netpoller. It is still non-blocking.
            fn from(socket: $socket) -> Self {
                socket.into_std().into()
            }
        }
    )*};
}

convert! {
    TcpListener: std::net::TcpListener;
    TcpStream: std::net::TcpStream;
    UdpSocket: std::net::UdpSocket;
    UnixDatagram: std::os::unix::net::UnixDatagram;
    UnixListener: std::os::unix::net::UnixListener;
    UnixStream: std::os::unix::net::UnixStream;
}
