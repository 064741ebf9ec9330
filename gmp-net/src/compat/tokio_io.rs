//! tokio's traits for reads and writes, for crates that need them. tokio's runtime is not used.

use crate::compat::uninit;
use crate::fd::Direction;
use crate::{Async, TcpStream, UnixStream, tcp, unix};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

macro_rules! read {
    ($($type:ty $(, $get_mut:ident)?;)*) => {$(
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: the OS only writes to it.
                let spare = unsafe { buf.unfilled_mut() };
                let n = ready!(self$(.$get_mut().as_ref())?.poll_op(Direction::Read, cx, |io| uninit::read(io, spare)))?;
                // SAFETY: the OS has initialised `n` bytes.
                unsafe { buf.assume_init(n) };
                buf.advance(n);
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

macro_rules! write {
    ($($type:ty $(, $get_mut:ident)?;)*) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self$(.$get_mut().as_ref())?.poll_write_ref(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self$(.$get_mut().as_ref())?.poll_write_vectored_ref(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self$(.$get_mut().as_ref())?.finish())
            }
        }
    )*};
}

read!(TcpStream; UnixStream; &TcpStream; &UnixStream;);
read!(tcp::ReadHalf<'_>, get_mut; tcp::OwnedReadHalf, get_mut;);
read!(unix::ReadHalf<'_>, get_mut; unix::OwnedReadHalf, get_mut;);
write!(TcpStream; UnixStream; &TcpStream; &UnixStream;);
write!(tcp::WriteHalf<'_>, get_mut; tcp::OwnedWriteHalf, get_mut;);
write!(unix::WriteHalf<'_>, get_mut; unix::OwnedWriteHalf, get_mut;);

impl<T: AsFd> AsyncRead for Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The memory is initialised, because `T` may read it.
        let space = buf.initialize_unfilled();
        let n = ready!(self.poll_read_with(cx, |mut io| io.read(space)))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsFd> AsyncWrite for Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |mut io| io.write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_with(cx, |mut io| io.flush())
    }

    /// Flushes. Only a drop closes a descriptor of an unknown kind.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
