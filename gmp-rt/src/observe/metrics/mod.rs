//! `Metrics`: what a runtime counts, as a snapshot.
//!
//! The counters of a P have one writer, so fast paths pay a load and a store for each. A snapshot
//! adds them up, takes the lock of the idle lists once and stops no thread. States of goroutines
//! and threads are computed from what the scheduler knows anyway (Go: `runtime/metrics`): there is
//! no counter per change of state.

mod histogram;

pub use self::histogram::Histogram;

use crate::g::heap;
use crate::p::{P, Totals};
use crate::sched::Sched;
use crate::sched::idle::IdleLists;
use crate::sched::ps::NumberTotals;
use crate::sys::cpu_limit;
use std::sync::Arc;

/// A snapshot of what a runtime counts.
///
/// It is taken while the runtime runs, so the numbers need not add up. Counts begin with the
/// runtime and never decrease.
///
/// A snapshot takes a lock that a thread also takes to sleep and to wake another one, and reads the
/// counters of all Ps. So take one every second, but not in each request.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let before = gmp::runtime::metrics();
/// gmp::block_on(gmp::spawn(async {})).unwrap();
/// let after = gmp::runtime::metrics();
/// assert!(after.goroutines.created > before.goroutines.created);
/// assert!(after.total().polls > before.total().polls);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The [name](crate::runtime::Builder::name) of the runtime.
    pub runtime: String,
    /// The maximum for the number of active Ps.
    pub max_procs: usize,
    /// The present target for the number of active Ps. It is below `max_procs` where fewer Ps
    /// increase the throughput (see
    /// [`Builder::adaptive_procs`](crate::runtime::Builder::adaptive_procs)).
    pub active_procs: usize,
    /// Active Ps without work.
    pub idle_procs: usize,
    /// CPUs that the process may use by its affinity.
    pub cpus: usize,
    /// Goroutines by state.
    pub goroutines: GoroutineMetrics,
    /// Threads by state.
    pub threads: ThreadMetrics,
    /// Runnable goroutines by queue.
    pub queues: QueueMetrics,
    /// The work of each P, by its number.
    pub procs: Vec<ProcMetrics>,
    /// The work of threads without an active P: their P was handed off in a long poll.
    pub without_p: ProcMetrics,
    /// Threads that were woken, or started, and given an idle P. An attempt without an idle P or
    /// without a thread does not count.
    pub wakeups: u64,
    /// Hand-offs by cause.
    pub handoffs: HandoffMetrics,
    /// Stalls by kind.
    pub stalls: StallMetrics,
    /// Closures of [`spawn_blocking`](crate::spawn_blocking).
    pub blocking: BlockingMetrics,
    /// Polls of the network.
    pub net: NetMetrics,
    /// Timers.
    pub timers: TimerMetrics,
    /// Bytes of goroutine memory that the process holds, for all its runtimes. Memory that is kept
    /// for new goroutines counts. Memory that went back to the OS does not.
    pub heap_bytes: usize,
}

impl Metrics {
    /// Returns the sum of the work of all threads: of [`procs`](Self::procs) and
    /// [`without_p`](Self::without_p).
    #[must_use]
    pub fn total(&self) -> ProcMetrics {
        let mut total = self.without_p.clone();
        self.procs.iter().for_each(|proc| total.merge(proc));
        total
    }
}

/// The goroutines of a runtime, by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoroutineMetrics {
    /// They are polled, and do not block their thread as far as the runtime knows.
    pub running: u64,
    /// They are queued, or wait for a P after a blocking call.
    pub runnable: u64,
    /// They wait for something.
    pub waiting: u64,
    /// They block their thread: in a marked call, or in a poll whose P was handed off for that.
    pub blocked: u64,
    /// All that were spawned.
    pub created: u64,
    /// All that have ended.
    pub finished: u64,
    /// All whose future has panicked.
    pub panicked: u64,
}

impl GoroutineMetrics {
    /// Returns the number of goroutines that have not ended.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.created.saturating_sub(self.finished)
    }
}

/// The worker threads of a runtime, by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadMetrics {
    /// They poll goroutines, or are about to.
    pub running: usize,
    /// They look for work.
    pub spinning: usize,
    /// They sleep.
    pub idle: usize,
    /// One that waits for events of the network, also on behalf of timers.
    pub netpoll: usize,
    /// They are in a blocking call of their goroutine.
    pub blocked: usize,
    /// They compute without a P, because their goroutine computed too long without an await.
    pub cpu_bound: usize,
    /// Those of `cpu_bound` that are paused, because `max_procs` others run (see
    /// [`Builder::pause_cpu_bound`](crate::runtime::Builder::pause_cpu_bound)).
    pub paused: usize,
    /// All that exist or are being started.
    pub total: usize,
    /// All that were started.
    pub started: u64,
    /// Attempts to start a thread that the OS refused.
    pub refused: u64,
}

