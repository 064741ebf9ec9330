//! Wakers that a primitive keeps in its queue.
//!
//! The waker of a goroutine runs no code but gmp's. A foreign waker runs user code when it is
//! cloned, woken or dropped. That code may panic, or call the same primitive. So a primitive
//!
//! 1. makes a [`StorableWaker`] before it takes its lock. A foreign waker is cloned there. If the
//!    clone panics, the panic leaves the poll before anything has changed.
//! 2. [stores](StorableWaker::store) the waker under the lock, which runs no user code.
//! 3. wakes and drops the [`StoredWaker`] after the lock is released. A panic of a foreign waker is
//!    contained: the caller, the other waiters and the scheduler do not notice it.

use super::waker::{self, goroutine_of};
use crate::prim::contain;
use std::mem::ManuallyDrop;
use std::task::Waker;

/// A waker in the queue of a primitive. Neither waking nor dropping it panics.
///
/// It must be woken and dropped while no lock is held: a foreign waker may run any code. If that
/// code panics, the panic hook reports it, and the panic ends there.
#[derive(Debug)]
pub struct StoredWaker(ManuallyDrop<Waker>);

impl StoredWaker {
    /// Wakes the task.
    #[inline]
    pub fn wake(self) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, since `this` is not used or dropped after this.
        wake(unsafe { ManuallyDrop::take(&mut this.0) });
    }

    /// Whether this waker and `waker` wake the same task. `false` means unknown.
    #[inline]
    #[must_use]
    pub fn will_wake(&self, waker: &Waker) -> bool {
        self.0.will_wake(waker)
    }

    /// Returns the data word of the waker.
    #[inline]
    pub(crate) fn data(&self) -> *const () {
        self.0.data()
    }
}

impl From<Waker> for StoredWaker {
    #[inline]
    fn from(waker: Waker) -> Self {
        Self(ManuallyDrop::new(waker))
    }
}

impl Drop for StoredWaker {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken once, since this is the drop.
        discard(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

// Not inlined, to keep the code of the futures that hold a waker small.
#[inline(never)]
fn wake(waker: Waker) {
    if let Err(foreign) = waker::wake_own(waker) {
        wake_foreign(foreign);
    }
}

#[inline(never)]
fn discard(waker: Waker) {
    if let Err(foreign) = waker::drop_own(waker) {
        drop_foreign(foreign);
    }
}

#[cold]
fn wake_foreign(waker: Waker) {
    contain(|| waker.wake());
}

#[cold]
fn drop_foreign(waker: Waker) {
    contain(|| drop(waker));
}

/// The waker of a poll, ready to be stored under a lock.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::task::park::{StorableWaker, StoredWaker};
/// use std::future::poll_fn;
/// use std::sync::{Arc, Mutex};
/// use std::task::Poll;
///
/// /// Whether the gate is open, and the waker of the task that waits for it.
/// #[derive(Default)]
/// struct Gate(Mutex<(bool, Option<StoredWaker>)>);
///
/// impl Gate {
///     async fn wait(&self) {
///         poll_fn(|cx| {
///             let mut waker = StorableWaker::new(cx.waker());
///             let mut state = self.0.lock().unwrap();
///             if state.0 {
///                 return Poll::Ready(());
///             }
///             let replaced = state.1.replace(waker.store());
///             drop(state);
///             drop(replaced);
///             Poll::Pending
///         })
///         .await
///     }
///
///     fn open(&self) {
///         let mut state = self.0.lock().unwrap();
///         state.0 = true;
///         let waker = state.1.take();
///         drop(state);
///         gmp::task::park::wake_all(waker);
///     }
/// }
///
/// let gate = Arc::new(Gate::default());
/// let waits = gate.clone();
/// let handle = gmp::spawn(async move { waits.wait().await });
/// gate.open();
/// gmp::block_on(handle).unwrap();
/// ```
#[derive(Debug)]
pub struct StorableWaker<'a> {
    waker: &'a Waker,
    /// The clone of a foreign waker, until it is stored.
    clone: Option<StoredWaker>,
}

impl<'a> StorableWaker<'a> {
    /// Prepares `waker`. Must not be called under a lock: it clones a foreign waker.
    ///
    /// # Panics
    ///
    /// If the clone of a foreign waker panics.
    #[inline]
    #[must_use]
    pub fn new(waker: &'a Waker) -> Self {
        match Self::of_goroutine(waker) {
            Some(own) => own,
            None => Self { waker, clone: Some(clone_foreign(waker)) },
        }
    }

    /// Prepares the waker of a goroutine; `None` if it is foreign. Runs no user code.
    #[inline]
    #[must_use]
    pub fn of_goroutine(waker: &'a Waker) -> Option<Self> {
        goroutine_of(waker)?;
        Some(Self { waker, clone: None })
    }

    /// Returns the prepared waker, for [`will_wake`](StoredWaker::will_wake).
    #[inline]
    #[must_use]
    pub fn waker(&self) -> &'a Waker {
        self.waker
    }

    /// Returns the waker to store. The first call runs no user code, so it may be made under a
    /// lock.
    #[inline]
    #[must_use]
    pub fn store(&mut self) -> StoredWaker {
        match self.clone.take() {
            Some(clone) => clone,
            None => clone(self.waker).into(),
        }
    }
}

fn clone(waker: &Waker) -> Waker {
    waker::clone_own(waker).unwrap_or_else(|| waker.clone())
}

#[cold]
fn clone_foreign(waker: &Waker) -> StoredWaker {
    waker.clone().into()
}
