//! Who has nothing to do: idle Ps, sleeping Ms, and how many Ms are looking for work.
//!
//! Two parts. The [`IdleWord`] is read on every push, so it is one atomic: how many Ps are idle
//! and how many Ms are *spinning* (awake, with a P, without work, looking). The [`Lists`] behind
//! a lock say which Ps and Ms; they are touched only when a thread goes to sleep or is woken,
//! which costs a thousand times more anyway.
//!
//! The protocol, why it loses no wake-up, and the alternatives are in the scheduler's README.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst fence in [`IdleWord::wake_wanted`], after work was published | SeqCst fence in [`IdleWord::parked`] and [`IdleWord::found`], before all queues are looked at again | either the publisher sees the idle P, or the parker sees the work |

use super::lull::{Lull, Watch};
use super::wake::SYSMON;
use crate::m::{M, MId};
use crate::p::{OwnedP, PStatus, StatusKey};
use crate::prim::Ordering::{AcqRel, Relaxed};
use crate::prim::{AtomicBool, AtomicU64, CachePadded, Mutex, Ordering::SeqCst, fence};
use crate::tuning::SYSMON_MAX_NAP;
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// One unit of "an M is looking for work". Must be given back to the word.
#[must_use]
#[derive(Debug)]
pub(crate) struct Spinning(());

/// What an M must do that has just stopped spinning.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// It was the last: look at all queues, and wake another M if there is work left.
    AsLast,
    /// Others still look.
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
    /// Nobody idle, nobody spinning.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Idle Ps and spinning Ms just now, for display.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let word = self.0.load(Relaxed); // Relaxed: for display
        (idle(word) as usize, spinning(word) as usize)
    }

    /// After work was published: whether to wake an M for it. There must be an idle P, and
    /// nobody who is looking already.
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

    /// Begins to look for work, unless half of the busy Ps do so already.
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

    /// Stops looking, because work was found.
    pub(crate) fn found(&self, unit: Spinning) -> Recheck {
        let Spinning(()) = unit;
        let word = self.0.fetch_sub(SPIN, AcqRel);
        fence(SeqCst); // O1
        if spinning(word) == 1 && idle(word) > 0 { Recheck::AsLast } else { Recheck::Not }
    }

    /// Stops looking, for another reason than work. Who calls it looks at the queues, or wakes
    /// somebody who does.
    pub(crate) fn unspin(&self, unit: Option<Spinning>) {
        if let Some(Spinning(())) = unit {
            self.0.fetch_sub(SPIN, AcqRel);
        }
    }

    /// A P goes idle, and its M stops looking if it did: in one step. Under the lists' lock.
    pub(super) fn park(&self, unit: Option<Spinning>) {
        let spin = unit.map_or(0, |Spinning(())| SPIN);
        self.0.fetch_add(IDLE.wrapping_sub(spin), AcqRel);
    }

    /// To be called after a P went idle, before its M looks at all queues a last time.
    pub(crate) fn parked(&self) {
        fence(SeqCst); // O1
    }

    /// A P leaves the idle list. Under the lists' lock.
    pub(super) fn unpark(&self) {
        self.0.fetch_sub(IDLE, AcqRel);
    }

    /// A woken M looks for work: one unit more, whatever the limit.
    pub(crate) fn spin_anyway(&self) -> Spinning {
        self.0.fetch_add(SPIN, AcqRel);
        Spinning(())
    }
}

/// The M that sleeps until the next timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeper {
    pub(crate) m: MId,
    pub(crate) until: u64,
}

