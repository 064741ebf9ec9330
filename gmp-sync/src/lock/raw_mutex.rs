//! The lock of a mutex, without the value that it guards.
//!
//! The algorithm is Go's (`internal/sync/mutex.go`). A word says whether the mutex is locked. A
//! queue of waiters has a lock of its own, which only goroutines that wait or wake take. There are
//! two modes:
//!
//! - *Normal*. Unlocking wakes the first waiter, which competes with running goroutines for the
//!   lock and usually loses. This makes a mutex fast: the lock can be used while the woken
//!   goroutine is on its way to a thread. One waiter is woken at a time. If it loses, it waits at
//!   the front again.
//! - *Starving*. A woken waiter that loses after [`STARVING_AFTER`] sets the mode in the word. From
//!   then on no goroutine takes the lock, and unlocking hands it to the first waiter. The mode ends
//!   when the lock goes to a waiter that has waited for a shorter time, or to the last one.
//!
//! A goroutine that finds the mutex locked tries a few more times before it waits. The holder
//! probably runs on another P and unlocks within nanoseconds.
//!
//! # The word
//!
//! | bit | set | cleared |
//! |-----|-----|---------|
//! | [`LOCKED`] | by a goroutine for itself, or by `next` for a waiter | by unlocking |
//! | [`WOKEN`] | by `next` for a waiter, or by a spinning goroutine | by its owner (I2) |
//! | [`STARVING`] | under the queue's lock, by a woken waiter that loses | under the queue's lock |
//! | [`WAITERS`] | under the queue's lock: it is not empty | under the queue's lock |
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, `WAITERS` is set exactly if the queue is not empty.
//! - I2: `WOKEN` has one owner, which reads the word again later. So unlocking need not wake a
//!   waiter while it is set. The owner clears it when it takes the lock, waits or is dropped. If it
//!   waits, it does so in the same step in which it sees `LOCKED`. Then the holder of the lock
//!   wakes the next waiter.
//! - I3: `STARVING` implies `WAITERS`, and that `WOKEN` has no owner. The owner of `WOKEN` sets
//!   `STARVING` and gives up `WOKEN` in one step, and `WOKEN` gets no owner while `STARVING` is
//!   set.
//!
//! # Orderings
//!
//! Taking the lock is an Acquire of the word, unlocking a Release. Handing over is an Acquire of
//! the word by the thread that hands over (it unlocks the mutex, or cancels a wait). Then the
//! Release of firing the node pairs with the Acquire of reading its state. The other bits order no
//! other memory, because the queue has its own lock.

use crate::const_fn::const_fn;
use crate::tuning::STARVING_AFTER;
use crate::wait::queue::{Fired, NodeState, Queue};
use crate::wait::waiter::{Abandoned, End, WaitList, Waiter};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::prim::{self, AtomicU32, Mutex, Ordering};
use gmp_rt::task::park::{StorableWaker, poll_proceed};
use pin_project_lite::pin_project;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// The mutex is locked.
const LOCKED: u32 = 1;
/// A waiter has been woken, or a goroutine spins: unlocking need not wake another waiter.
const WOKEN: u32 = 2;
/// Unlocking hands the lock to the first waiter; no other goroutine may take it.
const STARVING: u32 = 4;
/// The queue is not empty.
const WAITERS: u32 = 8;

/// A mutex without a value.
#[derive(Debug)]
pub(crate) struct RawMutex {
    word: AtomicU32,
    waiting: Mutex<Queue<MutexWait>>,
}

/// The data of a waiter.
#[derive(Debug)]
pub(crate) struct MutexWait {
    /// When it began to wait for the first time.
    since: Option<Instant>,
    gave: MutexGrant,
}

/// What a waiter was fired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MutexGrant {
    /// Permission and duty to try again: the waiter owns [`WOKEN`].
    Look,
    /// The lock.
    Lock,
}

/// Whether a goroutine that tries to take the lock owns [`WOKEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Mine,
    NotMine,
}

impl Woken {
    /// Returns the bits that the goroutine clears when it takes the lock or waits.
    fn bits(self) -> u32 {
        match self {
            Self::Mine => WOKEN,
            Self::NotMine => 0,
        }
    }
}

