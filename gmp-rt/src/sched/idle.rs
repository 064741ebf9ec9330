//! Idle Ps, sleeping Ms, and the number of spinning Ms.
//!
//! The [`IdleWord`] is one atomic, because every push reads it. It counts the idle Ps and the
//! *spinning* Ms: those that hold a P and look for work. The [`Lists`] behind a lock hold the Ps
//! and Ms themselves. They are used only when a thread goes to sleep or is woken, which costs far
//! more than the lock.
//!
//! The scheduler's README describes the protocol, why it loses no wake-up, and the alternatives.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst fence in [`IdleWord::wake_wanted`], after work was published | SeqCst fence in [`IdleWord::parked`] and [`IdleWord::found`], before all queues are checked again | either the publisher sees the idle P, or the parker sees the work. The parker is an M, or sysmon before its deep sleep |

use super::pool::Pool;
use super::ps::PTable;
use super::wake::SYSMON;
use crate::m::{M, MId};
use crate::p::{OwnedP, PStatus, StatusKey};
use crate::prim::Ordering::{AcqRel, Relaxed};
use crate::prim::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering::SeqCst, fence};
use crate::sysmon::deep_sleep::{Lull, Watch};
use crate::tuning::{REFUSAL_PAUSE, REFUSAL_PAUSE_MAX, SYSMON_MAX_NAP};
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// The spinning token of one M. It must be given back to the word.
#[must_use]
#[derive(Debug)]
pub(crate) struct Spinning(());

/// What an M must do after it stopped spinning.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// It was the last one: check all queues, and wake another M if there is work left.
    AsLast,
    /// Nothing: other Ms spin, or no P is idle.
    Not,
}

/// Idle Ps in the lower half, spinning Ms in the upper. See the [module](self).
#[derive(Debug)]
pub(crate) struct IdleWord(AtomicU64);

const IDLE: u64 = 1;
const SPIN: u64 = 1 << 32;

fn idle(word: u64) -> u64 {
    word & (SPIN - 1)
}

fn spinning(word: u64) -> u64 {
    word >> 32
}

impl IdleWord {
    /// Creates a word without idle Ps and spinning Ms.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Returns the numbers of idle Ps and spinning Ms. A hint.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let word = self.0.load(Relaxed); // Relaxed: a hint
        (idle(word) as usize, spinning(word) as usize)
    }

    /// Returns a spinning token if the caller, which has published work, must wake an M. That is so
    /// if a P is idle and no M spins.
    #[inline]
    pub(crate) fn wake_wanted(&self) -> Option<Spinning> {
        fence(SeqCst); // O1
        let word = self.0.load(Relaxed); // Relaxed: after the fence
        if idle(word) == 0 || spinning(word) != 0 {
            return None;
        }
        self.claim_wake(word)
    }

    #[cold]
    fn claim_wake(&self, mut word: u64) -> Option<Spinning> {
        while idle(word) > 0 && spinning(word) == 0 {
            match self.0.compare_exchange_weak(word, word + SPIN, AcqRel, Relaxed) {
                Ok(_) => return Some(Spinning(())),
                Err(changed) => word = changed,
            }
        }
        None
    }

    /// Begins to spin, unless half as many Ms spin as Ps are busy.
    pub(crate) fn spin(&self, procs: usize) -> Option<Spinning> {
        let mut word = self.0.load(Relaxed); // Relaxed: the CAS decides
        loop {
            let busy = (procs as u64).saturating_sub(idle(word));
            if 2 * spinning(word) >= busy {
                return None;
            }
            match self.0.compare_exchange_weak(word, word + SPIN, AcqRel, Relaxed) {
                Ok(_) => return Some(Spinning(())),
                Err(changed) => word = changed,
            }
        }
    }

    /// Stops spinning, because work was found.
    pub(crate) fn found(&self, unit: Spinning) -> Recheck {
        let Spinning(()) = unit;
        let word = self.0.fetch_sub(SPIN, AcqRel);
        fence(SeqCst); // O1
        if spinning(word) == 1 && idle(word) > 0 { Recheck::AsLast } else { Recheck::Not }
    }

    /// Stops spinning for another reason. The caller checks the queues or wakes an M that does.
    pub(crate) fn unspin(&self, unit: Option<Spinning>) {
        if let Some(Spinning(())) = unit {
            self.0.fetch_sub(SPIN, AcqRel);
        }
    }

    /// Counts a P as idle and drops its M's spinning token, if it has one, in one step. Under the
    /// lists' lock.
    pub(super) fn park(&self, unit: Option<Spinning>) {
        let spin = unit.map_or(0, |Spinning(())| SPIN);
        self.0.fetch_add(IDLE.wrapping_sub(spin), AcqRel);
    }

    /// Orders the change of the idle word before the last check of all queues.
    pub(crate) fn parked(&self) {
        fence(SeqCst); // O1
    }

    /// Counts a P as not idle any more. Under the lists' lock.
    pub(super) fn unpark(&self) {
        self.0.fetch_sub(IDLE, AcqRel);
    }

    /// Begins to spin, however many Ms spin: for an M that is woken.
    pub(crate) fn spin_anyway(&self) -> Spinning {
        self.0.fetch_add(SPIN, AcqRel);
        Spinning(())
    }
}

