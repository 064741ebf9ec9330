//! hyper on gmp: its traits for sockets and for wrapped sockets, an executor and a timer.
//!
//! # Examples
//!
//! ```no_run
//! use gmp_net::TcpListener;
//! use gmp_net::compat::hyper::Timer;
//! use hyper::body::Incoming;
//! use hyper::server::conn::http1;
//! use hyper::service::service_fn;
//! use hyper::{Request, Response};
//! use std::convert::Infallible;
//!
//! async fn hello(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
//!     Ok(Response::new("Hello!".to_owned()))
//! }
//!
//! # async fn serve() -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:8080").await?;
//! loop {
//!     let (stream, _peer) = listener.accept().await?;
//!     let mut http = http1::Builder::new();
//!     gmp_rt::spawn(http.timer(Timer).serve_connection(stream, service_fn(hello)));
//! }
//! # }
//! ```

mod futures_io;

pub use self::futures_io::FuturesIo;

use crate::compat::uninit;
use crate::fd::Direction;
use crate::{TcpStream, UnixStream};
use hyper::rt::{ReadBufCursor, Sleep};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

macro_rules! streams {
    ($($type:ty),*) => {$(
        impl hyper::rt::Read for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                mut buf: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: the OS only writes to it.
                let spare = unsafe { buf.as_mut() };
                let n = ready!(self.poll_op(Direction::Read, cx, |io| uninit::read(io, spare)))?;
                // SAFETY: the OS has initialised `n` bytes.
                unsafe { buf.advance(n) };
                Poll::Ready(Ok(()))
            }
        }

        impl hyper::rt::Write for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_ref(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_vectored_ref(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.finish())
            }
        }
    )*};
}

streams!(TcpStream, UnixStream);

/// Runs hyper's background tasks as goroutines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(gmp_rt::spawn(future));
    }
}

/// gmp's timers for hyper. Resetting a sleep reuses its timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

/// A sleep with hyper's trait.
struct TimerSleep(gmp_rt::time::Sleep);

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl Sleep for TimerSleep {}

impl hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(TimerSleep(gmp_rt::sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(TimerSleep(gmp_rt::sleep_until(deadline)))
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<TimerSleep>() {
            Some(mut ours) => ours.0.reset_at(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}
