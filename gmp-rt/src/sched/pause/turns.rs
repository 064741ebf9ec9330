//! The pauser: the thread that decides which hogs run.
//!
//! It works in rounds. A round reads the CPU clocks of all hogs that run, ends turns of more than
//! [`TURN`] if another hog waits, and begins turns. A hog that sleeps in a call needs no turn.
//!
//! A turn begins [`WAKE_LATENCY`] after another ended. The kernel puts a thread that wakes up on an
//! idle CPU. While the old hog still runs, its CPU is not idle, and the new one would queue behind
//! a hog that keeps its turn.
//!
//! There may be thousands of threads, of which few compute. A round visits each slot once, and does
//! all else for the hogs and for threads that wait for a lock. The state of a thread that stays
//! asleep is not read again.

use super::{CALLS, LIMITS, PAUSER, PauseSlot, SLOTS, slots};
use crate::g::Ids;
use crate::prim::Ordering::Relaxed;
use crate::sys::thread_signal::{self, Reason};
use crate::sys::thread_state::{self, ThreadSleep};
use crate::tuning::{PROGRESS_CPU, SLICE, SLOW_CHECK, SYSMON_MAX_NAP, WAKE_LATENCY};
use crate::util::clock;
use std::thread;
use std::time::Duration;

/// CPU time of a turn. Chosen: two slices of a goroutine that has a P. At the end of a turn a CPU
/// is idle until the next hog runs, so shorter turns cost throughput.
const TURN: Duration = SLICE.saturating_mul(2);

/// Between two rounds while a thread is paused. Chosen: a turn may be longer by a tenth.
const ROUND: Duration = SYSMON_MAX_NAP.saturating_mul(2);

/// Between two rounds while a thread runs without a turn, or has not stopped yet.
const QUICK_ROUND: Duration = Duration::from_micros(500);

/// Between two checks of a thread that sleeps, at most. With more than [`MANY`] threads it is
/// longer, so that the checks of all take no more time.
const SLOW_ROUND: Duration = Duration::from_millis(32);

/// See [`SLOW_ROUND`]. Chosen: that many checks in that time take 2 % of a core.
const MANY: usize = 1024;

/// How many hogs run without a turn, to release locks.
const RELIEVED: usize = 4;

/// How often the signal is sent to a thread that does not stop before the handler is suspect.
const RESENT: u32 = 16;

/// What a thread with a slot does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It is no hog.
    NoHog,
    /// It has a turn.
    Turn,
    /// It is paused, or will be when the signal arrives.
    Paused,
    /// It runs without a turn: it is new, or a thread waits for a lock.
    Extra,
    /// It sleeps in a call.
    Asleep,
}

/// What the pauser remembers of a slot.
#[derive(Clone, Copy, Debug)]
struct HogView {
    /// The thread that had the slot at the last check.
    thread: u32,
    mode: Mode,
    /// CPU time when the mode began, and at the last check.
    first_cpu: u64,
    cpu: u64,
    /// The position among the paused hogs: the smallest has the next turn.
    order: u64,
    /// If it sleeps for a lock: hogs of this order and above were relieved for it. 0 after all.
    relief: u64,
    /// When to check it again, and the time between the last two checks.
    check_at: u64,
    pace: u64,
    resent: u32,
}

/// Above the order of every hog.
const NO_RELIEF_YET: u64 = u64::MAX;

impl HogView {
    const NEW: Self = Self {
        thread: 0,
        mode: Mode::NoHog,
        first_cpu: 0,
        cpu: 0,
        order: 0,
        relief: 0,
        check_at: 0,
        pace: 0,
        resent: 0,
    };

    /// Whether it runs for a turn or would like one.
    fn wants_turn(&self) -> bool {
        matches!(self.mode, Mode::Paused | Mode::Extra)
    }

    fn used(&self) -> u64 {
        self.cpu.saturating_sub(self.first_cpu)
    }

    fn begin(&mut self, mode: Mode, slot: &PauseSlot) {
        self.cpu = thread_state::cpu(slot.thread.load(Relaxed)).unwrap_or(self.cpu);
        (self.mode, self.first_cpu) = (mode, self.cpu);
        (self.relief, self.check_at, self.pace) = (0, 0, 0);
    }

    /// Compares with what the thread and its gate say now. A thread that sleeps is checked again
    /// after `slow` at the latest.
    fn check(&mut self, slot: &PauseSlot, now: u64, slow: u64) {
        let (marked, owns) = (slot.gate.is_marked(), slot.serves.load(Relaxed));
        let thread = slot.thread.load(Relaxed);
        if (!marked && !owns) || self.thread != thread {
            *self = Self { thread, ..Self::NEW };
        }
        if !owns {
            // It has no P, so it waits for work; or it is about to leave.
            return;
        }
        match self.mode {
            _ if !marked => self.mode = Mode::NoHog,
            Mode::Paused if slot.gate.is_held() => return self.insist(slot),
            // It is a hog since this round; or the poll that was paused has ended since.
            Mode::NoHog | Mode::Paused => {
                self.order = now;
                self.begin(Mode::Extra, slot);
            }
            Mode::Turn | Mode::Extra | Mode::Asleep => {}
        }
        if now >= self.check_at {
            self.check_clock(slot, now, slow);
        }
    }

