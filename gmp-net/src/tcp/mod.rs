//! TCP: the sockets, also re-exported in the crate root, and the halves of a connection.

mod connect;
mod half;
mod listener;
mod socket;
mod stream;

pub use self::half::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::listener::{Incoming, TcpListener};
pub use self::socket::TcpSocket;
pub use self::stream::TcpStream;
