//! The status word of a goroutine: phase, flags and reference count in one atomic.
//!
//! Every read-modify-write of the word is in this file, behind a named transition that returns
//! what the caller has to do next. One word, because the questions cross: "was I woken while I
//! ran?", "does anybody still want the output?" and "was this the last reference?" must each be
//! answered at the same instant as the phase changes.
//!
//! # Truth table
//!
//! | phase | who owns the future | on a run queue | next phases |
//! |-------|---------------------|----------------|-------------|
//! | `FREE` | nobody; the cell is on a free list, the word is 0 | no | `RUNNABLE` |
//! | `RUNNABLE` | the queue, or whoever carries the `GRef` to it | yes, or about to be | `RUNNING` |
//! | `RUNNING` | the M that polls it | no | `RUNNABLE`, `WAITING`, `DEAD` |
//! | `WAITING` | nobody; the next waker takes it | no | `RUNNABLE` |
//! | `DEAD` | none is left; the output belongs to the `JoinHandle` if `JOIN_INTEREST` | no | `FREE` |
//!
//! Flags: `NOTIFIED` was woken while running; `CANCELLED` is to be dropped, not polled;
//! `JOIN_INTEREST` the `JoinHandle` is alive; `JOIN_WAKER` the join slot holds a waker, which
//! belongs to the completing M once the phase is `DEAD` and to the handle before.
//!
//! References: one for being alive (held by the phase itself, given up on `DEAD`), one for the
//! `JoinHandle`, one for each `Waker` clone. So a goroutine that nobody can wake any more stays
//! visible in a dump until the runtime goes down, as in Go.
//!
//! # Orderings
//!
//! All transitions are `AcqRel` read-modify-writes, so the word has one modification order and
//! each transition sees everything done before the one it follows.
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store in [`Status::init`] | Acquire in [`Status::try_ref`] and every transition | the header and the future |
//! | O2 | AcqRel in [`Status::wake`], also when nothing changes | AcqRel in [`Status::to_running`] | what the waker did before it woke |
//! | O3 | AcqRel in [`Status::after_pending`], [`Status::after_yield`] | AcqRel in [`Status::wake`], [`Status::to_running`] | the future as this poll left it |
//! | O4 | AcqRel in [`Status::complete`] | Acquire in [`Status::is_dead`], AcqRel in [`Status::set_join_waker`] | the output |
//! | O5 | AcqRel in [`Status::set_join_waker`] | AcqRel in [`Status::complete`] | the waker in the join slot |
//! | O6 | Release in [`Status::drop_ref`] | Acquire load there | all uses of the cell before it is freed |

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
const CANCELLED: usize = 1 << 4;
const JOIN_INTEREST: usize = 1 << 5;
const JOIN_WAKER: usize = 1 << 6;

const REF: usize = 1 << 8;
/// A count no program reaches unless it leaks wakers in a loop.
const REF_LIMIT: usize = usize::MAX / 2;

/// The phase of a goroutine, as dumps show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Free,
    Runnable,
    Running,
    Waiting,
    Dead,
}

/// What [`Status::to_running`] found.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToRunning {
    /// Poll it.
    Run,
    /// It was aborted: drop the future, then complete.
    Cancelled,
}

/// What to do after a poll that was not the last.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterPoll {
    /// It waits; whoever wakes it owns it. Do not touch it again.
    Parked,
    /// It is runnable again: put it on a queue.
    Requeue,
    /// It was aborted meanwhile and is still running: drop the future, then complete.
    Cancelled,
}

/// What a waker has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// It is runnable and the caller's: put it on a queue.
    Submit,
    /// Nothing.
    Nothing,
}

/// Whether the output lies in the cell when a goroutine completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// It was written, because the handle was alive.
    Stored,
    /// It was dropped, because nobody could ask for it any more.
    Dropped,
}

/// What the completing M has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterDone {
    /// Nothing: its reference is given up and others remain.
    Released,
    /// Free the cell.
    Free,
    /// The handle went away meanwhile: drop the output, then the reference.
    DropOutput,
    /// Take the join waker, drop the reference, wake.
    WakeJoiner,
}

/// What a `JoinHandle` has to do as it goes away.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterDetach {
    /// Nothing: its reference is given up.
    Released,
    /// Take back the join waker and drop it, then the reference.
    TakeWaker,
    /// Drop the output unless it was taken, then the reference.
    DropOutput,
}

/// What to do after a reference was dropped.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterRef {
    /// Others remain.
    Shared,
    /// Free the cell.
    Free,
}

/// The goroutine is dead: its output is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IsDead;

/// The status word. See the [module](self). The default is that of a free cell.
#[derive(Debug, Default)]
pub(crate) struct Status(AtomicUsize);

impl Status {
    /// Makes a free cell a runnable goroutine with a handle. Only the owner of the free cell.
    #[inline]
    pub(crate) fn init(&self) {
        self.0.store(RUNNABLE | JOIN_INTEREST | (2 * REF), Release); // O1
    }

    /// Gives the cell back: only when the last reference is gone.
    #[inline]
    pub(crate) fn reset(&self) {
        // Relaxed: nobody has a reference, and walkers ignore a word without one.
        self.0.store(FREE, Relaxed);
    }

    /// The phase just now.
    pub(crate) fn phase(&self) -> Phase {
        // Relaxed: for display, the answer is stale anyway.
        match self.0.load(Relaxed) & PHASE {
            RUNNABLE => Phase::Runnable,
            RUNNING => Phase::Running,
            WAITING => Phase::Waiting,
            DEAD => Phase::Dead,
            _ => Phase::Free,
        }
    }

