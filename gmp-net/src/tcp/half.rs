//! The two halves of a TCP connection.
//!
//! # Examples
//!
//! ```
//! # use gmp_net::{TcpListener, TcpStream};
//! # gmp_rt::block_on(async {
//! # let listener = TcpListener::bind("127.0.0.1:0").await?;
//! # let addr = listener.local_addr()?;
//! # gmp_rt::spawn(async move {
//! #     let (stream, _) = listener.accept().await?;
//! #     let mut line = [0; 4];
//! #     stream.read_exact(&mut line).await?;
//! #     stream.write_all(&line).await
//! # });
//! let (reader, writer) = TcpStream::connect(addr).await?.into_split();
//! gmp_rt::spawn(async move { writer.write_all(b"ping").await });
//! let mut answer = [0; 4];
//! reader.read_exact(&mut answer).await?;
//! assert_eq!(&answer, b"ping");
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```

use super::TcpStream;
use crate::half_macros::halves;
use futures::io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll};

halves!(TcpStream, std::net::SocketAddr);

impl ReadHalf<'_> {
    /// Receives without removing the bytes: the next read returns them again.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.peek(buf).await
    }
}

impl OwnedReadHalf {
    /// Receives without removing the bytes: the next read returns them again.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.peek(buf).await
    }
}