impl ThreadMetrics {
    /// Returns the number of threads that sleep until there is work: those in `idle` and `netpoll`.
    #[must_use]
    pub fn sleeping(&self) -> usize {
        self.idle + self.netpoll
    }
}

/// The runnable goroutines of a runtime, by queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueMetrics {
    /// In the global queue.
    pub global: usize,
    /// In the inbox: made runnable by an external thread.
    pub inbox: usize,
    /// On the queues of the Ps.
    pub local: usize,
    /// The next goroutine of each P.
    pub next: usize,
}

/// The work of a P number, or of several.
///
/// The two distributions are sampled: one of 256 polls, and one of 64 spawns and wake-ups. Spawns
/// and wake-ups by an external thread are all counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcMetrics {
    /// Polls of goroutines.
    pub polls: u64,
    /// Time slices begun: polls, except those that inherit the slice of the goroutine that woke the
    /// polled one.
    pub slices: u64,
    /// Goroutines that yielded because their slice was over, or because goroutines waited that an
    /// event made runnable.
    pub preempted: u64,
    /// Goroutines spawned here.
    pub spawned: u64,
    /// Goroutines that ended here.
    pub finished: u64,
    /// Times that the P, which had no work, took goroutines from another P. Due timers of another P
    /// do not count.
    pub steals: u64,
    /// Goroutines taken by steals.
    pub stolen: u64,
    /// Times that a thread put the P on the idle list for lack of work. A P that was handed off
    /// before does not count.
    pub parks: u64,
    /// Times that the queue of the P overflowed.
    pub overflows: u64,
    /// Marked blocking calls ([`block_in_place`](crate::block_in_place())).
    pub blocking_calls: u64,
    /// Times from runnable to running, sampled.
    pub schedule_latency: Histogram,
    /// Durations of polls, sampled.
    pub poll_duration: Histogram,
}

impl ProcMetrics {
    fn new(totals: &NumberTotals) -> Self {
        let NumberTotals { counts, calls } = *totals;
        Self {
            polls: counts.polls,
            slices: counts.slices,
            preempted: counts.preempted,
            spawned: counts.spawned,
            finished: counts.finished,
            steals: counts.steals,
            stolen: counts.stolen,
            parks: counts.parks,
            overflows: counts.overflows,
            blocking_calls: calls,
            schedule_latency: counts.ready.into(),
            poll_duration: counts.poll_times.into(),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.polls += other.polls;
        self.slices += other.slices;
        self.preempted += other.preempted;
        self.spawned += other.spawned;
        self.finished += other.finished;
        self.steals += other.steals;
        self.stolen += other.stolen;
        self.parks += other.parks;
        self.overflows += other.overflows;
        self.blocking_calls += other.blocking_calls;
        self.schedule_latency.merge(&other.schedule_latency);
        self.poll_duration.merge(&other.poll_duration);
    }
}

/// Hand-offs: times that the thread of a running goroutine lost its P or gave it away.
///
/// The thread may get a P again before another thread has run on its P. A P that becomes inactive
/// because `max_procs` or `active_procs` became smaller does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandoffMetrics {
    /// In a marked blocking call that took long.
    pub calls: u64,
    /// In a poll that blocked the thread without a mark.
    pub blocked: u64,
    /// In a poll that computed for long.
    pub computing: u64,
    /// By the thread itself: in `block_on`, in `spawn_blocking`, and where it waits for the end of
    /// a runtime.
    pub own: u64,
}

impl HandoffMetrics {
    /// Returns the number of all hand-offs.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls + self.blocked + self.computing + self.own
    }
}

/// Hand-offs that were stalls: other goroutines waited for the P of a goroutine that blocked its
/// thread in an unmarked call, or computed for a time slice (see
/// [`on_stall`](crate::runtime::on_stall)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StallMetrics {
    /// The goroutine blocked its thread.
    pub blocked: u64,
    /// The goroutine computed.
    pub computing: u64,
}

impl StallMetrics {
    /// Returns the number of all stalls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.blocked + self.computing
    }
}

/// Closures of [`spawn_blocking`](crate::spawn_blocking).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingMetrics {
    /// They run.
    pub running: usize,
    /// They wait because
    /// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) others run.
    pub waiting: usize,
}

/// Polls of the network, and the goroutines that they woke.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetMetrics {
    /// Polls by a P, without waiting.
    pub polls: u64,
    /// Waits of an idle thread.
    pub waits: u64,
    /// Polls by sysmon, because no P polled for a millisecond.
    pub sysmon_polls: u64,
    /// Goroutines woken by events.
    pub events: u64,
}

impl NetMetrics {
    /// Returns the number of all polls, with and without waiting.
    #[must_use]
    pub fn total_polls(&self) -> u64 {
        self.polls + self.waits + self.sysmon_polls
    }
}

/// The timers of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerMetrics {
    /// Timers that are set and have not fired.
    pub pending: usize,
    /// Timers that have fired, on any thread. Timers that the end of the runtime wakes early do not
    /// count.
    pub fired: u64,
    /// How late the first timer of each batch of up to 64 fired.
    pub lateness: Histogram,
}