/// Which Ps are idle and which Ms sleep, and how many there may be.
#[derive(Debug)]
pub(crate) struct Lists {
    /// For changes of the status of a P.
    pub(crate) key: StatusKey,
    /// Idle Ps; the last was idle last.
    idle: Vec<OwnedP>,
    /// P objects without a right to run.
    pub(crate) spare: Vec<OwnedP>,
    /// Sleeping Ms; the last fell asleep last.
    pub(crate) pool: Vec<Arc<M<Spinning>>>,
    /// Rights to run that exist: idle and running Ps.
    pub(crate) rights: usize,
    /// Rights to run that there should be.
    pub(crate) procs: usize,
    /// Rights to run that there may be.
    pub(crate) limit: usize,
    /// Whether that number follows the machine: nobody has set it.
    pub(crate) auto_procs: bool,
    /// Threads that exist or are being started.
    pub(crate) threads: usize,
    /// The M that wakes for the next timer, if one sleeps.
    pub(crate) sleeper: Option<Sleeper>,
    /// The M that waits in the netpoller, or is about to, or comes back from there. It gives the
    /// role up itself, so that there are never two.
    pub(crate) poller: Option<MId>,
    /// Ms are to exit.
    pub(crate) stopping: bool,
    /// When the last P went idle.
    pub(crate) idle_since: u64,
    /// What sysmon does.
    pub(super) watch: Watch,
    /// For the next M.
    pub(crate) next_m: MId,
}

/// Idle Ps and sleeping Ms. See the [module](self).
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) word: CachePadded<IdleWord>,
    /// Whether sysmon sleeps, with an alarm that may be late at most. Written under the lock.
    unwatched: AtomicBool,
    lull: Lull,
    lists: Mutex<Lists>,
}

impl Idle {
    /// Nobody yet; `procs` rights are to be made.
    pub(crate) fn new(procs: usize, auto_procs: bool) -> Self {
        let lists = Lists {
            key: StatusKey::new(),
            idle: Vec::new(),
            spare: Vec::new(),
            pool: Vec::new(),
            rights: 0,
            procs,
            limit: procs,
            auto_procs,
            threads: 0,
            sleeper: None,
            poller: None,
            stopping: false,
            idle_since: 0,
            watch: Watch::Awake,
            next_m: SYSMON + 1,
        };
        Self {
            word: CachePadded(IdleWord::new()),
            unwatched: AtomicBool::new(false),
            lull: Lull::new(),
            lists: Mutex::new(lists),
        }
    }

    /// Runs `f` with the lists. Short: this lock is between a submitter and a wake-up.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Lists) -> R) -> R {
        f(&mut self.lists.lock())
    }

    /// Sysmon sleeps until somebody runs, if nobody does and it `may`; `false` if somebody does.
    pub(crate) fn lull_sysmon(&self, may: impl FnOnce(&Lists) -> bool) -> bool {
        self.lull.lie_down();
        let sleeps = self.with(|lists| {
            let sleeps = lists.all_idle() && !lists.stopping && may(lists);
            if sleeps {
                self.set_watch(lists, Watch::Asleep);
            }
            sleeps
        });
        while sleeps && !self.has_risen() {
            self.lull.sleep();
        }
        sleeps
    }

    /// Whether sysmon, which has slept, has cause to be awake; then it is.
    fn has_risen(&self) -> bool {
        self.with(|lists| {
            let called = lists.watch != Watch::Asleep;
            if called {
                self.set_watch(lists, Watch::Awake);
            }
            called
        })
    }

    fn set_watch(&self, lists: &mut Lists, watch: Watch) {
        lists.watch = watch;
        // Relaxed: who takes a P later has taken the lock after us.
        self.unwatched.store(watch.may_be_late(), Relaxed);
    }

    /// Sees to it that sysmon looks, if it sleeps. To be called by whoever has made a P run, after it has done what
    /// is urgent.
    #[inline]
    pub(crate) fn rouse_sysmon(&self) {
        // Relaxed: see `set_watch`.
        if self.unwatched.load(Relaxed) {
            self.rouse_sysmon_now();
        }
    }

    #[cold]
    fn rouse_sysmon_now(&self) {
        let (before, watch) = self.with(|lists| {
            let before = lists.watch;
            if before.may_be_late() {
                self.set_watch(lists, lists.watch_wanted());
            }
            (before, lists.watch)
        });
        // After the lock: late is not too late. Before us nobody can put it off, since all do not rest; and if
        // they do by now, sysmon wakes without cause.
        match watch {
            Watch::Called if before != Watch::Called => self.lull.wake_soon(),
            Watch::Hushable | Watch::Alarmed if before == Watch::Asleep => self.lull.wake_later(),
            _ => {}
        }
    }

    /// Wakes sysmon at once, if it sleeps: there is something that only it can see to, or the runtime ends.
    #[cold]
    pub(crate) fn call_sysmon(&self) {
        let asleep = self.with(|lists| {
            let asleep = lists.watch != Watch::Awake;
            if asleep {
                self.set_watch(lists, Watch::Called);
            }
            asleep
        });
        if asleep {
            self.lull.wake_now();
        }
    }

    /// Lets sysmon sleep on, if it was roused for a moment that is over: all rest, `tended` by somebody who wakes
    /// for the next timer, so they are not dead either.
    pub(crate) fn hush_sysmon(&self, lists: &mut Lists, tended: bool) {
        if lists.watch == Watch::Hushable && tended && lists.all_idle() {
            self.set_watch(lists, Watch::Asleep);
            self.lull.put_off();
        }
    }

    /// Puts a P on the idle list; `unit` is its M's, if that was looking for work.
    pub(crate) fn put_p(&self, lists: &mut Lists, p: OwnedP, unit: Option<Spinning>) {
        p.set_status(PStatus::Idle, &lists.key);
        lists.idle.push(p);
        lists.idle_since = clock::now();
        self.word.park(unit);
    }

    /// Takes the P that went idle last, to run with it.
    pub(crate) fn take_p(&self, lists: &mut Lists) -> Option<OwnedP> {
        let p = lists.idle.pop()?;
        self.word.unpark();
        p.set_status(PStatus::Running, &lists.key);
        Some(p)
    }
}

