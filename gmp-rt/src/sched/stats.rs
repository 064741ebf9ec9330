//! Statistics of a runtime.

use super::Sched;
use crate::g::heap;
use crate::p::Counters;

/// A snapshot of a runtime's counters.
///
/// It is taken while the runtime runs, so the numbers need not be consistent.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let before = gmp::runtime::stats();
/// gmp::block_on(gmp::spawn(async {})).unwrap();
/// assert!(gmp::runtime::stats().spawned > before.spawned);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The maximum for the number of active Ps: `max_procs`.
    pub procs: usize,
    /// The present target for the number of active Ps. It is below `procs` where fewer Ps increase
    /// the throughput (see [`Builder::adaptive`](crate::Builder::adaptive)).
    pub width: usize,
    /// Active Ps without work.
    pub idle_procs: usize,
    /// Worker threads of the runtime.
    pub threads: usize,
    /// Worker threads that sleep.
    pub idle_threads: usize,
    /// Worker threads that spin: they are awake and look for work.
    pub spinning_threads: usize,
    /// Worker threads that compute without a P, because their goroutine computed too long without
    /// an await.
    pub cpu_bound_threads: usize,
    /// The number of those threads that are paused, because `max_procs` others run (see
    /// [`Builder::pause_cpu_bound`](crate::Builder::pause_cpu_bound)).
    pub paused_threads: usize,
    /// Goroutines that have not finished.
    pub goroutines: u64,
    /// Goroutines in the global queue and the inbox.
    pub global_queue: usize,
    /// Goroutines in local queues, without the one that each P runs next.
    pub local_queues: usize,
    /// Pending timers.
    pub timers: usize,
    /// Goroutines spawned so far.
    pub spawned: u64,
    /// Goroutines finished so far.
    pub finished: u64,
    /// Polls so far.
    pub polls: u64,
    /// Successful steals so far.
    pub steals: u64,
    /// Goroutines moved by steals so far.
    pub stolen: u64,
    /// Attempts of Ps to wake a thread so far.
    pub wakes: u64,
    /// Times a thread gave up its P for lack of work so far.
    pub parks: u64,
    /// Times a local queue overflowed so far.
    pub overflows: u64,
    /// Goroutines so far that blocked their thread in an unmarked call, or computed for a time
    /// slice, and lost their P.
    pub stalls: u64,
    /// Timers fired so far.
    pub timers_fired: u64,
    /// Polls of the network so far, blocking and non-blocking.
    pub netpolls: u64,
    /// Bytes of goroutine memory mapped from the OS, by all runtimes of the process.
    pub heap_bytes: usize,
}

impl Sched {
    /// Returns the present values of the counters.
    pub(crate) fn stats(&self) -> Stats {
        let sum =
            |pick: fn(&Counters) -> u64| -> u64 { self.ps.iter().map(|p| pick(&p.counters)).sum() };
        let (idle_procs, spinning_threads) = self.idle.word.counts();
        let (threads, idle_threads) = self.idle.with(|lists| (lists.threads, lists.pool.len()));
        let (cpu_bound_threads, paused_threads) = self.hogs();
        Stats {
            procs: self.max_procs(),
            width: self.procs(),
            idle_procs,
            threads,
            idle_threads,
            spinning_threads,
            cpu_bound_threads,
            paused_threads,
            goroutines: self.live(),
            global_queue: self.globq.len() + self.inbox.len(),
            local_queues: self.ps.iter().map(|p| p.runq.len()).sum(),
            timers: self.ps.iter().map(|p| p.timers.len()).sum(),
            spawned: self.live.spawned() + sum(|c| c.spawned.get()),
            finished: self.live.finished() + sum(|c| c.finished.get()),
            polls: sum(|c| c.polls.get()),
            steals: sum(|c| c.steals.get()),
            stolen: sum(|c| c.stolen.get()),
            wakes: sum(|c| c.wakes.get()),
            parks: sum(|c| c.parks.get()),
            overflows: sum(|c| c.overflows.get()),
            stalls: self.stall_count(),
            timers_fired: sum(|c| c.timers_fired.get()),
            netpolls: self.net.polls() + sum(|c| c.netpolls.get()),
            heap_bytes: heap::stats().mapped_bytes,
        }
    }
}
