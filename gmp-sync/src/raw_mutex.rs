//! The lock of a mutex, without what it guards.
//!
//! Go's algorithm (`internal/sync/mutex.go`). A word that says whether it is locked, and a queue of those
//! who wait, behind a lock of its own that only those touch who wait or wake. Two modes:
//!
//! - *Normal*. Whoever comes first takes it: unlocking wakes the first waiter, which then competes
//!   with those who are running already, and mostly loses. That is what makes a mutex fast: nobody
//!   idles while a goroutine is on its way from the queue to a thread. One waiter is woken at a
//!   time; if it loses, it waits at the front again.
//! - *Starving*. A woken waiter that loses after [`STARVING_AFTER`] says so in the word. From then on
//!   nobody takes the lock, unlocking hands it to the first waiter. This ends with a waiter that
//!   had waited for a shorter time, or the last one.
//!
//! A goroutine that finds it locked looks a few times more before it waits: its holder is likely
//! to run on another P and to be done in nanoseconds.
//!
//! # The word
//!
//! | bit | set | cleared |
//! |-----|-----|---------|
//! | [`LOCKED`] | by who takes it, or for whom it is handed to | by unlocking |
//! | [`WOKEN`] | by who wakes the first waiter, for it; by who looks again, for itself | by that one, when it has taken the lock or waits |
//! | [`STARVING`] | under the queue's lock, by a woken waiter that waits again | under the queue's lock |
//! | [`WAITERS`] | under the queue's lock: it is not empty | likewise |
//!
//! # Invariants
//!
//! - I1: while the queue's lock is free, `WAITERS` is set exactly if the queue is not empty.
//! - I2: `WOKEN` has one owner, who will look at the word again. So unlocking need not wake if it
//!   is set, and its owner clears it no later than it waits, in one step with seeing `LOCKED`: then the
//!   holder wakes.
//! - I3: `STARVING` implies `WAITERS`, and that nobody owns `WOKEN`: it is set by the owner of `WOKEN`,
//!   who gives that up, and nobody becomes owner while it is set.
//!
//! # Orderings
//!
//! Taking is Acquire, unlocking Release, on the word. Handing over is Acquire on the word, whoever does it
//! (one that gives up its wait may), and then the Release of firing a node with the Acquire of seeing it.
//! The other bits say nothing about other memory: the queue has its lock.

use crate::const_fn::const_fn;
use crate::tuning::{MUTEX_PAUSES, MUTEX_SPINS, STARVING_AFTER};
use crate::waiter::{Abandoned, End, Home, Waiter};
use crate::waitq::{Fired, Queue, State};
use crate::wakers::Wakers;
use gmp_rt::park::{StorableWaker, poll_go_on};
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::prim::{self, AtomicU32, Mutex, Ordering, spin_loop};
use pin_project_lite::pin_project;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// Somebody has the lock.
const LOCKED: u32 = 1;
/// Somebody has been woken, or is looking again: no need to wake another one.
const WOKEN: u32 = 2;
/// The lock is handed to the first waiter; nobody else may take it.
const STARVING: u32 = 4;
/// Somebody is in the queue.
const WAITERS: u32 = 8;

/// A lock that guards nothing by itself.
#[derive(Debug)]
pub(crate) struct RawMutex {
    word: AtomicU32,
    waiting: Mutex<Queue<Wait>>,
}

/// What a wait for the lock keeps in the queue.
#[derive(Debug)]
pub(crate) struct Wait {
    /// When it began to wait first.
    since: Option<Instant>,
    gave: Gave,
}

/// What a waiter was woken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gave {
    /// The right, and the duty, to look again: it owns [`WOKEN`].
    Look,
    /// The lock.
    Lock,
}

/// Whether one who looks at the lock owns [`WOKEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Mine,
    NotMine,
}

impl Woken {
    /// The bits to clear when its owner is done.
    fn bits(self) -> u32 {
        match self {
            Self::Mine => WOKEN,
            Self::NotMine => 0,
        }
    }
}

