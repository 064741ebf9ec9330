//! A stream in memory, for tests and for layers of a protocol in one program.
//!
//! Each of its two directions is a buffer behind a lock. A stream has one reader and one writer,
//! because both traits borrow it exclusively. So a direction stores at most two wakers.

use futures::io::{AsyncRead, AsyncWrite};
use gmp_rt::prim::fixed::{Mutex, MutexGuard};
use gmp_rt::task::park::{StorableWaker, StoredWaker, WaitReason, note_wait, poll_proceed};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What a [`Flow`] has, under its lock.
#[derive(Debug, Default)]
struct FlowState {
    bytes: VecDeque<u8>,
    /// The writer has closed the direction, or is dropped.
    is_finished: bool,
    /// The reader is dropped.
    is_abandoned: bool,
    reader: Option<StoredWaker>,
    writer: Option<StoredWaker>,
}

/// One direction of a duplex stream.
#[derive(Debug)]
struct Flow {
    capacity: usize,
    state: Mutex<FlowState>,
}

impl Flow {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { capacity, state: Mutex::new(FlowState::default()) })
    }

    /// Returns the number that a goroutine dump shows for a wait.
    fn resource(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(poll_proceed(cx));
        let waker = StorableWaker::new(cx.waker());
        let mut state = self.state.lock();
        if !state.bytes.is_empty() {
            let n = take_into(&mut state.bytes, buf);
            wake(state, |state| state.writer.take());
            return Poll::Ready(Ok(n));
        }
        if state.is_finished {
            return Poll::Ready(Ok(0));
        }
        park(state, waker, |state| &mut state.reader);
        note_wait(cx, WaitReason::DuplexRead, self.resource());
        Poll::Pending
    }

    fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(poll_proceed(cx));
        let waker = StorableWaker::new(cx.waker());
        let mut state = self.state.lock();
        if state.is_finished || state.is_abandoned {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let n = buf.len().min(self.capacity - state.bytes.len());
        if n > 0 {
            state.bytes.extend(&buf[..n]);
            wake(state, |state| state.reader.take());
            return Poll::Ready(Ok(n));
        }
        park(state, waker, |state| &mut state.writer);
        note_wait(cx, WaitReason::DuplexWrite, self.resource());
        Poll::Pending
    }

    /// The writer writes no more. The reader gets the bytes in the buffer, then the end.
    fn finish(&self) {
        let mut state = self.state.lock();
        state.is_finished = true;
        wake(state, |state| state.reader.take());
    }

    /// The reader reads no more. The writer fails.
    fn abandon(&self) {
        let mut state = self.state.lock();
        state.is_abandoned = true;
        let bytes = std::mem::take(&mut state.bytes);
        wake(state, |state| state.writer.take());
        drop(bytes);
    }
}

/// Moves bytes from the front of `bytes` to `buf`, as many as there are and as fit.
fn take_into(bytes: &mut VecDeque<u8>, buf: &mut [u8]) -> usize {
    let n = buf.len().min(bytes.len());
    let (front, back) = bytes.as_slices();
    let split = n.min(front.len());
    buf[..split].copy_from_slice(&front[..split]);
    buf[split..n].copy_from_slice(&back[..n - split]);
    bytes.drain(..n);
    n
}

/// Wakes the task that `waiter` takes out of the state, after the lock is released.
fn wake(
    mut state: MutexGuard<'_, FlowState>,
    waiter: impl FnOnce(&mut FlowState) -> Option<StoredWaker>,
) {
    let waiter = waiter(&mut state);
    drop(state);
    if let Some(waiter) = waiter {
        waiter.wake();
    }
}

/// Stores `waker` in `place`. Drops the previous one after the lock is released.
fn park(
    mut state: MutexGuard<'_, FlowState>,
    mut waker: StorableWaker<'_>,
    place: impl FnOnce(&mut FlowState) -> &mut Option<StoredWaker>,
) {
    let replaced = place(&mut state).replace(waker.store());
    drop(state);
    drop(replaced);
}

/// One end of a stream in memory. Created by [`duplex`].
///
/// What is written to one end is read from the other. A write to a full buffer waits. Dropping an
/// end, or [`close`](futures::io::AsyncWriteExt::close) on it, is the end of the stream for the
/// other one, which first reads the bytes in the buffer. After an end is dropped, a write to the
/// other one returns the error `BrokenPipe`.
///
/// To read and write in different goroutines, use [`split`](super::split()).
///
/// # Cancel safety
///
/// A dropped read has taken nothing, and a dropped write has written nothing.
pub struct DuplexStream {
    incoming: Arc<Flow>,
    outgoing: Arc<Flow>,
}

/// Creates a stream in memory (Go: `net.Pipe`) and returns its two ends.
///
/// Each direction has a buffer of `capacity` bytes. Memory is allocated as the buffers fill.
///
/// # Panics
///
/// If `capacity` is 0: no write could ever finish.
///
/// # Examples
///
/// ```
/// use gmp_net::io::{AsyncReadExt, AsyncWriteExt, duplex};
///
/// # gmp_rt::block_on(async {
/// let (mut client, mut server) = duplex(64);
/// client.write_all(b"ping").await?;
/// client.close().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "ping");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[doc(alias("net.Pipe", "io.Pipe"))]
#[must_use]
#[track_caller]
pub fn duplex(capacity: usize) -> (DuplexStream, DuplexStream) {
    assert!(capacity > 0, "a duplex stream needs a capacity of at least one byte");
    let (one, other) = (Flow::new(capacity), Flow::new(capacity));
    let first = DuplexStream { incoming: one.clone(), outgoing: other.clone() };
    (first, DuplexStream { incoming: other, outgoing: one })
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuplexStream")
            .field("capacity", &self.incoming.capacity)
            .finish_non_exhaustive()
    }
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.incoming.poll_read(cx, buf)
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.outgoing.poll_write(cx, buf)
    }

    /// Does nothing: the other end can read all bytes already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Finishes writing: the other end reads the end of the stream after the bytes in the buffer.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.finish();
        Poll::Ready(Ok(()))
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        self.outgoing.finish();
        self.incoming.abandon();
    }
}
