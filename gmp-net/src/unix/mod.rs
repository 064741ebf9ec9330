//! Sockets of this host: streams and datagrams by path or abstract name.

#[cfg(target_os = "linux")]
mod cred;
mod datagram;
mod listener;
mod stream;

#[cfg(target_os = "linux")]
pub use self::cred::UCred;
pub use self::datagram::UnixDatagram;
pub use self::listener::UnixListener;
pub use self::stream::UnixStream;