/// An idle P.
#[derive(Debug)]
struct IdleP {
    p: OwnedP,
    /// The M that ran it last. It is woken first for this P.
    last_m: Option<Arc<M<Spinning>>>,
}

/// The idle Ps, the sleeping Ms, and how many there may be.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Permits changes of the status of a P.
    pub(crate) key: StatusKey,
    /// All Ps.
    pub(crate) ps: PTable,
    /// Idle Ps. The last one went idle last.
    idle: Vec<IdleP>,
    /// Sleeping Ms.
    pub(crate) pool: Pool,
    /// The number of active Ps: idle and running ones.
    pub(crate) rights: usize,
    /// The target for the number of active Ps.
    pub(crate) procs: usize,
    /// The maximum for the number of active Ps: `max_procs`.
    pub(crate) limit: usize,
    /// Whether the maximum follows the machine, because no caller has set it.
    pub(crate) auto_procs: bool,
    /// Threads that exist or are being started.
    pub(crate) threads: usize,
    /// Idle Ps that were given to a thread that was woken or started for it.
    pub(crate) wakes: u64,
    /// Whether the Ms must exit.
    pub(crate) stopping: bool,
    /// The time at which a P last went idle.
    pub(crate) idle_since: u64,
    /// The state of sysmon.
    pub(super) watch: Watch,
    /// The number of the next M.
    pub(crate) next_m: MId,
    /// Set while the OS refuses threads.
    refusal: Option<Refusal>,
}

/// The back-off after the OS has refused a thread.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// Until then no thread is started.
    until: u64,
    pause: u64,
}

/// Idle Ps and sleeping Ms. See the [module](self).
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) word: CachePadded<IdleWord>,
    /// Whether sysmon is in deep sleep and its wake-up may be late. Written under the lock.
    unwatched: AtomicBool,
    lull: Lull,
    lists: Mutex<Lists>,
}

impl Idle {
    /// Creates empty lists for `procs` active Ps, which are still to be made.
    pub(crate) fn new(procs: usize, auto_procs: bool) -> Self {
        let lists = Lists {
            key: StatusKey::new(),
            ps: PTable::default(),
            idle: Vec::new(),
            pool: Pool::default(),
            rights: 0,
            procs,
            limit: procs,
            auto_procs,
            threads: 0,
            wakes: 0,
            stopping: false,
            idle_since: 0,
            watch: Watch::Awake,
            next_m: SYSMON + 1,
            refusal: None,
        };
        Self {
            word: CachePadded(IdleWord::new()),
            unwatched: AtomicBool::new(false),
            lull: Lull::new(),
            lists: Mutex::new(lists),
        }
    }

