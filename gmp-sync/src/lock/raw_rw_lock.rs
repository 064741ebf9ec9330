//! The lock of an `RwLock`, without the value that it guards.
//!
//! The rules are Go's (`sync/rwmutex.go`). Writers have a mutex of their own. The writer that holds
//! it sets [`WRITER`] in the word. From then on new readers are blocked, and the writer waits until
//! the readers that hold the lock have released it. When the writer unlocks, all blocked readers
//! get the lock at once, before the next writer. So neither side starves: a reader waits for at
//! most one writer, and a writer only for the readers that it found.
//!
//! Without a writer, reading is one operation on the word. Only goroutines that wait or wake take
//! the queue's lock.
//!
//! # The word
//!
//! | bits | set | cleared |
//! |------|-----|---------|
//! | [`WRITER`] | by a writer that holds the writers' mutex | when it unlocks or gives up |
//! | [`BLOCKED`] | under the queue's lock, with `WRITER`: a reader waits | under the queue's lock |
//! | readers | plus [`READER`] for each reader | minus [`READER`] when it unlocks |
//!
//! A writer clears `WRITER` under the queue's lock if any other bit is set.
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, `BLOCKED` is set exactly if a reader is in the queue, and
//!   then `WRITER` is set.
//! - I2: a writer that waits for readers to unlock holds the writers' mutex and has set `WRITER`.
//!
//! # Orderings
//!
//! Locking is an Acquire of the word, unlocking a Release, for both sides. A reader that a writer
//! lets in sees the Release of firing its node. A writer that the last reader lets in is ordered
//! after the accesses of all readers that unlocked before: the last reader acquires them from the
//! word under the queue's lock and then fires the writer.