    /// Runnable → running. Only whoever took the goroutine off a queue.
    #[inline]
    pub(crate) fn to_running(&self) -> ToRunning {
        // An addition, not a CAS loop: the phase is ours, and flags and references may change
        // beside it.
        let before = self.0.fetch_add(RUNNING - RUNNABLE, AcqRel); // O2, O3
        if before & PHASE != RUNNABLE {
            throw!("to_running: goroutine is not runnable (word {before:#x})");
        }
        if before & CANCELLED == 0 { ToRunning::Run } else { ToRunning::Cancelled }
    }

    /// Running → waiting, or back to runnable if it was woken meanwhile.
    #[inline]
    pub(crate) fn after_pending(&self) -> AfterPoll {
        self.after_poll(
            |now| {
                if now & NOTIFIED == 0 { AfterPoll::Parked } else { AfterPoll::Requeue }
            },
        )
    }

    /// Running → runnable, for a goroutine that yields: its wake-up and its requeue in one.
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
            let next = (now & !(PHASE | NOTIFIED)) | phase;
            match self.0.compare_exchange_weak(now, next, AcqRel, Relaxed) {
                // O3
                Ok(_) => return choice,
                Err(changed) => now = changed,
            }
        }
    }

    /// Wakes: waiting → runnable, or leaves a note for the M that runs it.
    #[inline]
    pub(crate) fn wake(&self) -> Wake {
        self.wake_with(0)
    }

    /// [`wake`](Self::wake) by a waker that is used up: its reference goes in the same step.
    ///
    /// `Err` if the goroutine is dead: then the reference is still the caller's.
    #[inline]
    pub(crate) fn wake_and_drop_ref(&self) -> Result<Wake, IsDead> {
        let mut now = self.0.load(Relaxed);
        loop {
            let (next, wake) = match now & PHASE {
                WAITING => ((now & !PHASE) | RUNNABLE, Wake::Submit),
                RUNNING => (now | NOTIFIED, Wake::Nothing),
                RUNNABLE => (now, Wake::Nothing),
                _ => return Err(IsDead),
            };
            // Never the last reference: a goroutine that is not dead holds one itself.
            match self.0.compare_exchange_weak(now, next - REF, AcqRel, Relaxed) {
                // O2
                Ok(_) => return Ok(wake),
                Err(changed) => now = changed,
            }
        }
    }

    /// Asks the goroutine to end at its next await, and wakes it for that.
    pub(crate) fn abort(&self) -> Wake {
        self.wake_with(CANCELLED)
    }

    #[inline(always)]
    fn wake_with(&self, flags: usize) -> Wake {
        let mut now = self.0.load(Relaxed);
        loop {
            let (next, wake) = match now & PHASE {
                WAITING => ((now & !PHASE) | RUNNABLE, Wake::Submit),
                RUNNING => (now | NOTIFIED, Wake::Nothing),
                // Written again as it is: the coming poll must see what we did before (O2).
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

    /// Whether the output may still be asked for. Once false, false for ever.
    #[inline]
    pub(crate) fn is_joinable(&self) -> bool {
        // Relaxed: only decides who drops the output; `complete` decides again.
        self.0.load(Relaxed) & JOIN_INTEREST != 0
    }

    /// Running → dead. Only the M that ran it, after the future is dropped.
    #[inline]
    pub(crate) fn complete(&self, output: Output) -> AfterDone {
        let mut now = self.0.load(Relaxed);
        loop {
            let dead = (now & !(PHASE | NOTIFIED)) | DEAD;
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

    /// Whether it has completed and its output, if kept, can be read.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.0.load(Acquire) & PHASE == DEAD // O4
    }

    /// Announces the waker that the handle has put into the join slot.
    #[inline]
    pub(crate) fn set_join_waker(&self) -> Result<(), IsDead> {
        self.unless_dead(|now| now | JOIN_WAKER) // O5
    }

    /// Takes the join slot back, to change the waker in it.
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

    /// The `JoinHandle` goes away.
    #[inline]
    pub(crate) fn detach(&self) -> AfterDetach {
        let mut now = self.0.load(Acquire); // O4
        loop {
            let (next, then) = if now & PHASE == DEAD {
                return AfterDetach::DropOutput;
            } else if now & JOIN_WAKER != 0 {
                (now & !(JOIN_INTEREST | JOIN_WAKER), AfterDetach::TakeWaker)
            } else {
                // Never the last reference: it is not dead.
                ((now & !JOIN_INTEREST) - REF, AfterDetach::Released)
            };
            match self.0.compare_exchange_weak(now, next, AcqRel, Acquire) {
                // O4, O5
                Ok(_) => return then,
                Err(changed) => now = changed,
            }
        }
    }

    /// One reference more, by someone who has one.
    #[inline]
    pub(crate) fn add_ref(&self) {
        // Relaxed: the caller's own reference keeps the cell alive.
        if self.0.fetch_add(REF, Relaxed) > REF_LIMIT {
            throw!("add_ref: reference count overflow, wakers are leaked");
        }
    }

    /// One reference more, by someone who found the cell in a slab; `false` if it is free or dead.
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

    /// One reference less.
    #[inline]
    pub(crate) fn drop_ref(&self) -> AfterRef {
        let before = self.0.fetch_sub(REF, Release); // O6
        if before < 2 * REF {
            // A load and not a fence: ThreadSanitizer does not understand fences.
            let _ = self.0.load(Acquire); // O6
            AfterRef::Free
        } else {
            AfterRef::Shared
        }
    }
}