    /// Sends the signal again to a thread that has run on: it held a lock of gmp.
    fn insist(&mut self, slot: &PauseSlot) {
        let thread = slot.thread.load(Relaxed);
        if slot.stands.load(Relaxed) {
            self.resent = 0;
        } else if let Some(cpu) = thread_state::cpu(thread).filter(|cpu| *cpu != self.cpu) {
            self.cpu = cpu;
            self.resent = self.resent.saturating_add(1);
            thread_signal::send(thread, Reason::Pause);
        }
    }

    /// Reads what the thread does. Its state costs ten times as much as its clock, and is read only
    /// if the clock does not advance and the thread was awake before.
    fn check_clock(&mut self, slot: &PauseSlot, now: u64, slow: u64) {
        let thread = slot.thread.load(Relaxed);
        let Some(cpu) = thread_state::cpu(thread) else { return };
        let moved = std::mem::replace(&mut self.cpu, cpu) != cpu;
        let sleeps_on = !moved && self.pace > 0;
        if !sleeps_on {
            match if moved { Some(ThreadSleep::No) } else { thread_state::sleep(thread) } {
                None | Some(ThreadSleep::No) => {
                    (self.relief, self.pace) = (0, 0);
                    if self.mode == Mode::Asleep {
                        self.begin(Mode::Extra, slot);
                    }
                    return;
                }
                Some(ThreadSleep::Lock) => self.relief = NO_RELIEF_YET,
                Some(ThreadSleep::Call) => {}
            }
        }
        if self.mode != Mode::NoHog {
            self.mode = Mode::Asleep;
        }
        self.pace = (2 * self.pace).clamp(clock::nanos(QUICK_ROUND), slow);
        self.check_at = if self.relief == 0 { now + self.pace } else { now };
    }
}

/// The pauser. See the [module](self).
#[derive(Debug)]
struct Turns {
    /// By slot, as many as are in use.
    views: Vec<HogView>,
    /// The slots of hogs, and of threads that wait for a lock.
    busy: Vec<usize>,
    /// A count of hogs for each runtime.
    counts: Vec<usize>,
    /// Whether another handler took the signal away. Then nothing is paused.
    refused: bool,
}

/// Runs the pauser, on its own thread.
pub(super) fn run() {
    let mut turns = Turns::new();
    loop {
        let calls = CALLS.count();
        if let Some(time) = turns.round() {
            thread::sleep(time);
            continue;
        }
        // Nothing is paused, so this thread may wait for locks.
        CALLS.wait(calls, Some(SLOW_CHECK));
        let mut runs = PAUSER.lock();
        if CALLS.count() == calls {
            *runs = false;
            return;
        }
        turns.refused = false;
    }
}

impl Turns {
    /// Allocates, which nothing else here does: see the locks in the header of the parent module.
    fn new() -> Self {
        Self {
            views: Vec::with_capacity(SLOTS),
            busy: Vec::with_capacity(SLOTS),
            counts: vec![0; Ids::MAX_RUNTIMES],
            refused: false,
        }
    }

    /// Returns the time until the next round; `None` if nothing is paused or to be paused.
    fn round(&mut self) -> Option<Duration> {
        let (slots, now) = (slots(), clock::now());
        self.check(slots, now);
        if self.busy().any(|(_, view)| view.resent >= RESENT) {
            self.refused = !thread_signal::is_ours();
        }
        self.relieve(slots);
        if self.end_turns(slots, now) {
            thread::sleep(WAKE_LATENCY);
        }
        self.begin_turns(slots);
        for busy in 0..self.busy.len() {
            let at = self.busy[busy];
            let view = &self.views[at];
            if view.mode == Mode::Extra && view.used() >= clock::nanos(PROGRESS_CPU) {
                self.pause(at, &slots[at]);
            }
        }
        self.next_round(slots)
    }

    /// Checks all slots in use.
    fn check(&mut self, slots: &[PauseSlot], now: u64) {
        // Within the capacity: no slot is behind it.
        self.views.resize(slots.len(), HogView::NEW);
        self.busy.clear();
        let slow = clock::nanos(SLOW_ROUND) * slots.len().div_ceil(MANY) as u64;
        for (at, (view, slot)) in self.views.iter_mut().zip(slots).enumerate() {
            // A nanosecond more for each, so that no two hogs have the same order.
            view.check(slot, now + at as u64, slow);
            if view.mode != Mode::NoHog || view.relief > 0 {
                self.busy.push(at);
            }
        }
    }