/// What a snapshot reads under the lock of the idle lists.
struct ListMetrics {
    goroutines: GoroutineMetrics,
    threads: ThreadMetrics,
    queues: QueueMetrics,
    numbers: Vec<NumberTotals>,
    without_number: NumberTotals,
    wakeups: u64,
    handoffs: HandoffMetrics,
}

impl Sched {
    /// Takes a snapshot.
    pub(crate) fn metrics(&self) -> Metrics {
        let (idle_procs, spinning) = self.idle.word.counts();
        let mut locked = self.idle.with(|lists| self.read_lists(lists, spinning));
        (locked.threads.cpu_bound, locked.threads.paused) = self.hogs();
        let sleeping = locked.threads.idle + locked.threads.spinning + locked.threads.netpoll;
        let away = locked.threads.blocked + locked.threads.cpu_bound;
        locked.threads.running = locked.threads.total.saturating_sub(sleeping + away);
        locked.goroutines.panicked = *self.panics.lock();
        let stalls = self.stalls.counts();
        let (running, waiting) = self.blocking_calls.counts();
        let mut metrics = Metrics {
            runtime: self.config.name.clone(),
            max_procs: self.max_procs(),
            active_procs: self.procs(),
            idle_procs,
            cpus: cpu_limit::affinity(),
            goroutines: locked.goroutines,
            threads: locked.threads,
            queues: locked.queues,
            procs: locked.numbers.iter().map(ProcMetrics::new).collect(),
            without_p: ProcMetrics::new(&locked.without_number),
            wakeups: locked.wakeups,
            handoffs: locked.handoffs,
            stalls: StallMetrics { blocked: stalls.blocked, computing: stalls.computing },
            blocking: BlockingMetrics { running, waiting },
            net: NetMetrics::default(),
            timers: self.timer_metrics(),
            heap_bytes: heap::resident_bytes(),
        };
        let counts = locked.numbers.iter().chain([&locked.without_number]).map(|n| n.counts);
        metrics.net = self.net_metrics(counts);
        metrics
    }

    fn read_lists(&self, lists: &IdleLists, spinning: usize) -> ListMetrics {
        let owned = || lists.ps.owned().filter(|p| p.goid() != 0);
        let is_blocked = |p: &&Arc<P>| !p.is_returning() && self.blocks(p);
        let blocked = owned().filter(is_blocked).count();
        let returning = owned().filter(|p| p.is_returning()).count();
        let running = owned().count() - blocked - returning;
        let active = || lists.ps.active();
        let queues = QueueMetrics {
            global: self.globq.len(),
            inbox: self.inbox.len(),
            local: active().map(|p| p.runq.len()).sum(),
            next: active().filter(|p| p.runq.has_next()).count(),
        };
        // Returning Ms are entries of the global queue.
        let runnable = (queues.global + queues.inbox + queues.local + queues.next) as u64;
        let live = self.live_of(lists);
        let spawned = self.spawned_of(lists);
        let (running, blocked_goroutines) = (running as u64, blocked as u64);
        let goroutines = GoroutineMetrics {
            running,
            runnable,
            blocked: blocked_goroutines,
            waiting: live.saturating_sub(running + runnable + blocked_goroutines),
            created: spawned,
            finished: spawned - live,
            panicked: 0,
        };
        // An M that waits in the netpoller is in the pool, unless it is just coming back.
        let netpoll = usize::from(self.net.is_awaited()).min(lists.pool.len());
        let threads = ThreadMetrics {
            total: lists.threads.count,
            idle: lists.pool.len() - netpoll,
            netpoll,
            spinning,
            blocked,
            started: lists.threads.started,
            refused: lists.threads.refused,
            ..ThreadMetrics::default()
        };
        let counts = lists.hand_offs;
        let handoffs = HandoffMetrics {
            calls: counts.calls,
            blocked: counts.blocked,
            computing: counts.computing,
            own: counts.own,
        };
        let (numbers, without_number) = lists.ps.all_totals();
        let wakeups = lists.threads.wakes;
        ListMetrics { goroutines, threads, queues, numbers, without_number, wakeups, handoffs }
    }

    fn net_metrics(&self, counts: impl Iterator<Item = Totals>) -> NetMetrics {
        let (waits, wait_events) = self.net.slept();
        let (sysmon_polls, sysmon_events) = self.net.rescued();
        let mut net = NetMetrics { waits, sysmon_polls, polls: 0, events: 0 };
        net.events = wait_events + sysmon_events;
        for counts in counts {
            net.polls += counts.netpolls;
            net.events += counts.net_events;
        }
        net
    }

    fn timer_metrics(&self) -> TimerMetrics {
        let mut metrics = TimerMetrics::default();
        for timers in self.ps.all_timers() {
            metrics.pending += timers.len();
            metrics.fired += timers.fired();
            metrics.lateness.merge(&timers.lateness().into());
        }
        metrics
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests;
