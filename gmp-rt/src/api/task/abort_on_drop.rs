//! `AbortOnDrop`: a handle whose goroutine ends with it.

use crate::g::join::{JoinError, JoinHandle};
use futures_core::FusedFuture;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A handle on a goroutine that is aborted when the handle is dropped.
///
/// From [`JoinHandle::abort_on_drop`]. Awaiting it returns the output, as with a [`JoinHandle`],
/// whose methods it has too. A drop does not wait until the goroutine has ended.
///
/// # Cancel safety
///
/// Polling takes `&mut`, so `&mut handle` can be awaited in a select and again later. A future that
/// owns the handle aborts the goroutine when it is dropped.
///
/// # Panics
///
/// If it is awaited again after it has returned the output.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn(std::future::pending::<()>()).abort_on_drop();
/// let watch = handle.abort_handle();
/// drop(handle);
/// while !watch.is_finished() {
///     gmp::block_on(gmp::yield_now());
/// }
/// ```
#[derive(Debug)]
#[must_use = "a drop aborts the goroutine"]
#[doc(alias = "AbortOnDropHandle")]
pub struct AbortOnDrop<T> {
    handle: JoinHandle<T>,
}

impl<T> AbortOnDrop<T> {
    /// Returns the plain handle. The goroutine continues to run when that one is dropped.
    pub fn detach(mut self) -> JoinHandle<T> {
        self.handle.take()
    }
}

impl<T> JoinHandle<T> {
    /// Returns a handle that aborts the goroutine when it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use std::time::Duration;
    ///
    /// let slow = gmp::spawn(std::future::pending::<()>());
    /// let abort = slow.abort_handle();
    /// // The timeout owns the handle, so the goroutine ends with it.
    /// let limit = Duration::from_millis(1);
    /// assert!(gmp::block_on(gmp::timeout(limit, slow.abort_on_drop())).is_err());
    /// while !abort.is_finished() {
    ///     gmp::block_on(gmp::yield_now());
    /// }
    /// ```
    pub fn abort_on_drop(self) -> AbortOnDrop<T> {
        AbortOnDrop { handle: self }
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

impl<T> Deref for AbortOnDrop<T> {
    type Target = JoinHandle<T>;

    fn deref(&self) -> &JoinHandle<T> {
        &self.handle
    }
}

impl<T> DerefMut for AbortOnDrop<T> {
    fn deref_mut(&mut self) -> &mut JoinHandle<T> {
        &mut self.handle
    }
}

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(cx)
    }
}

impl<T> FusedFuture for AbortOnDrop<T> {
    fn is_terminated(&self) -> bool {
        self.handle.is_terminated()
    }
}
