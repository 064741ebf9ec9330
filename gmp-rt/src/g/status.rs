//! The status word of a goroutine: phase, flags and reference count in one atomic.
//!
//! Every read-modify-write of the word is in this file, behind a named transition that returns the
//! caller's next step. One word holds everything because the questions depend on each other. A
//! wake-up during the poll, interest in the output and the last reference must each be decided in
//! the same step in which the phase changes.
//!
//! # Truth table
//!
//! | phase | owner of the future | on a run queue | next phases |
//! |-------|---------------------|----------------|-------------|
//! | `FREE` | none; the cell is on a free list | no | `RUNNABLE` |
//! | `RUNNABLE` | the queue, or the thread with the `GRef` | yes, or soon | `RUNNING` |
//! | `RUNNING` | the M that polls it | no | `RUNNABLE`, `WAITING`, `DEAD` |
//! | `WAITING` | none; the next waker takes it | no | `RUNNABLE` |
//! | `DEAD` | there is no future | no | `FREE` |
//!
//! The word of a free cell is 0. The output of a dead goroutine belongs to the `JoinHandle` if
//! `JOIN_INTEREST` is set.
//!
//! | flag | meaning |
//! |------|---------|
//! | `NOTIFIED` | the goroutine was woken while it ran |
//! | `FROM_OUTSIDE` | by an event: a timer, the network or an external thread |
//! | `CANCELLED` | the future is to be dropped, not polled |
//! | `JOIN_INTEREST` | the `JoinHandle` exists |
//! | `JOIN_WAKER` | the join slot holds a waker; it is the handle's, from `DEAD` on the M's |
//! | `TIMED` | runnable, and the header has the time since when |
//!
//! References: one for being alive (held by the phase, given up on `DEAD`), one for the
//! `JoinHandle`, one for each `Waker` clone. So a goroutine without any waker stays visible in a
//! dump until the runtime shuts down, as in Go.
//!
//! # Orderings
//!
//! All changes of the phase or a flag but [`Status::init`] and [`Status::reset`] are `AcqRel`
//! read-modify-writes. So the word has one modification order, and each transition sees everything
//! done before the one it follows. The functions are methods of [`Status`].
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in `init` | Acquire in `try_ref` and every transition | header and future |
//! | O2 | AcqRel in `wake`, also without a change | AcqRel in `to_running` | the waker's writes |
//! | O3 | AcqRel in `after_pending`, `after_yield` | AcqRel in `wake`, `to_running` | the future |
//! | O4 | AcqRel in `complete` | Acquire in `is_dead`, AcqRel in `set_join_waker` | the output |
//! | O5 | AcqRel in `set_join_waker` | AcqRel in `complete` | the waker in the join slot |
//! | O6 | Release in `drop_ref` | Acquire load there | all uses of the cell before it is freed |

use crate::prim::AtomicUsize;
use crate::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::throw::throw;

const PHASE: usize = 0b111;
const FREE: usize = 0;
const RUNNABLE: usize = 1;
const RUNNING: usize = 2;
const WAITING: usize = 3;
const DEAD: usize = 4;

const NOTIFIED: usize = 1 << 3;
const FROM_OUTSIDE: usize = 1 << 7;
const CANCELLED: usize = 1 << 4;
const JOIN_INTEREST: usize = 1 << 5;
const JOIN_WAKER: usize = 1 << 6;

const TIMED: usize = 1 << 8;

const REF: usize = 1 << 9;
/// Only a program that leaks wakers in a loop reaches this count.
const REF_LIMIT: usize = usize::MAX / 2;

/// The phase of a goroutine, for dumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Free,
    Runnable,
    Running,
    Waiting,
    Dead,
}

/// Result of [`Status::to_running`].
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToRunning {
    /// Poll the future.
    Run,
    /// Record how long the goroutine was runnable, then poll the future.
    Timed,
    /// The goroutine was aborted: drop the future, then complete.
    Cancelled,
}

/// The next step after a poll that was not the last.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterPoll {
    /// The goroutine waits. The thread that wakes it owns it: do not touch it again.
    Parked,
    /// The goroutine is runnable again: put it on a queue.
    Requeue,
    /// An event has woken the goroutine during the poll: queue it as a newcomer.
    Newcomer,
    /// The goroutine was aborted during the poll and is still running: drop the future, then
    /// complete.
    Cancelled,
}

