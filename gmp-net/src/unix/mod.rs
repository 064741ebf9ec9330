//! Sockets of this host: streams and datagrams by path or abstract name.

mod datagram;
mod listener;
mod stream;

pub use self::datagram::UnixDatagram;
pub use self::listener::UnixListener;
pub use self::stream::UnixStream;