    /// Iterates over the slots of hogs and of threads that wait for a lock.
    fn busy(&self) -> impl Iterator<Item = (usize, &HogView)> {
        self.busy.iter().map(|at| (*at, &self.views[*at]))
    }

    fn limit(&self, slot: &PauseSlot) -> usize {
        if self.refused { usize::MAX } else { LIMITS[slot.runtime.load(Relaxed)].load(Relaxed) }
    }

    /// Counts the hogs that `pick` takes, for each runtime.
    fn count(&mut self, slots: &[PauseSlot], pick: impl Fn(Mode) -> bool) {
        self.counts.fill(0);
        for at in &self.busy {
            if pick(self.views[*at].mode) {
                self.counts[slots[*at].runtime.load(Relaxed)] += 1;
            }
        }
    }

    /// Lets paused hogs run for threads that sleep for a lock, the last paused first.
    fn relieve(&mut self, slots: &[PauseSlot]) {
        let extra = self.busy().filter(|(_, view)| view.mode == Mode::Extra).count();
        let mut left = RELIEVED.saturating_sub(extra);
        for busy in 0..self.busy.len() {
            let waiter = self.busy[busy];
            while left > 0 && self.views[waiter].relief > 0 {
                let before = self.views[waiter].relief;
                let is_paused = |view: &HogView| view.mode == Mode::Paused && view.order < before;
                let paused = self.busy().filter(|(_, view)| is_paused(view));
                let Some((at, last)) = paused.max_by_key(|(_, view)| view.order) else {
                    self.views[waiter].relief = 0;
                    break;
                };
                self.views[waiter].relief = last.order;
                slots[at].gate.release();
                self.views[at].begin(Mode::Extra, &slots[at]);
                left -= 1;
            }
        }
    }

    /// Ends the turns that are over, and those beyond the limit. Returns whether one ended.
    fn end_turns(&mut self, slots: &[PauseSlot], now: u64) -> bool {
        let mut ended = false;
        self.count(slots, |mode| mode == Mode::Turn);
        for busy in 0..self.busy.len() {
            let at = self.busy[busy];
            let slot = &slots[at];
            if self.views[at].mode != Mode::Turn {
                continue;
            }
            let runtime = slot.runtime.load(Relaxed);
            let waits = |(other, view): &(usize, &HogView)| {
                view.wants_turn() && slots[*other].runtime.load(Relaxed) == runtime
            };
            let over = self.views[at].used() >= clock::nanos(TURN);
            let (limit, turns) = (self.limit(slot), self.counts[runtime]);
            // Hogs for which there is room begin their turns without an end of another one.
            let wait = || self.busy().filter(waits).count() > limit.saturating_sub(turns);
            if turns > limit || (over && wait()) {
                self.counts[runtime] -= 1;
                self.views[at].order = now + at as u64;
                self.pause(at, slot);
                ended = true;
            }
        }
        ended
    }

    /// Begins turns, in the order in which the hogs were paused.
    fn begin_turns(&mut self, slots: &[PauseSlot]) {
        self.count(slots, |mode| mode == Mode::Turn);
        loop {
            let may = |(at, view): &(usize, &HogView)| {
                let slot = &slots[*at];
                view.wants_turn() && self.counts[slot.runtime.load(Relaxed)] < self.limit(slot)
            };
            let Some((at, _)) = self.busy().filter(may).min_by_key(|(_, view)| view.order) else {
                return;
            };
            let slot = &slots[at];
            self.counts[slot.runtime.load(Relaxed)] += 1;
            slot.gate.release();
            self.views[at].begin(Mode::Turn, slot);
        }
    }

    fn pause(&mut self, at: usize, slot: &PauseSlot) {
        let view = &mut self.views[at];
        if slot.gate.hold() {
            (view.mode, view.resent) = (Mode::Paused, 0);
            thread_signal::send(slot.thread.load(Relaxed), Reason::Pause);
        } else {
            view.mode = Mode::NoHog;
        }
    }

    fn next_round(&mut self, slots: &[PauseSlot]) -> Option<Duration> {
        self.count(slots, |mode| mode != Mode::NoHog);
        let paused = self.busy().any(|(_, view)| view.mode == Mode::Paused);
        let next = self.busy().filter_map(|(at, view)| match view.mode {
            _ if view.relief > 0 && paused => Some(QUICK_ROUND),
            Mode::Extra => Some(QUICK_ROUND),
            Mode::Paused if (1..RESENT).contains(&view.resent) => Some(QUICK_ROUND),
            Mode::Paused => Some(ROUND),
            Mode::Asleep
                if self.counts[slots[at].runtime.load(Relaxed)] > self.limit(&slots[at]) =>
            {
                Some(SLOW_ROUND)
            }
            Mode::Asleep | Mode::Turn | Mode::NoHog => None,
        });
        next.min()
    }
}