use crate::const_fn::const_fn;
use crate::lock::raw_mutex::{AsRaw, RawLock, RawMutex};
use crate::wait::queue::{Fired, Queue};
use crate::wait::waiter::{Abandoned, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::{AtomicUsize, Mutex, Ordering};
use gmp_rt::task::park::poll_proceed;
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A writer has the lock, or waits for readers to unlock.
const WRITER: usize = 1;
/// A reader waits for the writer to unlock.
const BLOCKED: usize = 2;
/// One reader that has the lock.
const READER: usize = 4;

/// More readers than this mean that a program leaks guards. Far below an overflow of the count.
const MAX_READERS: usize = usize::MAX / READER / 2;

/// A reader-writer lock without a value.
#[derive(Debug)]
pub(crate) struct RawRwLock {
    writers: RawMutex,
    word: AtomicUsize,
    state: Mutex<RwLockState>,
}

/// The wait queues.
#[derive(Debug)]
pub(crate) struct RwLockState {
    /// Readers that wait for the writer to unlock.
    blocked: Queue<()>,
    /// The writer that waits for readers to unlock.
    writer: Queue<()>,
}

/// Returns the number of readers that have the lock.
const fn readers(word: usize) -> usize {
    word / READER
}

impl RawRwLock {
    const_fn! {
        /// Creates an unlocked lock.
        pub(crate) const fn new() -> Self {
            let state = RwLockState { blocked: Queue::new(), writer: Queue::new() };
            Self {
                writers: RawMutex::new(),
                word: AtomicUsize::new(0),
                state: Mutex::new(state),
            }
        }
    }

    /// Takes the read lock unless there is a writer.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        self.enter().is_break()
    }

    /// Takes the read lock. If there is a writer, returns the word as `Continue`.
    #[inline]
    fn enter(&self) -> ControlFlow<(), usize> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & WRITER == 0 {
            assert!(readers(word) < MAX_READERS, "sync: too many readers of an RwLock");
            // Acquire: pairs with `write_unlock` and `end_write`.
            match self.word.compare_exchange_weak(
                word,
                word + READER,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return ControlFlow::Break(()),
                Err(now) => word = now,
            }
        }
        ControlFlow::Continue(word)
    }

    /// Takes the read lock, or sets `BLOCKED` in the same step in which it sees a writer. The
    /// caller holds the queue's lock.
    fn enter_or_wait(&self) -> ControlFlow<()> {
        loop {
            let ControlFlow::Continue(word) = self.enter() else {
                return ControlFlow::Break(());
            };
            // Relaxed: concerns only the queue, whose lock is held.
            let waits = word & BLOCKED != 0
                || self
                    .word
                    .compare_exchange(word, word | BLOCKED, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok();
            if waits {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Releases the read lock, and wakes the writer if it waits for this reader.
    #[inline]
    pub(crate) fn read_unlock(&self) {
        if self.leave() == Unlocked::Last {
            self.wake_writer();
        }
    }

    #[inline]
    fn leave(&self) -> Unlocked {
        // Release: pairs with `announce`, `try_write`, `readers_left` and `let_writer_in`.
        let before = self.word.fetch_sub(READER, Ordering::Release);
        debug_assert!(readers(before) > 0, "sync: RUnlock of unlocked RWMutex");
        match before & WRITER != 0 && readers(before) == 1 {
            true => Unlocked::Last,
            false => Unlocked::Others,
        }
    }

    #[cold]
    fn wake_writer(&self) {
        let fired = self.let_writer_in(&mut self.state.lock());
        fired.wake();
    }

    /// Fires the waiting writer, if there is one and no reader has the lock.
    fn let_writer_in(&self, state: &mut RwLockState) -> Fired {
        // Acquire: pairs with the `leave` of all readers, on behalf of the writer.
        match readers(self.word.load(Ordering::Acquire)) {
            0 => state.writer.fire_front(|()| ()).map_or(Fired::NONE, |((), fired)| fired),
            _ => Fired::NONE,
        }
    }

    /// Takes the write lock unless it is locked or a writer waits.
    pub(crate) fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        // Acquire: pairs with `leave`, `write_unlock` and `end_write`.
        let empty =
            self.word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !empty {
            self.writers.unlock();
        }
        empty
    }

    /// Announces a writer, which holds the writers' mutex. `Break` if no reader has the lock, so
    /// that the writer has it.
    fn announce(&self) -> ControlFlow<()> {
        // Acquire: pairs with `leave`, `write_unlock` and `end_write`.
        match readers(self.word.fetch_or(WRITER, Ordering::Acquire)) {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// `Break` if no reader has the lock, so that the announced writer has it. The caller holds the
    /// queue's lock.
    fn readers_left(&self) -> ControlFlow<()> {
        // Acquire: pairs with the `leave` of all readers.
        match readers(self.word.load(Ordering::Acquire)) {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Releases the write lock, or cancels the announcement of a writer that waits for readers.
    #[inline]
    pub(crate) fn write_unlock(&self) {
        // Release: pairs with `enter` and `announce`.
        let alone = self.word.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed);
        if alone.is_err() {
            self.end_write();
        }
        self.writers.unlock();
    }

    /// Turns the write lock into a read lock, without a gap for a writer. Blocked readers get the
    /// lock as well.
    pub(crate) fn downgrade(&self) {
        // Relaxed: the caller has the lock already.
        self.word.fetch_add(READER, Ordering::Relaxed);
        self.end_write();
        self.writers.unlock();
    }

    /// Clears `WRITER` and gives the lock to the blocked readers.
    #[cold]
    fn end_write(&self) {
        let mut state = self.state.lock();
        let mut wakers = Wakers::None;
        while !state.blocked.is_empty() {
            // Counted before it is fired, because it may unlock from then on. Relaxed: firing has
            // its Release.
            self.word.fetch_add(READER, Ordering::Relaxed);
            if let Some(((), fired)) = state.blocked.fire_front(|()| ()) {
                wakers.push(fired);
            }
        }
        // Release: pairs with `enter` and `announce`.
        self.word.fetch_and(!(WRITER | BLOCKED), Ordering::Release);
        drop(state);
        wakers.wake_all();
    }

    /// Whether a reader or a writer has the lock, or a writer waits for readers to unlock.
    pub(crate) fn is_locked(&self) -> bool {
        // Relaxed: the result may be outdated anyway.
        self.word.load(Ordering::Relaxed) != 0
    }
}

/// What a reader has to do after it has unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlocked {
    /// It was the last reader, and there is a writer to wake.
    Last,
    /// Nothing: other readers have the lock, or there is no writer.
    Others,
}

/// A reference to a raw lock.
///
/// # Safety
///
/// `raw` returns the same lock each time. The lock is not moved while this value lives, even if
/// this value is moved.
pub(crate) unsafe trait AsRawRw: Clone {
    /// Returns the lock.
    fn raw(&self) -> &RawRwLock;
}

/// The lock as the [`WaitList`] of blocked readers.
#[derive(Debug)]
struct Readers<P>(P);

// SAFETY: one lock, one queue behind it, not moved (contract of `AsRawRw`).
unsafe impl<P: AsRawRw> WaitList for Readers<P> {
    type State = RwLockState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut RwLockState) -> R) -> R {
        f(&mut self.0.raw().state.lock())
    }

    fn queue(state: &mut RwLockState) -> &mut Queue<()> {
        &mut state.blocked
    }

    fn abandoned(&self, state: &mut RwLockState, (): &mut (), how: Abandoned) -> Wakers {
        let raw = self.0.raw();
        match how {
            Abandoned::Queued if state.blocked.is_empty() => {
                // Relaxed: concerns only the queue, whose lock is held.
                raw.word.fetch_and(!BLOCKED, Ordering::Relaxed);
                Wakers::None
            }
            Abandoned::Queued => Wakers::None,
            Abandoned::Fired if raw.leave() == Unlocked::Last => raw.let_writer_in(state).into(),
            Abandoned::Fired => Wakers::None,
        }
    }
}

/// The lock as the [`WaitList`] of the writer that holds the writers' mutex.
#[derive(Debug)]
struct Leaving<P>(P);

// SAFETY: one lock, one queue behind it, not moved (contract of `AsRawRw`).
unsafe impl<P: AsRawRw> WaitList for Leaving<P> {
    type State = RwLockState;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut RwLockState) -> R) -> R {
        f(&mut self.0.raw().state.lock())
    }

    fn queue(state: &mut RwLockState) -> &mut Queue<()> {
        &mut state.writer
    }

    fn abandoned(&self, _: &mut RwLockState, (): &mut (), _: Abandoned) -> Wakers {
        // `RawWrite` gives up the announcement and the writers' mutex after this.
        Wakers::None
    }
}

