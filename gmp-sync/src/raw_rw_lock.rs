//! The lock of an `RwLock`, without what it guards.
//!
//! Go's rules (`sync/rwmutex.go`). Writers have a mutex of their own. The one that has it announces itself in
//! the word, from when on readers who come are blocked, and waits until those inside have left. When it
//! unlocks, all readers that were blocked are inside at once, before the next writer. So neither
//! side starves the other: readers wait for one writer at most, a writer for the readers it found.
//!
//! Reading is one step on the word while there is no writer; the queue's lock is for those who wait.
//!
//! # The word
//!
//! | bits | set | cleared |
//! |------|-----|---------|
//! | [`WRITER`] | by a writer, with the writers' mutex | when it unlocks or gives up; under the queue's lock if readers are blocked |
//! | [`BLOCKED`] | under the queue's lock, with `WRITER`: a reader waits | under the queue's lock |
//! | readers | each [`READER`] | |
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, `BLOCKED` is set exactly if a reader is in the queue, and
//!   then `WRITER` is set.
//! - I2: who waits for readers to leave has the writers' mutex and has set `WRITER`.
//!
//! # Orderings
//!
//! Coming in is Acquire, leaving Release, on the word, for both sides. Readers let in by a writer see its
//! Release of firing their node; a writer let in by the last reader sees all that left before, as that
//! one does by its Acquire under the queue's lock.

use crate::const_fn::const_fn;
use crate::raw_mutex::{AsRaw, RawLock, RawMutex};
use crate::waiter::{Abandoned, Home, Waiter};
use crate::waitq::{Fired, Queue};
use crate::wakers::Wakers;
use gmp_rt::park::poll_go_on;
use gmp_rt::prim::{AtomicUsize, Mutex, Ordering};
use pin_project_lite::pin_project;
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A writer is inside, or waits for readers to leave.
const WRITER: usize = 1;
/// A reader waits for the writer to leave.
const BLOCKED: usize = 2;
/// One reader inside.
const READER: usize = 4;

/// Readers beyond this are a program that leaks guards; far from where the count would overflow.
const MAX_READERS: usize = usize::MAX / READER / 2;

/// A lock that guards nothing by itself.
#[derive(Debug)]
pub(crate) struct RawRwLock {
    writers: RawMutex,
    word: AtomicUsize,
    state: Mutex<State>,
}

/// Who waits.
#[derive(Debug)]
pub(crate) struct State {
    /// Readers that wait for the writer to leave.
    blocked: Queue<()>,
    /// The writer that waits for readers to leave.
    writer: Queue<()>,
}

/// How many readers are inside.
const fn readers(word: usize) -> usize {
    word / READER
}

impl RawRwLock {
    const_fn! {
        /// An unlocked one.
        pub(crate) const fn new() -> Self {
            let state = State { blocked: Queue::new(), writer: Queue::new() };
            Self {
                writers: RawMutex::new(),
                word: AtomicUsize::new(0),
                state: Mutex::new(state),
            }
        }
    }

    /// Comes in as a reader unless there is a writer.
    #[inline]
    pub(crate) fn try_read(&self) -> bool {
        self.enter().is_break()
    }

