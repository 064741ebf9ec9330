//! Unix domain sockets: streams and datagrams by path or abstract name, also re-exported in the
//! crate root, and the halves of a stream.

#[cfg(target_os = "linux")]
mod cred;
mod datagram;
mod half;
mod listener;
mod stream;

#[cfg(target_os = "linux")]
pub use self::cred::UCred;
pub use self::datagram::UnixDatagram;
pub use self::half::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::listener::{Incoming, UnixListener};
pub use self::stream::UnixStream;