/// The writers' mutex.
#[derive(Clone, Debug)]
struct Writers<P>(P);

// SAFETY: not moved (contract of `AsRawRw`).
unsafe impl<P: AsRawRw> AsRaw for Writers<P> {
    fn raw(&self) -> &RawMutex {
        &self.0.raw().writers
    }
}

pin_project! {
    /// An attempt to take the read lock. It has no waiter until it must wait.
    pub(crate) struct RawRead<P: AsRawRw> {
        #[pin]
        waiter: Option<Waiter<Readers<P>>>,
    }
}

impl<P: AsRawRw> RawRead<P> {
    /// Creates an attempt that has not begun.
    pub(crate) const fn new() -> Self {
        Self { waiter: None }
    }

    /// Takes the read lock. Each call gets the same `at`.
    #[inline]
    pub(crate) fn poll_read(self: Pin<&mut Self>, at: &P, cx: &Context<'_>) -> Poll<()> {
        let mut slot = self.project().waiter;
        if slot.is_none() {
            ready!(poll_proceed(cx));
            if at.raw().try_read() {
                return Poll::Ready(());
            }
            slot.set(Some(Waiter::new(Readers(at.clone()), ())));
        }
        let Some(mut waiter) = slot.as_pin_mut() else { return Poll::Pending };
        ready!(waiter.as_mut().poll_wait(cx, |_, ()| at.raw().enter_or_wait()));
        waiter.reset();
        Poll::Ready(())
    }
}

pin_project! {
    /// An attempt to take the write lock. It first waits for the writers' mutex. Then it has a
    /// waiter if it has to wait for readers to unlock.
    pub(crate) struct RawWrite<P: AsRawRw> {
        #[pin]
        lock: RawLock<Writers<P>>,
        #[pin]
        leaving: Option<Waiter<Leaving<P>>>,
    }

    impl<P: AsRawRw> PinnedDrop for RawWrite<P> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(mut waiter) = this.leaving.as_pin_mut() {
                waiter.as_mut().give_up();
                // I2: the writer has announced itself, and may have the lock already.
                waiter.list().0.raw().write_unlock();
            }
        }
    }
}

impl<P: AsRawRw> RawWrite<P> {
    /// Creates an attempt that has not begun.
    pub(crate) const fn new() -> Self {
        Self { lock: RawLock::new(), leaving: None }
    }

    /// Takes the write lock. Each call gets the same `at`.
    pub(crate) fn poll_write(self: Pin<&mut Self>, at: &P, cx: &Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.leaving.is_none() {
            ready!(this.lock.poll_lock(&at.raw().writers, || Writers(at.clone()), cx));
            if at.raw().announce().is_break() {
                return Poll::Ready(());
            }
            this.leaving.set(Some(Waiter::new(Leaving(at.clone()), ())));
        }
        let Some(mut waiter) = this.leaving.as_mut().as_pin_mut() else { return Poll::Pending };
        ready!(waiter.as_mut().poll_wait(cx, |_, ()| at.raw().readers_left()));
        // The caller has the write lock now, so drop must not release it.
        waiter.reset();
        this.leaving.set(None);
        Poll::Ready(())
    }
}

impl<P: AsRawRw> fmt::Debug for RawRead<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawRead").field("waiter", &self.waiter).finish()
    }
}

impl<P: AsRawRw> fmt::Debug for RawWrite<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawWrite")
            .field("lock", &self.lock)
            .field("leaving", &self.leaving)
            .finish()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "raw_rw_lock_loom.rs"]
mod loom;