    /// Comes in as a reader, or says with what in the word it may not.
    #[inline]
    fn enter(&self) -> ControlFlow<(), usize> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & WRITER == 0 {
            assert!(readers(word) < MAX_READERS, "sync: too many readers of an RwLock");
            // Acquire: pairs with `end_write`.
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

    /// Comes in as a reader, or says in the word that one is blocked, in one step with seeing that
    /// there is a writer. Under the queue's lock.
    fn enter_or_wait(&self) -> ControlFlow<()> {
        loop {
            let ControlFlow::Continue(word) = self.enter() else {
                return ControlFlow::Break(());
            };
            // Relaxed: about the queue, whose lock is held.
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

    /// Leaves as a reader.
    #[inline]
    pub(crate) fn read_unlock(&self) {
        if self.leave() == Left::Last {
            self.wake_writer();
        }
    }

    #[inline]
    fn leave(&self) -> Left {
        // Release: pairs with `announce` and `let_writer_in`.
        let before = self.word.fetch_sub(READER, Ordering::Release);
        debug_assert!(readers(before) > 0, "sync: RUnlock of unlocked RWMutex");
        match before & WRITER != 0 && readers(before) == 1 {
            true => Left::Last,
            false => Left::Others,
        }
    }

    #[cold]
    fn wake_writer(&self) {
        let fired = self.let_writer_in(&mut self.state.lock());
        fired.wake();
    }

    /// Fires the writer that waits, if there is one and no reader is inside.
    fn let_writer_in(&self, state: &mut State) -> Fired {
        // Acquire: pairs with `leave` of all that left, on behalf of the writer.
        match readers(self.word.load(Ordering::Acquire)) {
            0 => state.writer.fire_front(|()| ()).map_or(Fired::NONE, |((), fired)| fired),
            _ => Fired::NONE,
        }
    }

    /// Comes in as a writer unless anybody is inside.
    pub(crate) fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        // Acquire: pairs with `leave` and `end_write`.
        let empty =
            self.word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if !empty {
            self.writers.unlock();
        }
        empty
    }

    /// With the writers' mutex: announces a writer. `Break` if it is inside, as nobody else is.
    fn announce(&self) -> ControlFlow<()> {
        // Acquire: pairs with `leave` and `end_write`.
        match readers(self.word.fetch_or(WRITER, Ordering::Acquire)) {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Whether a writer that has announced itself is inside. Under the queue's lock.
    fn readers_left(&self) -> ControlFlow<()> {
        // Acquire: pairs with `leave` of all that left.
        match readers(self.word.load(Ordering::Acquire)) {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// Leaves as a writer, or gives up being one that waits for readers to leave.
    #[inline]
    pub(crate) fn write_unlock(&self) {
        // Release: pairs with `enter` and `announce`.
        let alone = self.word.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed);
        if alone.is_err() {
            self.end_write();
        }
        self.writers.unlock();
    }

    /// From writer to reader, with nobody in between. Blocked readers come in as well.
    pub(crate) fn downgrade(&self) {
        // Relaxed: it is inside already.
        self.word.fetch_add(READER, Ordering::Relaxed);
        self.end_write();
        self.writers.unlock();
    }

    /// Takes the writer from the word and lets the blocked readers in.
    #[cold]
    fn end_write(&self) {
        let mut state = self.state.lock();
        let mut wakers = Wakers::None;
        while !state.blocked.is_empty() {
            // Before it is fired: from then on it may leave. Relaxed: firing has its Release.
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

    /// Whether readers or a writer are inside, or about to be.
    pub(crate) fn is_locked(&self) -> bool {
        // Relaxed: outdated at once anyway.
        self.word.load(Ordering::Relaxed) != 0
    }
}

/// Who is left when a reader has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// It was the last one, and a writer waits.
    Last,
    /// Others, or nobody waits for them to leave.
    Others,
}

/// Something that has a raw lock.
///
/// # Safety
///
/// It gives the same lock each time, which stays where it is as long as this lives, wherever this
/// is moved to.
pub(crate) unsafe trait AsRawRw: Clone {
    /// The lock.
    fn raw(&self) -> &RawRwLock;
}

/// The place where readers wait.
#[derive(Debug)]
struct Readers<P>(P);

// SAFETY: one lock, one queue behind it, in place by the promise of `AsRawRw`.
unsafe impl<P: AsRawRw> Home for Readers<P> {
    type State = State;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.0.raw().state.lock())
    }

    fn queue(state: &mut State) -> &mut Queue<()> {
        &mut state.blocked
    }

    fn abandoned(&self, state: &mut State, (): &mut (), how: Abandoned) -> Wakers {
        let raw = self.0.raw();
        match how {
            Abandoned::Queued if state.blocked.is_empty() => {
                // Relaxed: about the queue, whose lock is held.
                raw.word.fetch_and(!BLOCKED, Ordering::Relaxed);
                Wakers::None
            }
            Abandoned::Queued => Wakers::None,
            Abandoned::Fired if raw.leave() == Left::Last => raw.let_writer_in(state).into(),
            Abandoned::Fired => Wakers::None,
        }
    }
}

/// The place where the writer waits that has the writers' mutex.
#[derive(Debug)]
struct Leaving<P>(P);

// SAFETY: one lock, one queue behind it, in place by the promise of `AsRawRw`.
unsafe impl<P: AsRawRw> Home for Leaving<P> {
    type State = State;
    type Data = ();

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.0.raw().state.lock())
    }

    fn queue(state: &mut State) -> &mut Queue<()> {
        &mut state.writer
    }

    fn abandoned(&self, _: &mut State, (): &mut (), _: Abandoned) -> Wakers {
        // What it has besides, `RawWrite` gives up after this.
        Wakers::None
    }
}

/// The writers' mutex.
#[derive(Clone, Debug)]
struct Writers<P>(P);

// SAFETY: in place by the promise of `AsRawRw`.
unsafe impl<P: AsRawRw> AsRaw for Writers<P> {
    fn raw(&self) -> &RawMutex {
        &self.0.raw().writers
    }
}

pin_project! {
    /// A reader about to come in. Has no waiter until it must wait.
    pub(crate) struct RawRead<P: AsRawRw> {
        #[pin]
        waiter: Option<Waiter<Readers<P>>>,
    }
}

impl<P: AsRawRw> RawRead<P> {
    /// One that has not begun.
    pub(crate) const fn new() -> Self {
        Self { waiter: None }
    }

    /// Comes in. `at` is the same each time.
    #[inline]
    pub(crate) fn poll_read(self: Pin<&mut Self>, at: &P, cx: &Context<'_>) -> Poll<()> {
        let mut slot = self.project().waiter;
        if slot.is_none() {
            ready!(poll_go_on(cx));
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
    /// A writer about to come in: first it wants the writers' mutex, then, if it has a waiter, the
    /// readers to leave.
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
                // I2: announced, and perhaps inside already.
                waiter.home().0.raw().write_unlock();
            }
        }
    }
}

impl<P: AsRawRw> RawWrite<P> {
    /// One that has not begun.
    pub(crate) const fn new() -> Self {
        Self { lock: RawLock::new(), leaving: None }
    }

    /// Comes in. `at` is the same each time.
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
        // The write lock is the caller's: nothing to give up any more.
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