/// The cause of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A goroutine of the same runtime.
    Goroutine,
    /// A timer, the network or an external thread.
    Event,
}

/// The next step of a waker.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The goroutine is runnable and the caller owns it: put it on a queue.
    Submit,
    /// Nothing.
    Nothing,
}

/// Whether a completing goroutine has stored its output in the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// It was written: the handle existed.
    Stored,
    /// It was dropped: the handle was gone.
    Dropped,
}

/// The next step of the completing M.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterDone {
    /// Nothing: its reference is given up and other references remain.
    Released,
    /// Free the cell.
    Free,
    /// The handle was dropped meanwhile: drop the output, then the reference.
    DropOutput,
    /// Take the join waker, drop the reference, wake.
    WakeJoiner,
}

/// The next step of a `JoinHandle` that is dropped.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterDetach {
    /// Nothing: its reference is given up.
    Released,
    /// Take the join waker back and drop it, then the reference.
    TakeWaker,
    /// Drop the output, then the reference.
    DropOutput,
}

/// The next step after a reference was dropped.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterRef {
    /// Other references remain.
    Shared,
    /// Free the cell.
    Free,
}

/// The goroutine is dead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IsDead;

/// The status word. See the [module](self). The default is the word of a free cell.
#[derive(Debug, Default)]
pub(crate) struct Status(AtomicUsize);

impl Status {
    /// Makes a free cell a runnable goroutine with a handle. Only for the owner of the free cell.
    #[inline]
    pub(crate) fn init(&self) {
        self.0.store(RUNNABLE | JOIN_INTEREST | (2 * REF), Release); // O1
    }

    /// Makes the cell free again. Only when no reference is left.
    #[inline]
    pub(crate) fn reset(&self) {
        // Relaxed: no reference exists, and walkers ignore a word without one.
        self.0.store(FREE, Relaxed);
    }

    /// Returns the current phase.
    pub(crate) fn phase(&self) -> Phase {
        // Relaxed: for display; the phase may have changed when the caller reads it.
        match self.0.load(Relaxed) & PHASE {
            RUNNABLE => Phase::Runnable,
            RUNNING => Phase::Running,
            WAITING => Phase::Waiting,
            DEAD => Phase::Dead,
            _ => Phase::Free,
        }
    }

    /// Makes a runnable goroutine running. Only for the thread that took the goroutine off a queue.
    #[inline]
    pub(crate) fn to_running(&self) -> ToRunning {
        // An addition, not a CAS loop: only this thread may change the phase, and other threads may
        // change flags and references concurrently.
        let before = self.0.fetch_add(RUNNING - RUNNABLE, AcqRel); // O2, O3
        if before & PHASE != RUNNABLE {
            throw!("to_running: goroutine is not runnable (word {before:#x})");
        }
        if before & (CANCELLED | TIMED) == 0 {
            ToRunning::Run
        } else {
            self.to_running_rarely(before)
        }
    }

    #[cold]
    fn to_running_rarely(&self, before: usize) -> ToRunning {
        if before & TIMED != 0 {
            // AcqRel as all changes of flags. Only this thread reads or changes this one.
            self.0.fetch_and(!TIMED, AcqRel);
        }
        if before & CANCELLED == 0 { ToRunning::Timed } else { ToRunning::Cancelled }
    }

    /// Marks a runnable goroutine whose header has the time since when it is runnable. Only for the
    /// thread that is about to put it on a queue.
    #[cold]
    pub(crate) fn set_timed(&self) {
        self.0.fetch_or(TIMED, AcqRel); // the queue carries the time to the thread that polls
    }

    /// Makes a running goroutine waiting, or runnable if it was woken during the poll.
    #[inline]
    pub(crate) fn after_pending(&self) -> AfterPoll {
        self.after_poll(|now| match (now & NOTIFIED, now & FROM_OUTSIDE) {
            (0, _) => AfterPoll::Parked,
            (_, 0) => AfterPoll::Requeue,
            (_, _) => AfterPoll::Newcomer,
        })
    }

    /// Makes a running goroutine that yields runnable: its wake-up and its requeue in one step.
    #[inline]
    pub(crate) fn after_yield(&self) -> AfterPoll {
        self.after_poll(|_| AfterPoll::Requeue)
    }

