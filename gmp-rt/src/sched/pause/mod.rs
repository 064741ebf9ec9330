//! Pauses threads that compute without a P.
//!
//! A goroutine that computes without an await loses its P, and its thread continues to compute. Of
//! those threads ("hogs") at most `max_procs` of each runtime run at a time, in turns. The others
//! wait in a signal handler, so they take no CPU time from the threads that have a P. A
//! pause needs no privileges and ends at once, unlike a lower priority.
//!
//! Each M has a [`PauseSlot`] with a [gate](super::gate), in a table of the process. The P of the M
//! knows its place. Sysmon marks the gate as it hands off the P. One thread of the process, the
//! [pauser](turns), decides which hogs run. It serves all runtimes, because a thread of one runtime
//! may wait for a lock that a paused thread of another runtime holds. The turns are counted for
//! each runtime, as Ps are.
//!
//! # Locks
//!
//! A paused thread may hold a lock that others wait for.
//!
//! - Locks of gmp: the handler does not pause a thread that holds one
//!   ([`holds_lock`](crate::prim::holds_lock)). The pauser sends the signal again.
//! - Other locks (`malloc`, std, C): if a thread that has a slot sleeps for a lock, the pauser
//!   lets the paused threads run for [`PROGRESS_CPU`](crate::tuning::PROGRESS_CPU) each, the last
//!   paused first. Sysmons have a slot too. A thread without a slot waits for the turn of the
//!   holder.
//! - The pauser waits for no lock, so it cannot wait for a paused thread. After its start it
//!   calls only [`thread_state`], [`futex`](crate::sys::futex), [`thread_signal`], the clock and
//!   `sleep`. None of them allocates or locks. Its own tables are allocated before the first
//!   pause, and never grow.
//!
//! # What it does not do
//!
//! - It pauses no thread in a marked blocking call. A thread that lost its P because it blocked
//!   counts as a hog after it has computed for a while without a P, which sysmon checks while a P
//!   runs.
//! - A goroutine that a hog is about to wake waits until the hog has its next turn, if the pause
//!   hits the few instructions between the unlock of a channel and the wake-up.
//! - Threads beyond [`SLOTS`] are not paused: one runtime at its limit of threads has fewer. Where
//!   the system refuses the signal, or the program installs its own handler for SIGURG later and
//!   that one does not call ours, no thread is. Then all hogs run.
//! - A child of `fork` has no pauser, so no signal of gmp arrives there.

//! # Why no lower priority instead
//!
//! A nice value of 19 for hogs would need no signal. It is no fallback, because it cannot be taken
//! back: without privileges (`CAP_SYS_NICE`, or a raised `RLIMIT_NICE`) a thread may only lower its
//! priority. The end of the thread after its poll would solve only a part of that.
//!
//! - *Locks.* A hog may hold a lock of malloc, of a channel or of the program. The pauser lets such
//!   a hog run. A hog with nice 19 beside two threads with a P has 1.5 % of a CPU, so one
//!   preemption inside a critical section delays all others by hundreds of milliseconds. With
//!   SCHED_IDLE such waits took up to 6.7 s.
//! - *The same poll with a P.* A hog gets a P back within its poll: at the end of `block_in_place`
//!   or of a nested `block_on`. From then on a P with all its goroutines would have 1.5 %.
//! - *Heirs.* Threads and processes that the goroutine starts inherit the value for ever.
//!
//! So without pauses the number of hogs that run has one bound only, that of threads. The
//! documentation of [`Builder::max_procs`](crate::runtime::Builder::max_procs) says so.

mod turns;

#[cfg(test)]
#[expect(unsafe_code, reason = "fork, and handlers of signals")]
mod tests;

use super::Sched;
use super::gate::{Gate, PauserCalls};
use crate::g::Ids;
use crate::limits::THREAD_LIMIT;
use crate::p::{P, SeatId};
use crate::prim;
use crate::prim::Ordering::{Acquire, Relaxed, Release};
use crate::prim::fixed::{AtomicBool, AtomicU32, AtomicUsize, Mutex};
use crate::sys::own_threads::OwnThread;
use crate::sys::thread_signal::{self, Reason};
use crate::sys::thread_state;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::{ptr, thread};

