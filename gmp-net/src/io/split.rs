//! Two halves of any stream.

use futures::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadHalf, WriteHalf};

/// Splits a stream into a half to read and a half to write, for different goroutines.
///
/// It is for streams without halves of their own, such as a [`DuplexStream`](super::DuplexStream)
/// or a TLS stream: the halves share the stream by a lock, which each poll takes.
/// [`TcpStream`](crate::TcpStream) and [`UnixStream`](crate::UnixStream) have `into_split`, whose
/// halves need no lock.
///
/// Dropping the writing half does not finish the stream: close it. The stream is dropped with its
/// second half. `reunite` returns it.
///
/// # Examples
///
/// ```
/// use gmp_net::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # gmp_rt::block_on(async {
/// let (near, far) = duplex(64);
/// let (mut reader, mut writer) = split(near);
/// let echo = gmp_rt::spawn(async move {
///     let (from, mut to) = split(far);
///     gmp_net::io::copy(&mut { from }, &mut to).await?;
///     to.close().await
/// });
/// writer.write_all(b"ping").await?;
/// writer.close().await?;
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "ping");
/// echo.await.unwrap()
/// # }).unwrap();
/// ```
pub fn split<S: AsyncRead + AsyncWrite>(stream: S) -> (ReadHalf<S>, WriteHalf<S>) {
    stream.split()
}