    #[inline(always)]
    fn after_poll(&self, choose: impl Fn(usize) -> AfterPoll) -> AfterPoll {
        let mut now = self.0.load(Relaxed);
        loop {
            if now & CANCELLED != 0 {
                return AfterPoll::Cancelled;
            }
            let choice = choose(now);
            let phase = if choice == AfterPoll::Parked { WAITING } else { RUNNABLE };
            let next = (now & !(PHASE | NOTIFIED | FROM_OUTSIDE)) | phase;
            match self.0.compare_exchange_weak(now, next, AcqRel, Relaxed) {
                // O3
                Ok(_) => return choice,
                Err(changed) => now = changed,
            }
        }
    }

    /// Makes a waiting goroutine runnable. For a running goroutine sets `NOTIFIED`, which its M
    /// reads after the poll. Only then `cause` is called.
    #[inline]
    pub(crate) fn wake(&self, cause: impl Fn() -> Cause) -> Wake {
        self.wake_with(0, cause)
    }

    /// Wakes, as [`wake`](Self::wake), by value: drops the waker's reference in the same step.
    ///
    /// Returns `Err` if the goroutine is dead. Then the caller still has the reference.
    #[inline]
    pub(crate) fn wake_and_drop_ref(&self, cause: impl Fn() -> Cause) -> Result<Wake, IsDead> {
        let mut now = self.0.load(Relaxed);
        loop {
            let (next, wake) = match now & PHASE {
                WAITING => ((now & !PHASE) | RUNNABLE, Wake::Submit),
                RUNNING => (now | notified(cause()), Wake::Nothing),
                RUNNABLE => (now, Wake::Nothing),
                _ => return Err(IsDead),
            };
            // Never the last reference: a goroutine that is not dead holds one.
            match self.0.compare_exchange_weak(now, next - REF, AcqRel, Relaxed) {
                // O2
                Ok(_) => return Ok(wake),
                Err(changed) => now = changed,
            }
        }
    }

    /// Requests that the goroutine ends at its next await, and wakes it.
    pub(crate) fn abort(&self) -> Wake {
        self.wake_with(CANCELLED, || Cause::Goroutine)
    }

    #[inline(always)]
    fn wake_with(&self, flags: usize, cause: impl Fn() -> Cause) -> Wake {
        let mut now = self.0.load(Relaxed);
        loop {
            let (next, wake) = match now & PHASE {
                WAITING => ((now & !PHASE) | RUNNABLE, Wake::Submit),
                RUNNING => (now | notified(cause()), Wake::Nothing),
                // Written again without a change: the next poll must see this thread's earlier
                // writes (O2).
                RUNNABLE => (now, Wake::Nothing),
                _ => return Wake::Nothing,
            };
            match self.0.compare_exchange_weak(now, next | flags, AcqRel, Relaxed) {
                // O2
                Ok(_) => return wake,
                Err(changed) => now = changed,
            }
        }
    }

    /// Whether the `JoinHandle` exists. Once false, always false.
    #[inline]
    pub(crate) fn is_joinable(&self) -> bool {
        // Relaxed: only decides which thread drops the output; `complete` decides again.
        self.0.load(Relaxed) & JOIN_INTEREST != 0
    }

    /// Makes a running goroutine dead. Only for the M that ran the goroutine, after the future is
    /// dropped.
    #[inline]
    pub(crate) fn complete(&self, output: Output) -> AfterDone {
        let mut now = self.0.load(Relaxed);
        loop {
            let dead = (now & !(PHASE | NOTIFIED | FROM_OUTSIDE)) | DEAD;
            let joinable = now & JOIN_INTEREST != 0;
            let (next, then) = if joinable && now & JOIN_WAKER != 0 {
                (dead, AfterDone::WakeJoiner)
            } else if !joinable && output == Output::Stored {
                (dead, AfterDone::DropOutput)
            } else if dead - REF < REF {
                (dead - REF, AfterDone::Free)
            } else {
                (dead - REF, AfterDone::Released)
            };
            match self.0.compare_exchange_weak(now, next, AcqRel, Relaxed) {
                // O4, O5
                Ok(_) => return then,
                Err(changed) => now = changed,
            }
        }
    }