/// The number of threads of the process that can be paused. Chosen: more than a runtime has at its
/// limit. Slots that no thread has had take address space only.
const SLOTS: usize = 16 * 1024;

const _: () = assert!(SLOTS > THREAD_LIMIT);

/// What the pauser knows of a thread.
#[derive(Debug)]
#[repr(align(64))]
struct PauseSlot {
    gate: Gate,
    /// The OS thread; 0 if the slot is not in use. Written under the lock of [`FREE`].
    thread: AtomicU32,
    runtime: AtomicUsize,
    /// Whether its M owns a P, or it is a sysmon.
    serves: AtomicBool,
    /// Whether the thread waits in the handler. A hint.
    stands: AtomicBool,
}

static TABLE: [PauseSlot; SLOTS] = [const {
    PauseSlot {
        gate: Gate::over(prim::AtomicU32::new(0)),
        thread: AtomicU32::new(0),
        runtime: AtomicUsize::new(0),
        serves: AtomicBool::new(false),
        stands: AtomicBool::new(false),
    }
}; SLOTS];

/// The slots in use are before this one. Changed under the lock, read without it.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The free slots before that one. May contain some behind it.
static FREE: Mutex<BinaryHeap<Reverse<usize>>> = Mutex::new(BinaryHeap::new());

/// How many hogs of each runtime may run.
static LIMITS: [AtomicUsize; Ids::MAX_RUNTIMES] =
    [const { AtomicUsize::new(usize::MAX) }; Ids::MAX_RUNTIMES];

static CALLS: PauserCalls = PauserCalls::over(prim::AtomicU32::new(0));

/// Whether the pauser runs.
static PAUSER: Mutex<bool> = Mutex::new(false);

/// Whether the OS has refused the thread of the pauser.
static REFUSED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SLOT: Cell<Option<&'static PauseSlot>> = const { Cell::new(None) };
}

/// Returns the slots that may be in use.
fn slots() -> &'static [PauseSlot] {
    &TABLE[..USED.load(Acquire)]
}

/// The slot of the calling thread. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Seat;

impl Seat {
    /// Gives the calling M a slot, if one is left.
    pub(super) fn for_m(runtime: u16) -> Self {
        Self::take(runtime)
    }

    /// Gives the calling sysmon a slot: the pauser notices if it waits for a lock.
    pub(crate) fn for_sysmon(runtime: u16) -> Self {
        let seat = Self::take(runtime);
        set_serves(true);
        seat
    }

    fn take(runtime: u16) -> Self {
        SLOT.set(claim(runtime, thread_state::this_thread()).map(|at| &TABLE[at]));
        Self
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // A signal that arrives from here on finds no slot.
        if let Some(slot) = SLOT.take() {
            release(slot);
        }
    }
}

/// Gives `thread` the first free slot: the pauser visits all up to the last one in use.
fn claim(runtime: u16, thread: u32) -> Option<usize> {
    let mut free = FREE.lock();
    let used = USED.load(Relaxed);
    let at = match free.pop() {
        Some(Reverse(at)) if at < used => at,
        _ if used == SLOTS => return None,
        _ => {
            free.clear();
            USED.store(used + 1, Release); // pairs with `slots`
            used
        }
    };
    TABLE[at].runtime.store(runtime.into(), Relaxed);
    TABLE[at].thread.store(thread, Relaxed);
    Some(at)
}

/// Gives back the slot of a thread that is about to end.
fn release(slot: &PauseSlot) {
    let at = place(slot);
    let mut free = FREE.lock();
    slot.serves.store(false, Relaxed);
    slot.gate.leave();
    slot.thread.store(0, Relaxed);
    free.push(Reverse(at));
    // The free slots at the end are not visited any more.
    let last = slots().iter().rposition(|slot| slot.thread.load(Relaxed) != 0);
    USED.store(last.map_or(0, |last| last + 1), Release); // pairs with `slots`
}

