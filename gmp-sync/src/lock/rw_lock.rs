//! `RwLock`: a value with shared access for readers or exclusive access for one writer.
//!
//! [`RawRwLock`] is the lock and describes the algorithm. This file has the value and the futures.
//!
//! # Invariants
//!
//! - I1: only holders of the read lock read the value. Only the holder of the write lock, or of
//!   exclusive access to the `RwLock`, changes it.

use crate::const_fn::const_fn;
use crate::lock::raw_rw_lock::{AsRawRw, RawRead, RawRwLock, RawWrite};
use crate::lock::rw_lock_guard::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use futures::future::FusedFuture;
use gmp_rt::task::park::{WaitReason, note_wait};
use pin_project_lite::pin_project;
use std::cell::UnsafeCell;
use std::fmt;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A lock that many readers or one writer can hold (Go: `sync.RWMutex`).
///
/// As in Go, a waiting writer blocks new readers, so a steady stream of readers does not starve it.
/// When it unlocks, all blocked readers get the lock before the next writer.
///
/// A goroutine must not take a second read lock while it holds one. A writer between the two waits
/// for the first, and the second waits for the writer.
///
/// There is no poisoning: see [`Mutex`](crate::Mutex).
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::RwLock;
///
/// static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
///
/// gmp_rt::block_on(async {
///     NAMES.write().await.push("gopher");
///     let names = NAMES.read().await;
///     assert_eq!(names[0], "gopher");
///     assert!(NAMES.try_read().is_some());
///     assert!(NAMES.try_write().is_none());
/// });
/// ```
#[doc(alias("RWMutex", "RwMutex"))]
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: as `T`, which moves with the lock. A clone of an `Rc` inside could stay behind.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: I1 — the value moves between threads, so it must be `Send`. Several threads read it at
// the same time, so it must be `Sync`: two readers could set a `Cell`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    const_fn! {
        /// Creates an unlocked lock.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
        }
    }

    /// Returns the value. No guard can exist any more.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds or waits for the lock, and takes the read lock (Go: `RLock`).
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. If the dropped future already had the lock, it releases it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let lock = sync::RwLock::new(1);
    /// gmp_rt::block_on(async {
    ///     assert_eq!(*lock.read().await, 1);
    /// });
    /// ```
    #[doc(alias("RLock", "rlock"))]
    #[inline]
    pub fn read(&self) -> ReadLock<'_, T> {
        ReadLock { lock: Some(self), read: RawRead::new() }
    }

    /// Waits until the lock is free and takes the write lock (Go: `Lock`).
    ///
    /// New readers are blocked while it waits for the current readers.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. If the future is dropped, the readers that it blocked get the lock, and the
    /// next writer can take it. The future loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let lock = sync::RwLock::new(1);
    /// gmp_rt::block_on(async {
    ///     *lock.write().await += 1;
    /// });
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[doc(alias = "wlock")]
    #[inline]
    pub fn write(&self) -> WriteLock<'_, T> {
        WriteLock { lock: Some(self), write: RawWrite::new() }
    }

    /// As [`read`](Self::read), with a guard that owns an `Arc` and is not bound to a borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`read`](Self::read).
    pub fn read_owned(self: Arc<Self>) -> ReadLockOwned<T> {
        ReadLockOwned { lock: Some(self), read: RawRead::new() }
    }

    /// As [`write`](Self::write), with a guard that owns an `Arc` and is not bound to a borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`write`](Self::write).
    pub fn write_owned(self: Arc<Self>) -> WriteLockOwned<T> {
        WriteLockOwned { lock: Some(self), write: RawWrite::new() }
    }

    /// Takes the read lock if no writer has it or waits for readers to unlock.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.raw.try_read().then(|| RwLockReadGuard::new(self))
    }

    /// Takes the write lock if the lock is free.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.raw.try_write().then(|| RwLockWriteGuard::new(self))
    }

    /// As [`try_read`](Self::try_read), with a guard that owns an `Arc`.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_read_owned(self: Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        self.raw.try_read().then(|| OwnedRwLockReadGuard::new(self))
    }

    /// As [`try_write`](Self::try_write), with a guard that owns an `Arc`.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_write_owned(self: Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        self.raw.try_write().then(|| OwnedRwLockWriteGuard::new(self))
    }

    /// As [`read`](Self::read), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_read")]
    pub fn read_blocking(&self) -> RwLockReadGuard<'_, T> {
        self.try_read().unwrap_or_else(|| gmp_rt::block_on(self.read()))
    }

    /// As [`write`](Self::write), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_write")]
    pub fn write_blocking(&self) -> RwLockWriteGuard<'_, T> {
        self.try_write().unwrap_or_else(|| gmp_rt::block_on(self.write()))
    }

    /// As [`read_blocking`](Self::read_blocking), with a guard that owns an `Arc`.
    #[doc(alias = "blocking_read_owned")]
    pub fn read_owned_blocking(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        if self.raw.try_read() {
            return OwnedRwLockReadGuard::new(self);
        }
        gmp_rt::block_on(self.read_owned())
    }

    /// As [`write_blocking`](Self::write_blocking), with a guard that owns an `Arc`.
    #[doc(alias = "blocking_write_owned")]
    pub fn write_owned_blocking(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        if self.raw.try_write() {
            return OwnedRwLockWriteGuard::new(self);
        }
        gmp_rt::block_on(self.write_owned())
    }

    /// Returns the value without locking. The exclusive borrow excludes guards.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether the lock is held, or a writer waits for readers to unlock.
    ///
    /// The result may be outdated at once.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the lock without the value.
    pub(crate) fn raw(&self) -> &RawRwLock {
        &self.raw
    }

    /// Returns a pointer to the value, for holders of the lock (I1).
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }

    /// Returns the address that dumps show.
    fn addr(&self) -> usize {
        ptr::from_ref(self).cast::<()>().addr()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Some(guard) => shown.field("value", &&*guard),
            None => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

// SAFETY: a borrowed lock is not moved.
unsafe impl<T: ?Sized> AsRawRw for &RwLock<T> {
    fn raw(&self) -> &RawRwLock {
        &self.raw
    }
}

// SAFETY: a lock in an `Arc` is not moved.
unsafe impl<T: ?Sized> AsRawRw for Arc<RwLock<T>> {
    fn raw(&self) -> &RawRwLock {
        &self.raw
    }
}

pin_project! {
    /// The future of [`RwLock::read`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReadLock<'a, T: ?Sized> {
        // `None` once it has returned.
        lock: Option<&'a RwLock<T>>,
        #[pin]
        read: RawRead<&'a RwLock<T>>,
    }
}