    /// Whether the goroutine has completed and its output, if stored, can be read.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.0.load(Acquire) & PHASE == DEAD // O4
    }

    /// Sets `JOIN_WAKER` after the handle has put a waker into the join slot.
    #[inline]
    pub(crate) fn set_join_waker(&self) -> Result<(), IsDead> {
        self.unless_dead(|now| now | JOIN_WAKER) // O5
    }

    /// Takes the join slot back for the handle, which may then change the waker.
    #[inline]
    pub(crate) fn unset_join_waker(&self) -> Result<(), IsDead> {
        self.unless_dead(|now| now & !JOIN_WAKER) // O5
    }

    #[inline(always)]
    fn unless_dead(&self, change: impl Fn(usize) -> usize) -> Result<(), IsDead> {
        let mut now = self.0.load(Acquire); // O4
        loop {
            if now & PHASE == DEAD {
                return Err(IsDead);
            }
            match self.0.compare_exchange_weak(now, change(now), AcqRel, Acquire) {
                // O4, O5
                Ok(_) => return Ok(()),
                Err(changed) => now = changed,
            }
        }
    }

    /// Gives up the interest of a `JoinHandle` that is dropped.
    #[inline]
    pub(crate) fn detach(&self) -> AfterDetach {
        let mut now = self.0.load(Acquire); // O4
        loop {
            let (next, then) = if now & PHASE == DEAD {
                return AfterDetach::DropOutput;
            } else if now & JOIN_WAKER != 0 {
                (now & !(JOIN_INTEREST | JOIN_WAKER), AfterDetach::TakeWaker)
            } else {
                // Never the last reference: the goroutine is not dead.
                ((now & !JOIN_INTEREST) - REF, AfterDetach::Released)
            };
            match self.0.compare_exchange_weak(now, next, AcqRel, Acquire) {
                // O4, O5
                Ok(_) => return then,
                Err(changed) => now = changed,
            }
        }
    }

    /// Adds a reference. The caller has one.
    #[inline]
    pub(crate) fn add_ref(&self) {
        // Relaxed: the caller's reference keeps the cell alive.
        if self.0.fetch_add(REF, Relaxed) > REF_LIMIT {
            throw!("add_ref: reference count overflow, wakers are leaked");
        }
    }

    /// Adds a reference for a walker, which has none. Returns `false` if the cell is free or dead.
    pub(crate) fn try_ref(&self) -> bool {
        let mut now = self.0.load(Acquire); // O1
        loop {
            if now < REF || matches!(now & PHASE, FREE | DEAD) {
                return false;
            }
            match self.0.compare_exchange_weak(now, now + REF, AcqRel, Acquire) {
                // O1
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
    }

    /// Returns the number of wakers of a waiting goroutine; `None` if it does not wait. The caller
    /// has one reference, which is not counted.
    ///
    /// A reference of another walk counts as a waker.
    pub(crate) fn wakers(&self) -> Option<usize> {
        let now = self.0.load(Acquire); // O3
        (now & PHASE == WAITING).then(|| other_refs(now).saturating_sub(1))
    }

    /// Whether a waker of the running goroutine exists, besides that of the poll. Only inside the
    /// poll.
    ///
    /// A reference of a walk or of an abort handle counts as a waker.
    pub(crate) fn has_wakers(&self) -> bool {
        // Relaxed: this thread has counted the wakers of this poll. It has also seen the step to
        // running, which is after the counts of the other polls. A clone of a waker is no first
        // one.
        other_refs(self.0.load(Relaxed)) > 0
    }

    /// Drops a reference.
    #[inline]
    pub(crate) fn drop_ref(&self) -> AfterRef {
        let before = self.0.fetch_sub(REF, Release); // O6
        if before < 2 * REF {
            // A load and not a fence: ThreadSanitizer does not support fences.
            let _ = self.0.load(Acquire); // O6
            AfterRef::Free
        } else {
            AfterRef::Shared
        }
    }
}

/// Returns the number of references in the word `now` of a goroutine that is not dead, without that
/// for being alive and the `JoinHandle`'s.
fn other_refs(now: usize) -> usize {
    (now / REF).saturating_sub(1 + usize::from(now & JOIN_INTEREST != 0))
}

/// Returns the flags of a goroutine that was woken while it ran.
fn notified(cause: Cause) -> usize {
    match cause {
        Cause::Goroutine => NOTIFIED,
        Cause::Event => NOTIFIED | FROM_OUTSIDE,
    }
}