/// What a goroutine that waits for a held lock asks of the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Wake the first waiter.
    Normal,
    /// Hand the lock to the first waiter.
    Starving,
}

/// Whether unlocking has to wake a waiter, with `before` in the word.
#[inline]
const fn wakes(before: u32) -> bool {
    before & (WAITERS | WOKEN) == WAITERS
}

/// Whether a goroutine may take the lock.
#[inline]
const fn is_free(word: u32) -> bool {
    word & (LOCKED | STARVING) == 0
}

impl RawMutex {
    const_fn! {
        /// Creates an unlocked mutex.
        pub(crate) const fn new() -> Self {
            Self { word: AtomicU32::new(0), waiting: Mutex::new(Queue::new()) }
        }
    }

    /// Whether the mutex is locked. The result may be outdated at once.
    pub(crate) fn is_locked(&self) -> bool {
        // Relaxed: the result may be outdated anyway.
        self.word.load(Ordering::Relaxed) & LOCKED != 0
    }

    /// Takes the lock unless it is locked or starving.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.take(Woken::NotMine).is_break()
    }

    /// Takes the lock if it is free. Otherwise returns the word as `Continue`.
    #[inline]
    fn take(&self, woken: Woken) -> ControlFlow<(), u32> {
        let mut word = self.word.load(Ordering::Relaxed);
        while is_free(word) {
            let next = (word | LOCKED) & !woken.bits();
            // Acquire: pairs with `unlock`.
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return ControlFlow::Break(()),
                Err(now) => word = now,
            }
        }
        ControlFlow::Continue(word)
    }

    /// Unlocks, and wakes the first waiter or hands it the lock if necessary.
    ///
    /// The caller holds the lock; it is dropping a guard.
    #[inline]
    pub(crate) fn unlock(&self) {
        // Release: pairs with `take` and `next`, so the next holder sees the writes under the lock.
        let before = self.word.fetch_sub(LOCKED, Ordering::Release);
        debug_assert!(before & LOCKED != 0, "sync: unlock of unlocked mutex");
        if wakes(before) {
            self.wake_next();
        }
    }

    #[cold]
    fn wake_next(&self) {
        let fired = self.next(&mut self.waiting.lock());
        fired.wake();
    }

    /// If the mutex is not locked, wakes the first waiter or hands it the lock, by mode.
    ///
    /// A cancelled wait calls this too. Then another goroutine may have taken the lock meanwhile,
    /// and that goroutine's unlock serves the waiter.
    fn next(&self, queue: &mut Queue<MutexWait>) -> Fired {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & LOCKED != 0 || !wakes(word) {
                return Fired::NONE;
            }
            let (gave, bit) = match word & STARVING {
                0 => (MutexGrant::Look, WOKEN),
                _ => (MutexGrant::Lock, LOCKED),
            };
            // Done before the node is fired, because its owner may unlock from then on.
            // Acquire: pairs with `unlock`, on behalf of the waiter.
            match self.word.compare_exchange_weak(
                word,
                word | bit,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return self.give(queue, gave),
                Err(now) => word = now,
            }
        }
    }

    /// Fires the first waiter with `gave`, which is already set in the word.
    fn give(&self, queue: &mut Queue<MutexWait>, gave: MutexGrant) -> Fired {
        let fired = queue.fire_front(|wait| {
            wait.gave = gave;
            wait.since
        });
        let Some((since, fired)) = fired else {
            debug_assert!(false, "I1: the word says that somebody waits");
            return Fired::NONE;
        };
        if queue.is_empty() {
            self.nobody_waits();
        } else if gave == MutexGrant::Lock && !is_starving(since, prim::now()) {
            // Relaxed: concerns only the queue, whose lock is held.
            self.word.fetch_and(!STARVING, Ordering::Relaxed);
        }
        fired
    }

    /// Clears the bits of an empty queue, whose lock is held.
    fn nobody_waits(&self) {
        // Relaxed: concerns only the queue, whose lock is held.
        self.word.fetch_and(!(WAITERS | STARVING), Ordering::Relaxed);
    }

    /// Tries to take the lock a few times. Meanwhile unlocking need not wake a waiter.
    fn spin(&self, woken: &mut Woken) -> ControlFlow<()> {
        for _ in 0..spins() {
            let ControlFlow::Continue(word) = self.take(*woken) else {
                return ControlFlow::Break(());
            };
            if word & STARVING != 0 {
                break;
            }
            if word & (WAITERS | WOKEN) == WAITERS {
                // One attempt is enough. Relaxed: only keeps the holder from waking a waiter.
                let claimed = self.word.compare_exchange(
                    word,
                    word | WOKEN,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
                if claimed.is_ok() {
                    *woken = Woken::Mine;
                }
            }
            prim::lock_pause();
        }
        ControlFlow::Continue(())
    }

    /// Takes the lock, or sets `WAITERS` in the same step in which it sees that the lock is held.
    /// Then the holder's unlock sees the bit. The caller holds the queue's lock.
    fn take_or_wait(&self, woken: Woken, mode: Mode) -> ControlFlow<()> {
        loop {
            let ControlFlow::Continue(word) = self.take(woken) else {
                return ControlFlow::Break(());
            };
            let starving = match mode {
                Mode::Normal => 0,
                Mode::Starving => STARVING,
            };
            let next = (word | WAITERS | starving) & !woken.bits();
            // Relaxed: concerns only the queue, whose lock is held. If the word is starving and not
            // locked, the thread that unlocked it is about to take the queue's lock.
            let waits =
                self.word.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed);
            if waits.is_ok() {
                return ControlFlow::Continue(());
            }
        }
    }
}

