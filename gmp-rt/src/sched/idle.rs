//! The idle Ps, the sleeping Ms, and how many there may be. Behind one lock.
//!
//! [`IdleLists`] holds the Ps and Ms that the [`IdleWord`] counts. A thread uses it only when it
//! goes to sleep, wakes another one, or changes the status of a P. Each of these costs far more
//! than the lock.

use super::hand_off_counts::HandOffCounts;
use super::pool::Pool;
use super::ps::{PTable, Surplus};
use super::quota::Quota;
use super::thread_count::ThreadCount;
pub(crate) use crate::m::idle_word::{IdleWord, Spinning};
use crate::m::{M, MId};
use crate::p::{OwnedP, PStatus, StatusKey};
use crate::prim::{CachePadded, Mutex};
use crate::sysmon::deep_sleep::{DeepSleep, IdleTime, SysmonState};
use crate::tuning::{SLICE, SYSMON_MAX_NAP};
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// An idle P.
#[derive(Debug)]
struct IdleP {
    p: OwnedP,
    /// The M that ran it last. It is woken first for this P.
    last_m: Option<Arc<M>>,
}

/// The idle Ps, the sleeping Ms, and how many there may be. See the [module](self).
#[derive(Debug)]
pub(crate) struct IdleLists {
    /// Permits changes of the status of a P.
    pub(crate) key: StatusKey,
    /// All Ps.
    pub(crate) ps: PTable,
    /// Idle Ps. The last one went idle last.
    idle: Vec<IdleP>,
    /// The time at which a P last went idle.
    pub(crate) idle_since: u64,
    /// Sleeping Ms.
    pub(crate) pool: Pool,
    /// How many Ps are active, and how many may be.
    pub(crate) quota: Quota,
    pub(crate) threads: ThreadCount,
    pub(crate) hand_offs: HandOffCounts,
    /// The state of sysmon.
    pub(crate) sysmon: SysmonState,
    /// Whether the Ms must exit.
    pub(crate) stopping: bool,
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

/// The idle Ps and the sleeping Ms of a runtime. See the [module](self).
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) word: CachePadded<IdleWord>,
    pub(super) deep_sleep: DeepSleep,
    lists: Mutex<IdleLists>,
}

impl Idle {
    /// Creates empty lists for `procs` active Ps, which are still to be made.
    pub(crate) fn new(procs: usize, auto_procs: bool) -> Self {
        let lists = IdleLists {
            key: StatusKey::new(),
            ps: PTable::default(),
            idle: Vec::new(),
            idle_since: 0,
            pool: Pool::default(),
            quota: Quota::new(procs, auto_procs),
            threads: ThreadCount::default(),
            hand_offs: HandOffCounts::default(),
            sysmon: SysmonState::Running,
            stopping: false,
            refusal: None,
        };
        Self {
            word: CachePadded(IdleWord::new()),
            deep_sleep: DeepSleep::new(),
            lists: Mutex::new(lists),
        }
    }

    /// Runs `f` with the lists. It must be short: a wake-up of an M takes this lock.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut IdleLists) -> R) -> R {
        let mut lists = self.lists.lock();
        let result = f(&mut lists);
        self.deep_sleep.assert_set(lists.sysmon);
        result
    }

    /// Puts a P on the idle list. `last_m` is the M that ran it, and `token` that M's spinning
    /// token, if it has one.
    pub(crate) fn put_p(
        &self,
        lists: &mut IdleLists,
        p: OwnedP,
        last_m: Option<Arc<M>>,
        token: Option<Spinning>,
    ) {
        p.set_status(PStatus::Idle, &lists.key);
        lists.idle.push(IdleP { p, last_m });
        lists.idle_since = clock::now();
        self.word.add_idle(token);
    }

    /// Takes the P that went idle last and marks it as running.
    pub(crate) fn take_p(&self, lists: &mut IdleLists) -> Option<OwnedP> {
        let IdleP { p, .. } = lists.idle.pop()?;
        self.mark_taken(lists, &p);
        Some(p)
    }

    /// Takes the P that went idle last, and a sleeping M for it if there is one.
    pub(crate) fn take_p_and_m(&self, lists: &mut IdleLists) -> Option<(OwnedP, Option<Arc<M>>)> {
        let IdleP { p, last_m } = lists.idle.pop()?;
        self.mark_taken(lists, &p);
        Some((p, lists.pool.take(last_m.as_ref())))
    }

    /// Takes an idle P with a number for which `wanted` returns `true`.
    pub(crate) fn take_p_if(
        &self,
        lists: &mut IdleLists,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<OwnedP> {
        let at = lists.idle.iter().rposition(|idle| wanted(idle.p.number()))?;
        let IdleP { p, .. } = lists.idle.remove(at);
        self.mark_taken(lists, &p);
        Some(p)
    }

    fn mark_taken(&self, lists: &IdleLists, p: &OwnedP) {
        self.word.remove_idle();
        p.set_status(PStatus::Running, &lists.key);
    }
}

impl IdleLists {
    /// Counts a thread before it exists, so that two threads cannot pass the limit together.
    pub(super) fn reserve_thread(&mut self, max: usize) -> Option<MId> {
        if self.stopping { None } else { self.threads.reserve(max) }
    }

    /// Takes the spare Ps out that are not worth keeping: more than `max_procs`.
    pub(super) fn trim_spare(&mut self) -> Surplus {
        self.ps.trim_spare(self.quota.max)
    }

    /// Whether the runtime stops and no thread is left.
    pub(crate) fn is_over(&self) -> bool {
        self.stopping && self.threads.count == 0
    }

    /// Whether no P has run for `time`.
    pub(crate) fn long_idle(&self, time: Duration) -> bool {
        self.all_idle() && self.idle_since + clock::nanos(time) <= clock::now()
    }

    /// Returns for how long a P has been idle, for sysmon.
    pub(super) fn idle_time(&self) -> IdleTime {
        match self.idle.is_empty() {
            true => IdleTime::AllBusy,
            false => IdleTime::Idle { nanos: clock::now().saturating_sub(self.idle_since) },
        }
    }

    /// Whether no P runs.
    pub(crate) fn all_idle(&self) -> bool {
        self.idle.len() == self.quota.active
    }

    /// Whether a P is idle for which no thread can be had: none sleeps, and the OS has just refused
    /// one.
    pub(super) fn is_refused(&self) -> bool {
        let backs_off = || self.refusal.is_some_and(|refusal| clock::now() < refusal.until);
        !self.idle.is_empty() && self.pool.is_empty() && backs_off()
    }

    /// Records that the OS has refused a thread. The back-off doubles with each refusal up to a
    /// slice. A refused start takes 20 to 50 µs, so retries cost at most 5 % of a core.
    pub(super) fn note_refusal(&mut self) {
        let (least, most) = (clock::nanos(SYSMON_MAX_NAP), clock::nanos(SLICE));
        let pause = self.refusal.map_or(least, |refusal| (2 * refusal.pause).min(most));
        self.refusal = Some(Refusal { until: clock::now() + pause, pause });
        self.threads.refused += 1;
    }

    /// Records that the OS has started a thread.
    pub(super) fn note_started(&mut self) {
        self.refusal = None;
        self.threads.started += 1;
        self.threads.wakes += 1;
    }
}