/// Returns the place of `slot` in the table.
fn place(slot: &PauseSlot) -> usize {
    (ptr::from_ref(slot).addr() - TABLE.as_ptr().addr()) / size_of::<PauseSlot>()
}

/// Marks the calling M as the owner of a P. Returns its slot.
pub(super) fn own() -> SeatId {
    set_serves(true);
    SLOT.get().map_or(SeatId::NONE, |slot| SeatId::new(place(slot)))
}

/// Marks the calling M as the owner of no P.
pub(super) fn disown() {
    set_serves(false);
}

fn set_serves(serves: bool) {
    if let Some(slot) = SLOT.get() {
        slot.serves.store(serves, Relaxed); // Relaxed: a hint for the pauser
    }
}

/// Marks the calling M as no hog any more. The M has taken the lock of the idle lists since it lost
/// its P, and has not taken another.
pub(super) fn leave() {
    if let Some(slot) = SLOT.get() {
        slot.gate.leave();
    }
}

/// Marks the M that owns `p` as a hog. Only with the lock of the idle lists, as `p` is handed
/// off or later while it stays so.
pub(crate) fn mark(p: &P) {
    p.note_computes();
    // The slot is exact: `p` is in a poll and the caller holds the lock of the idle lists.
    if let Some(at) = p.seat().place() {
        TABLE[at].gate.mark();
    }
}

/// Whether the hogs of this runtime are paused.
pub(crate) fn is_on(sched: &Sched) -> bool {
    sched.config.pause
}

/// Wakes the pauser, because a hog was marked. Starts it if it does not run.
pub(crate) fn call(sched: &Sched) {
    if !is_on(sched) {
        return;
    }
    let mut runs = PAUSER.lock();
    if !*runs && thread_signal::install(Reason::Pause, on_signal) {
        // If no thread can start, the hogs run on. The next hog tries again, and so does sysmon
        // while a hog runs.
        let pauser = thread::Builder::new().name("gmp-pauser".to_owned());
        let run = || {
            let _own = OwnThread::enter();
            turns::run();
        };
        *runs = pauser.spawn(run).is_ok();
        REFUSED.store(!*runs, Relaxed); // Relaxed: a hint
    }
    drop(runs);
    CALLS.call();
}

/// Starts the pauser if the OS has refused its thread before.
pub(crate) fn retry(sched: &Sched) {
    if REFUSED.load(Relaxed) {
        call(sched);
    }
}

/// Handles the signal: waits if the gate of the thread is held.
///
/// Async-signal-safe: it reads thread-locals without a constructor and statics, and waits on a
/// futex.
fn on_signal() {
    let Some(slot) = SLOT.get() else { return };
    if !prim::holds_lock() && slot.gate.is_held() {
        slot.stands.store(true, Relaxed);
        slot.gate.wait();
        slot.stands.store(false, Relaxed);
    }
}

impl Sched {
    /// Sets how many hogs of this runtime may run: all of them after the runtime closes.
    pub(crate) fn limit_hogs(&self) {
        let pauses = self.config.pause && !self.is_closing();
        let limit = if pauses { self.max_procs() } else { usize::MAX };
        LIMITS[usize::from(self.id)].store(limit, Relaxed);
        if self.hogs().0 > 0 {
            call(self);
        }
    }

    /// Returns the number of hogs of this runtime, and how many of them are paused.
    pub(crate) fn hogs(&self) -> (usize, usize) {
        let ours = |slot: &&PauseSlot| {
            slot.runtime.load(Relaxed) == usize::from(self.id) && slot.gate.is_marked()
        };
        let stands = |slot: &&PauseSlot| slot.gate.is_held() && slot.stands.load(Relaxed);
        let hogs = || slots().iter().filter(ours);
        (hogs().count(), hogs().filter(stands).count())
    }
}