/// Whether a wait that began at `since` has lasted for `STARVING_AFTER`.
fn is_starving(since: Option<Instant>, now: Instant) -> bool {
    since.is_some_and(|since| now.saturating_duration_since(since) >= STARVING_AFTER)
}

/// Returns how often to try before waiting: never on a machine with one CPU.
fn spins() -> u32 {
    static SPINS: OnceLock<u32> = OnceLock::new();
    *SPINS.get_or_init(|| match std::thread::available_parallelism() {
        Ok(one) if one.get() == 1 => 0,
        _ => prim::LOCK_TRIES,
    })
}

/// A reference to a raw mutex.
///
/// # Safety
///
/// `raw` returns the same mutex each time. The mutex is not moved while this value lives, even if
/// this value is moved.
pub(crate) unsafe trait AsRaw {
    /// Returns the mutex.
    fn raw(&self) -> &RawMutex;
}

// SAFETY: a borrowed mutex is not moved.
unsafe impl AsRaw for &RawMutex {
    fn raw(&self) -> &RawMutex {
        self
    }
}

/// A raw mutex as the [`WaitList`] of waiters.
#[derive(Debug)]
pub(crate) struct At<P>(P);

// SAFETY: one lock, one queue behind it, not moved (contract of `AsRaw`).
unsafe impl<P: AsRaw> WaitList for At<P> {
    type State = Queue<MutexWait>;
    type Data = MutexWait;

    fn with<R>(&self, f: impl FnOnce(&mut Queue<MutexWait>) -> R) -> R {
        f(&mut self.0.raw().waiting.lock())
    }

    fn queue(state: &mut Queue<MutexWait>) -> &mut Queue<MutexWait> {
        state
    }

    fn abandoned(
        &self,
        queue: &mut Queue<MutexWait>,
        wait: &mut MutexWait,
        how: Abandoned,
    ) -> Wakers {
        let raw = self.0.raw();
        match (how, wait.gave) {
            (Abandoned::Queued, _) if queue.is_empty() => raw.nobody_waits(),
            (Abandoned::Queued, _) => {}
            // Relaxed: this waiter wrote nothing under the lock, and `WOKEN` concerns only the
            // queue.
            (Abandoned::Fired, MutexGrant::Look) => {
                raw.word.fetch_and(!WOKEN, Ordering::Relaxed);
            }
            // Release: pairs with `take` and `next`; passes on what the handover acquired.
            (Abandoned::Fired, MutexGrant::Lock) => {
                raw.word.fetch_sub(LOCKED, Ordering::Release);
            }
        }
        // Passes on the lock or the wake-up, or serves the new first waiter.
        raw.next(queue).into()
    }
}

