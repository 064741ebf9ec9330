//! `RwLock`: a value that many may read, or one may change.
//!
//! The lock is [`RawRwLock`], which says how it works; here are the value and the futures.
//!
//! # Invariants
//!
//! - I1: the value is read by readers inside the lock, and changed by a writer inside, or by whoever
//!   has the lock exclusively.

use crate::const_fn::const_fn;
use crate::raw_rw_lock::{AsRawRw, RawRead, RawRwLock, RawWrite};
use crate::rw_lock_guard::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use gmp_rt::park::{WaitReason, note_wait};
use pin_project_lite::pin_project;
use std::cell::UnsafeCell;
use std::fmt;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A value that many may read at the same time, or one may change (Go: `sync.RWMutex`).
///
/// As in Go: a writer that waits blocks new readers, so a steady stream of readers does not keep it
/// out; when it unlocks, all readers that were blocked come in before the next writer. Therefore a
/// goroutine must not take a second read lock while it has one: a writer between the two would wait
/// for the first, and the second for the writer.
///
/// There is no poisoning: see [`Mutex`](crate::Mutex).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::RwLock;
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
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: as `T`: the lock may be anywhere. An `Rc` inside could have a clone left behind.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: I1 — it goes from thread to thread as a `Send` value does, and is read by several at a time
// as a `Sync` one: a `Cell` could be set by two readers.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    const_fn! {
        /// An unlocked lock with this value.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
        }
    }

    /// The value; nobody can have the lock any more.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer is inside or waiting, and reads (Go: `RLock`).
    ///
    /// # Cancel safety
    ///
    /// A dropped read leaves nothing behind: if it was let in already, it leaves again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// let lock = gmp::RwLock::new(1);
    /// gmp_rt::block_on(async {
    ///     assert_eq!(*lock.read().await, 1);
    /// });
    /// ```
    #[inline]
    pub fn read(&self) -> ReadLock<'_, T> {
        ReadLock { lock: self, read: RawRead::new() }
    }

    /// Waits until nobody is inside, and writes (Go: `Lock`). New readers are blocked meanwhile.
    ///
    /// # Cancel safety
    ///
    /// A dropped write leaves nothing behind: the readers it blocked come in, and the next writer
    /// has its turn. It loses its place among those who wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as gmp;
    /// let lock = gmp::RwLock::new(1);
    /// gmp_rt::block_on(async {
    ///     *lock.write().await += 1;
    /// });
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[inline]
    pub fn write(&self) -> WriteLock<'_, T> {
        WriteLock { lock: self, write: RawWrite::new() }
    }

    /// [`read`](Self::read), with a guard that has a share of the lock and so may outlive the
    /// borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`read`](Self::read).
    pub fn read_owned(self: Arc<Self>) -> ReadLockOwned<T> {
        ReadLockOwned { lock: Some(self), read: RawRead::new() }
    }

    /// [`write`](Self::write), with a guard that has a share of the lock and so may outlive the
    /// borrow.
    ///
    /// # Cancel safety
    ///
    /// As [`write`](Self::write).
    pub fn write_owned(self: Arc<Self>) -> WriteLockOwned<T> {
        WriteLockOwned { lock: Some(self), write: RawWrite::new() }
    }

    /// Reads if no writer is inside or waiting for readers to leave.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.raw.try_read().then(|| RwLockReadGuard::new(self))
    }

    /// Writes if nobody is inside.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.raw.try_write().then(|| RwLockWriteGuard::new(self))
    }

    /// [`try_read`](Self::try_read), with a guard that has a share of the lock.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_read_owned(self: Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        self.raw.try_read().then(|| OwnedRwLockReadGuard::new(self))
    }

    /// [`try_write`](Self::try_write), with a guard that has a share of the lock.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_write_owned(self: Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        self.raw.try_write().then(|| OwnedRwLockWriteGuard::new(self))
    }

    /// [`read`](Self::read), blocking the thread. For threads outside; within a goroutine it works as
    /// well, as a blocking call.
    pub fn read_blocking(&self) -> RwLockReadGuard<'_, T> {
        self.try_read().unwrap_or_else(|| gmp_rt::block_on(self.read()))
    }

    /// [`write`](Self::write), blocking the thread. For threads outside; within a goroutine it works as
    /// well, as a blocking call.
    pub fn write_blocking(&self) -> RwLockWriteGuard<'_, T> {
        self.try_write().unwrap_or_else(|| gmp_rt::block_on(self.write()))
    }

    /// The value, without locking: nobody else can have the lock.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether somebody is inside just now, or a writer is waiting for readers to leave.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// The lock without the value.
    pub(crate) fn raw(&self) -> &RawRwLock {
        &self.raw
    }

    /// Where the value is; to be touched inside the lock (I1).
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }

    /// What dumps call it.
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

// SAFETY: it is borrowed.
unsafe impl<T: ?Sized> AsRawRw for &RwLock<T> {
    fn raw(&self) -> &RawRwLock {
        &self.raw
    }
}

// SAFETY: it is shared.
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
        lock: &'a RwLock<T>,
        #[pin]
        read: RawRead<&'a RwLock<T>>,
    }
}

impl<'a, T: ?Sized> Future for ReadLock<'a, T> {
    type Output = RwLockReadGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.read.poll_read(this.lock, cx).is_ready() {
            return Poll::Ready(RwLockReadGuard::new(this.lock));
        }
        note_wait(cx, WaitReason::RwMutexRLock, this.lock.addr());
        Poll::Pending
    }
}

pin_project! {
    /// The future of [`RwLock::write`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WriteLock<'a, T: ?Sized> {
        lock: &'a RwLock<T>,
        #[pin]
        write: RawWrite<&'a RwLock<T>>,
    }
}

impl<'a, T: ?Sized> Future for WriteLock<'a, T> {
    type Output = RwLockWriteGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.write.poll_write(this.lock, cx).is_ready() {
            return Poll::Ready(RwLockWriteGuard::new(this.lock));
        }
        note_wait(cx, WaitReason::RwMutexLock, this.lock.addr());
        Poll::Pending
    }
}

pin_project! {
    /// The future of [`RwLock::read_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct ReadLockOwned<T: ?Sized> {
        // Until it goes into the guard.
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
            note_wait(cx, WaitReason::RwMutexRLock, lock.addr());
            return Poll::Pending;
        }
        Poll::Ready(OwnedRwLockReadGuard::new(this.lock.take().expect("looked at above")))
    }
}

pin_project! {
    /// The future of [`RwLock::write_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct WriteLockOwned<T: ?Sized> {
        // Until it goes into the guard.
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
            note_wait(cx, WaitReason::RwMutexLock, lock.addr());
            return Poll::Pending;
        }
        Poll::Ready(OwnedRwLockWriteGuard::new(this.lock.take().expect("looked at above")))
    }
}