    /// Runs `f` with the lists. It must be short: a wake-up of an M takes this lock.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Lists) -> R) -> R {
        let mut lists = self.lists.lock();
        let result = f(&mut lists);
        self.lull.assert_set(lists.watch);
        result
    }

    /// Puts sysmon to sleep until a P runs, or until the time `until`. Returns `false` at once if a
    /// P runs, the runtime stops, or `may` returns `false`.
    ///
    /// The sleep may last longer than until that time if a P runs before.
    pub(crate) fn lull_sysmon(&self, until: u64, may: impl FnOnce(&Lists) -> bool) -> bool {
        self.lull.lie_down();
        let sleeps = self.with(|lists| {
            let sleeps = lists.all_idle() && !lists.stopping && may(lists);
            if sleeps {
                if until != clock::FOREVER {
                    self.lull.wake_at(until);
                }
                self.set_watch(lists, Watch::Asleep);
            }
            sleeps
        });
        while sleeps && !self.has_risen(until) {
            self.lull.sleep(until);
        }
        sleeps
    }

    /// Whether sysmon's deep sleep is over. If so, marks sysmon as awake.
    fn has_risen(&self, until: u64) -> bool {
        self.with(|lists| {
            let called = lists.watch != Watch::Asleep || clock::now() >= until;
            if called {
                self.set_watch(lists, Watch::Awake);
            }
            called
        })
    }

    fn set_watch(&self, lists: &mut Lists, watch: Watch) {
        lists.watch = watch;
        // Relaxed: a thread that takes a P later takes the lock after this store.
        self.unwatched.store(watch.may_be_late(), Relaxed);
    }

    /// Ensures that sysmon wakes, if it is in deep sleep. Called after a P was taken, and after
    /// what is more urgent.
    #[inline]
    pub(crate) fn rouse_sysmon(&self) {
        // Relaxed: see `set_watch`.
        if self.unwatched.load(Relaxed) {
            self.rouse_sysmon_now();
        }
    }

    #[cold]
    fn rouse_sysmon_now(&self) {
        self.with(|lists| {
            let before = lists.watch;
            if !before.may_be_late() {
                return;
            }
            let watch = lists.watch_wanted();
            // Before other threads see the new state, and so under the lock: an M that sees it
            // begins a poll that may block, and this thread may lose its CPU here.
            match watch {
                Watch::Called => self.lull.wake_soon(),
                Watch::Hushable | Watch::Alarmed if before == Watch::Asleep => {
                    self.lull.wake_later();
                }
                _ => {}
            }
            self.set_watch(lists, watch);
        });
    }

    /// Wakes sysmon from deep sleep without delay: only sysmon can do the work, or the runtime
    /// stops.
    #[cold]
    pub(crate) fn call_sysmon(&self) {
        self.with(|lists| self.call_sysmon_from(lists));
    }

    /// [`call_sysmon`](Self::call_sysmon) with the lists locked.
    pub(super) fn call_sysmon_from(&self, lists: &mut Lists) {
        if lists.watch != Watch::Awake {
            // Under the lock: see `rouse_sysmon_now`.
            self.lull.wake_now();
            self.set_watch(lists, Watch::Called);
        }
    }

    /// Cancels sysmon's scheduled wake-up, if all Ps are idle again and `tended`: Ms wait for the
    /// next timer and for the network. The pending timer also means that there is no deadlock to
    /// report.
    pub(crate) fn hush_sysmon(&self, lists: &mut Lists, tended: bool) {
        if lists.watch == Watch::Hushable && tended && lists.all_idle() {
            self.set_watch(lists, Watch::Asleep);
            self.lull.put_off();
        }
    }

    /// Puts a P on the idle list. `last_m` is the M that ran it, and `unit` that M's spinning
    /// token, if it has one.
    pub(crate) fn put_p(
        &self,
        lists: &mut Lists,
        p: OwnedP,
        last_m: Option<Arc<M<Spinning>>>,
        unit: Option<Spinning>,
    ) {
        p.set_status(PStatus::Idle, &lists.key);
        lists.idle.push(IdleP { p, last_m });
        lists.idle_since = clock::now();
        self.word.park(unit);
    }

    /// Takes the P that went idle last and marks it as running.
    pub(crate) fn take_p(&self, lists: &mut Lists) -> Option<OwnedP> {
        let IdleP { p, .. } = lists.idle.pop()?;
        self.mark_taken(lists, &p);
        Some(p)
    }

    /// Takes the P that went idle last, and a sleeping M for it if there is one.
    pub(crate) fn take_p_and_m(
        &self,
        lists: &mut Lists,
    ) -> Option<(OwnedP, Option<Arc<M<Spinning>>>)> {
        let IdleP { p, last_m } = lists.idle.pop()?;
        self.mark_taken(lists, &p);
        Some((p, lists.pool.take(last_m.as_ref())))
    }

    /// Takes an idle P with a number for which `wanted` returns `true`.
    pub(crate) fn take_p_if(
        &self,
        lists: &mut Lists,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<OwnedP> {
        let at = lists.idle.iter().rposition(|idle| wanted(idle.p.number()))?;
        let IdleP { p, .. } = lists.idle.remove(at);
        self.mark_taken(lists, &p);
        Some(p)
    }

    fn mark_taken(&self, lists: &Lists, p: &OwnedP) {
        self.word.unpark();
        p.set_status(PStatus::Running, &lists.key);
    }
}

impl Lists {
    /// Whether the runtime stops and no thread is left.
    pub(crate) fn is_over(&self) -> bool {
        self.stopping && self.threads == 0
    }

    /// Whether no P has run for `time`.
    pub(crate) fn long_idle(&self, time: Duration) -> bool {
        self.all_idle() && self.idle_since + clock::nanos(time) <= clock::now()
    }

    /// Returns the state of a sysmon in deep sleep after a P was taken.
    fn watch_wanted(&self) -> Watch {
        let rest = clock::now().saturating_sub(self.idle_since);
        match self.watch {
            _ if self.idle.is_empty() => Watch::Called,
            Watch::Asleep if rest >= clock::nanos(SYSMON_MAX_NAP) => Watch::Hushable,
            Watch::Asleep => Watch::Alarmed,
            set => set,
        }
    }

    /// Whether no P runs.
    pub(crate) fn all_idle(&self) -> bool {
        self.idle.len() == self.rights
    }

    /// Whether a P is idle for which no thread can be had: none sleeps, and the OS has just refused
    /// one.
    pub(super) fn is_refused(&self) -> bool {
        let backs_off = || self.refusal.is_some_and(|refusal| clock::now() < refusal.until);
        !self.idle.is_empty() && self.pool.is_empty() && backs_off()
    }

    /// Records that the OS has refused a thread. The back-off doubles with each refusal.
    pub(super) fn note_refusal(&mut self) {
        let (least, most) = (clock::nanos(REFUSAL_PAUSE), clock::nanos(REFUSAL_PAUSE_MAX));
        let pause = self.refusal.map_or(least, |refusal| (2 * refusal.pause).min(most));
        self.refusal = Some(Refusal { until: clock::now() + pause, pause });
    }

    /// Records that the OS has started a thread.
    pub(super) fn note_started(&mut self) {
        self.refusal = None;
        self.wakes += 1;
    }
}