pin_project! {
    /// An attempt to lock. It has no waiter until it must wait.
    pub(crate) struct RawLock<P: AsRaw> {
        #[pin]
        waiter: Option<Waiter<At<P>>>,
    }
}

impl<P: AsRaw> RawLock<P> {
    /// Creates an attempt that has not begun.
    pub(crate) const fn new() -> Self {
        Self { waiter: None }
    }

    /// Locks `raw`. Each call gets the same `raw`, and `at` returns an owner or borrower of it.
    #[inline]
    pub(crate) fn poll_lock(
        self: Pin<&mut Self>,
        raw: &RawMutex,
        at: impl FnOnce() -> P,
        cx: &Context<'_>,
    ) -> Poll<()> {
        let waiter = self.project().waiter;
        if waiter.is_none() {
            ready!(poll_proceed(cx));
            if raw.try_lock() {
                return Poll::Ready(());
            }
        }
        Self::poll_slowly(waiter, at, cx)
    }

    #[cold]
    fn poll_slowly(
        slot: Pin<&mut Option<Waiter<At<P>>>>,
        at: impl FnOnce() -> P,
        cx: &Context<'_>,
    ) -> Poll<()> {
        // Created before the first change of the word: a clone that panics must not leave `WOKEN`
        // without an owner (I2).
        match StorableWaker::of_goroutine(cx.waker()) {
            Some(mut waker) => Self::spin_or_wait(slot, at, &mut waker),
            None => Self::poll_foreign(slot, at, cx),
        }
    }

    #[cold]
    #[inline(never)]
    fn poll_foreign(
        slot: Pin<&mut Option<Waiter<At<P>>>>,
        at: impl FnOnce() -> P,
        cx: &Context<'_>,
    ) -> Poll<()> {
        Self::spin_or_wait(slot, at, &mut StorableWaker::new(cx.waker()))
    }

    /// Inlined twice: for a goroutine the compiler removes `waker`.
    #[inline(always)]
    fn spin_or_wait(
        mut slot: Pin<&mut Option<Waiter<At<P>>>>,
        at: impl FnOnce() -> P,
        waker: &mut StorableWaker<'_>,
    ) -> Poll<()> {
        let mut woken = Woken::NotMine;
        if slot.is_none() {
            let at = at();
            if at.raw().spin(&mut woken).is_break() {
                return Poll::Ready(());
            }
            let wait = MutexWait { since: None, gave: MutexGrant::Look };
            slot.set(Some(Waiter::new(At(at), wait)));
        }
        let Some(mut waiter) = slot.as_pin_mut() else { return Poll::Pending };
        if waiter.state() == NodeState::Queued {
            // Ready if it was fired meanwhile; otherwise pending with this waker.
            let waits = |_: &_, _: &mut _, _: &mut _| ControlFlow::<()>::Continue(());
            ready!(waiter.as_mut().poll_wait_at(End::Back, waker, waits));
        }
        let mut end = End::Back;
        if waiter.state() == NodeState::Fired {
            let gave = waiter.as_mut().own(|wait| wait.gave);
            waiter.as_mut().reset();
            woken = Woken::Mine;
            end = End::Front;
            if gave == MutexGrant::Lock || waiter.list().0.raw().spin(&mut woken).is_break() {
                return Poll::Ready(());
            }
        }
        Self::wait(waiter, (woken, end), waker)
    }

    fn wait(
        waiter: Pin<&mut Waiter<At<P>>>,
        (woken, end): (Woken, End),
        waker: &mut StorableWaker<'_>,
    ) -> Poll<()> {
        let now = prim::now();
        let ended = waiter.poll_wait_at(end, waker, |at, _, wait| {
            let mode = match end {
                End::Front if is_starving(wait.since, now) => Mode::Starving,
                _ => Mode::Normal,
            };
            wait.since.get_or_insert(now);
            at.0.raw().take_or_wait(woken, mode)
        });
        ended.map(|_| ())
    }
}

impl<P: AsRaw> std::fmt::Debug for RawLock<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("waiter", &self.waiter).finish()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "raw_mutex_loom.rs"]
mod loom;
