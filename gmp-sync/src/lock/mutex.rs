//! `Mutex`: a value with exclusive access for one goroutine at a time.
//!
//! [`RawMutex`] is the lock and describes the algorithm. This file has the value and the futures.
//!
//! # Invariants
//!
//! - I1: only the holder of the lock, or of exclusive access to the mutex, accesses the value.

use crate::const_fn::const_fn;
use crate::lock::mutex_guard::{MutexGuard, OwnedMutexGuard};
use crate::lock::raw_mutex::{AsRaw, RawLock, RawMutex};
use futures::future::FusedFuture;
use gmp_rt::task::park::{WaitReason, note_wait};
use pin_project_lite::pin_project;
use std::cell::UnsafeCell;
use std::fmt;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A mutual exclusion lock that owns its value (Go: `sync.Mutex`).
///
/// As in Go, a running goroutine may take the lock before goroutines that wait. Once a waiter has
/// waited for a millisecond, the lock goes to the waiters in arrival order. The guard may be held
/// across `.await` and moved to another thread.
///
/// A goroutine that panics while it holds the lock unlocks it. There is no poisoning, as in Go
/// after a `defer mu.Unlock()`. If other goroutines must not see half-done changes, mark the value
/// as invalid before they begin.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Mutex;
/// use std::sync::Arc;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
///
/// gmp_rt::block_on(async {
///     let names = Arc::new(Mutex::new(Vec::new()));
///     let handles = ["a", "b"].map(|name| {
///         let names = names.clone();
///         gmp_rt::spawn(async move {
///             names.lock().await.push(name);
///             *TOTAL.lock().await += 1;
///         })
///     });
///     for handle in handles {
///         handle.await.unwrap();
///     }
///     assert_eq!(names.lock().await.len(), 2);
///     assert_eq!(*TOTAL.lock().await, 2);
/// });
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: as `T`, which moves with the mutex. A clone of an `Rc` inside could stay behind.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: I1 — one thread at a time accesses the value, so it need not be `Sync`. But it moves
// between threads: if it were an `Rc`, two threads could have clones of it.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// Creates an unlocked mutex.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { raw: RawMutex::new(), value: UnsafeCell::new(value) }
        }
    }

    /// Returns the value. No guard can exist any more.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is unlocked and locks it.
    ///
    /// The future returns the guard itself. There is no poisoning.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. If the lock was already handed to the dropped future, it goes to the next
    /// waiter. The future loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let mutex = sync::Mutex::new(1);
    /// gmp_rt::block_on(async {
    ///     *mutex.lock().await += 1;
    /// });
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    #[doc(alias = "Lock")]
    #[inline]
    pub fn lock(&self) -> Lock<'_, T> {
        Lock { mutex: Some(self), lock: RawLock::new() }
    }

    /// Waits until the mutex is unlocked and locks it. The guard owns an `Arc`.
    ///
    /// The guard is not bound to a borrow of the mutex.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Self::lock).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// use std::sync::Arc;
    ///
    /// let mutex = Arc::new(sync::Mutex::new(1));
    /// let guard = gmp_rt::block_on(mutex.clone().lock_owned());
    /// std::thread::spawn(move || assert_eq!(*guard, 1)).join().unwrap();
    /// assert!(mutex.try_lock().is_some());
    /// ```
    #[inline]
    pub fn lock_owned(self: Arc<Self>) -> LockOwned<T> {
        LockOwned { mutex: Some(self), lock: RawLock::new() }
    }

    /// Locks the mutex if it is unlocked and no waiter has waited too long for it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let mutex = sync::Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_none());
    /// drop(guard);
    /// assert!(mutex.try_lock().is_some());
    /// ```
    #[inline]
    #[must_use = "dropping the guard unlocks"]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| MutexGuard::new(self))
    }

    /// As [`try_lock`](Self::try_lock), with a guard that owns an `Arc`.
    #[must_use = "dropping the guard unlocks"]
    pub fn try_lock_owned(self: Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        self.raw.try_lock().then(|| OwnedMutexGuard::new(self))
    }

    /// Locks the mutex and blocks the thread until then.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_sync as sync;
    /// let mutex = sync::Mutex::new(1);
    /// *mutex.lock_blocking() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    #[doc(alias = "blocking_lock")]
    pub fn lock_blocking(&self) -> MutexGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| gmp_rt::block_on(self.lock()))
    }

    /// As [`lock_blocking`](Self::lock_blocking), with a guard that owns an `Arc`.
    #[doc(alias = "blocking_lock_owned")]
    pub fn lock_owned_blocking(self: Arc<Self>) -> OwnedMutexGuard<T> {
        if self.raw.try_lock() {
            return OwnedMutexGuard::new(self);
        }
        gmp_rt::block_on(self.lock_owned())
    }

    /// Returns the value without locking. The exclusive borrow excludes guards.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Whether the mutex is locked. The result may be outdated at once.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Returns the lock without the value.
    pub(crate) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// Returns a pointer to the value, for the holder of the lock (I1).
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }

    /// Returns the address that dumps show.
    pub(crate) fn addr(&self) -> usize {
        ptr::from_ref(self).cast::<()>().addr()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => shown.field("value", &&*guard),
            None => shown.field("value", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

// SAFETY: a borrowed mutex is not moved.
unsafe impl<T: ?Sized> AsRaw for &Mutex<T> {
    #[inline]
    fn raw(&self) -> &RawMutex {
        &self.raw
    }
}

// SAFETY: a mutex in an `Arc` is not moved.
unsafe impl<T: ?Sized> AsRaw for Arc<Mutex<T>> {
    #[inline]
    fn raw(&self) -> &RawMutex {
        &self.raw
    }
}

pin_project! {
    /// The future of [`Mutex::lock`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Lock<'a, T: ?Sized> {
        // `None` once it has returned.
        mutex: Option<&'a Mutex<T>>,
        #[pin]
        lock: RawLock<&'a Mutex<T>>,
    }
}

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mutex = this.mutex.expect("polled again after it had the lock");
        if this.lock.poll_lock(&mutex.raw, || mutex, cx).is_ready() {
            *this.mutex = None;
            return Poll::Ready(MutexGuard::new(mutex));
        }
        note_wait(cx, WaitReason::MutexLock, mutex.addr());
        Poll::Pending
    }
}

impl<T: ?Sized> FusedFuture for Lock<'_, T> {
    fn is_terminated(&self) -> bool {
        self.mutex.is_none()
    }
}

pin_project! {
    /// The future of [`Mutex::lock_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct LockOwned<T: ?Sized> {
        // Moves into the guard.
        mutex: Option<Arc<Mutex<T>>>,
        #[pin]
        lock: RawLock<Arc<Mutex<T>>>,
    }
}

impl<T: ?Sized> Future for LockOwned<T> {
    type Output = OwnedMutexGuard<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mutex = this.mutex.as_ref().expect("polled again after it had the lock");
        if this.lock.poll_lock(&mutex.raw, || mutex.clone(), cx).is_pending() {
            note_wait(cx, WaitReason::MutexLock, mutex.addr());
            return Poll::Pending;
        }
        Poll::Ready(OwnedMutexGuard::new(this.mutex.take().expect("looked at above")))
    }
}

impl<T: ?Sized> FusedFuture for LockOwned<T> {
    fn is_terminated(&self) -> bool {
        self.mutex.is_none()
    }
}