impl<'a, T: ?Sized> Future for ReadLock<'a, T> {
    type Output = RwLockReadGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let lock = this.lock.expect("polled again after it had the lock");
        if this.read.poll_read(&lock, cx).is_ready() {
            *this.lock = None;
            return Poll::Ready(RwLockReadGuard::new(lock));
        }
        note_wait(cx, WaitReason::RwLockRead, lock.addr());
        Poll::Pending
    }
}

impl<T: ?Sized> FusedFuture for ReadLock<'_, T> {
    fn is_terminated(&self) -> bool {
        self.lock.is_none()
    }
}

pin_project! {
    /// The future of [`RwLock::write`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WriteLock<'a, T: ?Sized> {
        // `None` once it has returned.
        lock: Option<&'a RwLock<T>>,
        #[pin]
        write: RawWrite<&'a RwLock<T>>,
    }
}

impl<'a, T: ?Sized> Future for WriteLock<'a, T> {
    type Output = RwLockWriteGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let lock = this.lock.expect("polled again after it had the lock");
        if this.write.poll_write(&lock, cx).is_ready() {
            *this.lock = None;
            return Poll::Ready(RwLockWriteGuard::new(lock));
        }
        note_wait(cx, WaitReason::RwLockWrite, lock.addr());
        Poll::Pending
    }
}

impl<T: ?Sized> FusedFuture for WriteLock<'_, T> {
    fn is_terminated(&self) -> bool {
        self.lock.is_none()
    }
}

pin_project! {
    /// The future of [`RwLock::read_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReadLockOwned<T: ?Sized> {
        // Moves into the guard.
        lock: Option<Arc<RwLock<T>>>,
        #[pin]
        read: RawRead<Arc<RwLock<T>>>,
    }
}

impl<T: ?Sized> Future for ReadLockOwned<T> {
    type Output = OwnedRwLockReadGuard<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let lock = this.lock.as_ref().expect("polled again after it had the lock");
        if this.read.poll_read(lock, cx).is_pending() {
            note_wait(cx, WaitReason::RwLockRead, lock.addr());
            return Poll::Pending;
        }
        Poll::Ready(OwnedRwLockReadGuard::new(this.lock.take().expect("looked at above")))
    }
}

impl<T: ?Sized> FusedFuture for ReadLockOwned<T> {
    fn is_terminated(&self) -> bool {
        self.lock.is_none()
    }
}

pin_project! {
    /// The future of [`RwLock::write_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WriteLockOwned<T: ?Sized> {
        // Moves into the guard.
        lock: Option<Arc<RwLock<T>>>,
        #[pin]
        write: RawWrite<Arc<RwLock<T>>>,
    }
}

impl<T: ?Sized> Future for WriteLockOwned<T> {
    type Output = OwnedRwLockWriteGuard<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let lock = this.lock.as_ref().expect("polled again after it had the lock");
        if this.write.poll_write(lock, cx).is_pending() {
            note_wait(cx, WaitReason::RwLockWrite, lock.addr());
            return Poll::Pending;
        }
        Poll::Ready(OwnedRwLockWriteGuard::new(this.lock.take().expect("looked at above")))
    }
}

impl<T: ?Sized> FusedFuture for WriteLockOwned<T> {
    fn is_terminated(&self) -> bool {
        self.lock.is_none()
    }
}