impl Lists {
    /// Whether the runtime ends and no thread is left.
    pub(crate) fn is_over(&self) -> bool {
        self.stopping && self.threads == 0
    }

    /// Whether nobody has run for so long.
    pub(crate) fn long_idle(&self, time: Duration) -> bool {
        self.all_idle() && self.idle_since + clock::nanos(time) <= clock::now()
    }

    /// How soon a sysmon that sleeps has to look.
    fn watch_wanted(&self) -> Watch {
        let rest = clock::now().saturating_sub(self.idle_since);
        match self.watch {
            _ if self.idle.is_empty() => Watch::Called,
            Watch::Asleep if rest >= clock::nanos(SYSMON_MAX_NAP) => Watch::Hushable,
            Watch::Asleep => Watch::Alarmed,
            set => set,
        }
    }

    /// Whether nobody runs.
    pub(crate) fn all_idle(&self) -> bool {
        self.idle.len() == self.rights
    }

    /// Takes a sleeping M out of the pool: `preferred` if it is there, else the latest. One that
    /// waits for a timer or for the network is taken only if there is no other: somebody has to.
    pub(crate) fn take_m(&mut self, preferred: MId) -> Option<Arc<M<Spinning>>> {
        let (sleeper, poller) = (self.sleeper.map(|sleeper| sleeper.m), self.poller);
        let awaits_none = |m: &Arc<M<Spinning>>| Some(m.id) != sleeper && Some(m.id) != poller;
        let at = (self.pool.iter().rposition(|m| m.id == preferred && awaits_none(m)))
            .or_else(|| self.pool.iter().rposition(awaits_none))
            .or_else(|| self.pool.iter().rposition(|m| Some(m.id) != poller))
            .or_else(|| self.pool.len().checked_sub(1))?;
        let m = self.pool.remove(at);
        self.forget_sleeper(m.id);
        Some(m)
    }

    /// Takes the M `id` out of the pool; `false` if somebody else took it.
    pub(crate) fn leave_pool(&mut self, id: MId) -> bool {
        let Some(at) = self.pool.iter().rposition(|m| m.id == id) else {
            return false;
        };
        self.pool.remove(at);
        self.forget_sleeper(id);
        true
    }

    /// The M `id` sleeps for no timer any more.
    pub(crate) fn forget_sleeper(&mut self, id: MId) {
        if self.sleeper.is_some_and(|sleeper| sleeper.m == id) {
            self.sleeper = None;
        }
    }
}
