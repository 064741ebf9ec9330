//! The two halves of a connection.

use super::TcpStream;
use crate::stream::{futures_read, futures_write};
use futures::io::{AsyncRead, AsyncWrite};
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The reading half of a borrowed [`TcpStream`]. All calls of the stream are there.
#[derive(Debug)]
pub struct ReadHalf<'a>(pub(super) &'a TcpStream);

/// The writing half of a borrowed [`TcpStream`]. All calls of the stream are there.
#[derive(Debug)]
pub struct WriteHalf<'a>(pub(super) &'a TcpStream);

impl Deref for ReadHalf<'_> {
    type Target = TcpStream;
    fn deref(&self) -> &TcpStream {
        self.0
    }
}

impl Deref for WriteHalf<'_> {
    type Target = TcpStream;
    fn deref(&self) -> &TcpStream {
        self.0
    }
}

/// The reading half of a [`TcpStream`]. All calls of the stream are there.
///
/// # Examples
///
/// ```
/// # use gmp_net::{TcpListener, TcpStream};
/// # gmp_rt::block_on(async {
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let addr = listener.local_addr()?;
/// # gmp_rt::spawn(async move {
/// #     let (stream, _) = listener.accept().await?;
/// #     let mut line = [0; 4];
/// #     stream.read_exact(&mut line).await?;
/// #     stream.write_all(&line).await
/// # });
/// let (reader, writer) = TcpStream::connect(addr).await?.into_split();
/// gmp_rt::spawn(async move { writer.write_all(b"ping").await });
/// let mut answer = [0; 4];
/// reader.read_exact(&mut answer).await?;
/// assert_eq!(&answer, b"ping");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<TcpStream>);

/// The writing half of a [`TcpStream`]. All calls of the stream are there.
///
/// Dropping it finishes writing: for the other end, that is the end of the stream.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<TcpStream>,
    on_drop: OnDrop,
}

/// What dropping the writing half does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDrop {
    Finish,
    Nothing,
}

/// The halves of `stream`.
pub(super) fn owned(stream: TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(stream.clone()), OwnedWriteHalf { stream, on_drop: OnDrop::Finish })
}

impl OwnedReadHalf {
    /// Puts the halves together again.
    ///
    /// # Errors
    ///
    /// Gives both back if they are not of the same stream.
    pub fn reunite(self, write: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &write.stream) {
            return Err(ReuniteError(self, write));
        }
        write.forget();
        Ok(Arc::try_unwrap(self.0).expect("a stream has two halves, and both are here"))
    }
}

impl OwnedWriteHalf {
    /// Drops it without finishing: the connection stays open for writing until the other half is dropped.
    pub fn forget(mut self) {
        self.on_drop = OnDrop::Nothing;
    }

    /// [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    ///
    /// Gives both back if they are not of the same stream.
    pub fn reunite(self, read: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        read.reunite(self)
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.on_drop == OnDrop::Finish {
            // The connection may be gone already.
            let _ = self.stream.finish();
        }
    }
}

impl Deref for OwnedReadHalf {
    type Target = TcpStream;
    fn deref(&self) -> &TcpStream {
        &self.0
    }
}

impl Deref for OwnedWriteHalf {
    type Target = TcpStream;
    fn deref(&self) -> &TcpStream {
        &self.stream
    }
}

futures_read!(ReadHalf<'_>, 0);
futures_write!(WriteHalf<'_>, 0);
futures_read!(OwnedReadHalf, 0);
futures_write!(OwnedWriteHalf, stream);

/// Two halves that are not of the same stream.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are of different streams")
    }
}

impl std::error::Error for ReuniteError {}