/// A lock that is held is being asked for in vain: what its holder shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Wake the first waiter.
    Normal,
    /// Hand the lock to the first waiter.
    Starving,
}

/// One who has unlocked, with `before` in the word, has to wake somebody.
#[inline]
const fn wakes(before: u32) -> bool {
    before & (WAITERS | WOKEN) == WAITERS
}

/// Whether one who comes may take the lock.
#[inline]
const fn is_free(word: u32) -> bool {
    word & (LOCKED | STARVING) == 0
}

impl RawMutex {
    const_fn! {
        /// An unlocked one.
        pub(crate) const fn new() -> Self {
            Self { word: AtomicU32::new(0), waiting: Mutex::new(Queue::new()) }
        }
    }

    /// Whether it is locked just now.
    pub(crate) fn is_locked(&self) -> bool {
        // Relaxed: outdated at once anyway.
        self.word.load(Ordering::Relaxed) & LOCKED != 0
    }

    /// Takes it unless it is locked or starving.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.take(Woken::NotMine).is_break()
    }

    /// Takes it if it may, or says with what in the word it may not.
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

    /// Unlocks it, and wakes whoever is next.
    ///
    /// The caller has the lock: a guard that is dropped.
    #[inline]
    pub(crate) fn unlock(&self) {
        // Release: pairs with `take` and `next`; whoever has it then sees what we did under it.
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

    /// If it is not locked, does what the mode says with the first waiter.
    ///
    /// Not only after unlocking: one that gives up what it was given comes here too, and somebody else
    /// may have taken the lock since. Then it is up to that one.
    fn next(&self, queue: &mut Queue<Wait>) -> Fired {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & LOCKED != 0 || !wakes(word) {
                return Fired::NONE;
            }
            let (gave, bit) = match word & STARVING {
                0 => (Gave::Look, WOKEN),
                _ => (Gave::Lock, LOCKED),
            };
            // Before the node is fired: from then on its owner may unlock.
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

    /// Fires the first waiter, for whom the word says already what it is given.
    fn give(&self, queue: &mut Queue<Wait>, gave: Gave) -> Fired {
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
        } else if gave == Gave::Lock && !is_starving(since, prim::now()) {
            // Relaxed: about the queue, whose lock is held.
            self.word.fetch_and(!STARVING, Ordering::Relaxed);
        }
        fired
    }

    /// The queue, whose lock is held, has become empty.
    fn nobody_waits(&self) {
        // Relaxed: about the queue, whose lock is held.
        self.word.fetch_and(!(WAITERS | STARVING), Ordering::Relaxed);
    }

    /// Looks again a few times. While somebody does so nobody else need be woken.
    fn spin(&self, woken: &mut Woken) -> ControlFlow<()> {
        for _ in 0..spins() {
            let ControlFlow::Continue(word) = self.take(*woken) else {
                return ControlFlow::Break(());
            };
            if word & STARVING != 0 {
                break;
            }
            if word & (WAITERS | WOKEN) == WAITERS {
                // A try is enough. Relaxed: tells the holder not to wake, no more.
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
            for _ in 0..MUTEX_PAUSES {
                spin_loop();
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes the lock, or says in the word that somebody waits, in one step with seeing that there
    /// is a holder who will look. Under the queue's lock.
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
            // Relaxed: about the queue, whose lock is held. If the word is starving and not
            // locked, whoever unlocked it is on its way to the queue.
            let waits =
                self.word.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed);
            if waits.is_ok() {
                return ControlFlow::Continue(());
            }
        }
    }
}

/// Whether a wait since then has lasted too long.
fn is_starving(since: Option<Instant>, now: Instant) -> bool {
    since.is_some_and(|since| now.saturating_duration_since(since) >= STARVING_AFTER)
}

/// How often to look again: never, on a machine with one CPU.
fn spins() -> u32 {
    static SPINS: OnceLock<u32> = OnceLock::new();
    *SPINS.get_or_init(|| match std::thread::available_parallelism() {
        Ok(one) if one.get() == 1 => 0,
        _ => MUTEX_SPINS,
    })
}

/// Something that has a raw mutex.
///
/// # Safety
///
/// It gives the same mutex each time, which stays where it is as long as this lives, wherever this
/// is moved to.
pub(crate) unsafe trait AsRaw {
    /// The mutex.
    fn raw(&self) -> &RawMutex;
}

// SAFETY: it is borrowed.
unsafe impl AsRaw for &RawMutex {
    fn raw(&self) -> &RawMutex {
        self
    }
}

/// A raw mutex as what one waits at.
#[derive(Debug)]
pub(crate) struct At<P>(P);

// SAFETY: one lock, one queue behind it, in place by the promise of `AsRaw`.
unsafe impl<P: AsRaw> Home for At<P> {
    type State = Queue<Wait>;
    type Data = Wait;

    fn with<R>(&self, f: impl FnOnce(&mut Queue<Wait>) -> R) -> R {
        f(&mut self.0.raw().waiting.lock())
    }

    fn queue(state: &mut Queue<Wait>) -> &mut Queue<Wait> {
        state
    }

    fn abandoned(&self, queue: &mut Queue<Wait>, wait: &mut Wait, how: Abandoned) -> Wakers {
        let raw = self.0.raw();
        match (how, wait.gave) {
            (Abandoned::Queued, _) if queue.is_empty() => raw.nobody_waits(),
            (Abandoned::Queued, _) => {}
            // Relaxed: we did nothing under the lock, and owned `WOKEN` for the queue's sake.
            (Abandoned::Fired, Gave::Look) => {
                raw.word.fetch_and(!WOKEN, Ordering::Relaxed);
            }
            // Release: pairs with `take` and `next`; with what was handed to us.
            (Abandoned::Fired, Gave::Lock) => {
                raw.word.fetch_sub(LOCKED, Ordering::Release);
            }
        }
        // Whatever we had, or were first in line for.
        raw.next(queue).into()
    }
}

pin_project! {
    /// A lock about to be taken. Has no waiter until it must wait.
    pub(crate) struct RawLock<P: AsRaw> {
        #[pin]
        waiter: Option<Waiter<At<P>>>,
    }
}

impl<P: AsRaw> RawLock<P> {
    /// One that has not begun.
    pub(crate) const fn new() -> Self {
        Self { waiter: None }
    }

    /// Locks `raw`, which is the same each time, and is what `at` makes something that has it of.
    #[inline]
    pub(crate) fn poll_lock(
        self: Pin<&mut Self>,
        raw: &RawMutex,
        at: impl FnOnce() -> P,
        cx: &Context<'_>,
    ) -> Poll<()> {
        let waiter = self.project().waiter;
        if waiter.is_none() {
            ready!(poll_go_on(cx));
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
        // Before the first change: a clone that panics must not leave `WOKEN` without an owner
        // (I2).
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

    /// Twice in the code: for a goroutine nothing is left of `waker`.
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
            let wait = Wait { since: None, gave: Gave::Look };
            slot.set(Some(Waiter::new(At(at), wait)));
        }
        let Some(mut waiter) = slot.as_pin_mut() else { return Poll::Pending };
        if waiter.state() == State::Queued {
            // Fired meanwhile, or pending with this waker.
            let waits = |_: &_, _: &mut _, _: &mut _| ControlFlow::<()>::Continue(());
            ready!(waiter.as_mut().poll_wait_at(End::Back, waker, waits));
        }
        let mut end = End::Back;
        if waiter.state() == State::Fired {
            let gave = waiter.as_mut().own(|wait| wait.gave);
            waiter.as_mut().reset();
            woken = Woken::Mine;
            end = End::Front;
            if gave == Gave::Lock || waiter.home().0.raw().spin(&mut woken).is_break() {
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
