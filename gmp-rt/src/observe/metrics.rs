//! `Metrics`: the counters of a runtime.

use crate::g::heap;
use crate::p::P;
use crate::sched::Sched;

/// A snapshot of a runtime's counters.
///
/// It is taken while the runtime runs, so the numbers need not be consistent. Totals count from the
/// start of the runtime.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let before = gmp::runtime::metrics();
/// gmp::block_on(gmp::spawn(async {})).unwrap();
/// assert!(gmp::runtime::metrics().spawned > before.spawned);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The maximum for the number of active Ps: `max_procs`.
    pub procs: usize,
    /// The present target for the number of active Ps. It is below `procs` where fewer Ps increase
    /// the throughput (see [`Builder::adaptive_procs`](crate::runtime::Builder::adaptive_procs)).
    pub active_procs: usize,
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
    /// [`Builder::pause_cpu_bound`](crate::runtime::Builder::pause_cpu_bound)).
    pub paused_threads: usize,
    /// Closures of [`spawn_blocking`](crate::spawn_blocking) that run.
    pub blocking_calls: usize,
    /// Closures of [`spawn_blocking`](crate::spawn_blocking) that wait because
    /// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) others run.
    pub waiting_blocking_calls: usize,
    /// Goroutines that have not finished.
    pub goroutines: u64,
    /// Goroutines in the global queue and the inbox.
    pub global_queue: usize,
    /// Goroutines in local queues, with the one that each P runs next.
    pub local_queues: usize,
    /// Pending timers.
    pub timers: usize,
    /// Goroutines spawned.
    pub spawned: u64,
    /// Goroutines finished.
    pub finished: u64,
    /// Polls of goroutines.
    pub polls: u64,
    /// Successful steals: times that a P without work took goroutines from another P. Due timers of
    /// another P do not count.
    pub steals: u64,
    /// Goroutines moved by steals.
    pub stolen: u64,
    /// Threads that were woken, or started, and given an idle P. An attempt without an idle P or
    /// without a thread does not count.
    pub wakes: u64,
    /// Times that a thread put its P on the idle list for lack of work. A P that was handed off
    /// before does not count.
    pub parks: u64,
    /// Times a local queue overflowed.
    pub overflows: u64,
    /// Hand-offs: times that the thread of a running goroutine lost its P or gave it away. It loses
    /// the P in a long blocking call, marked or not, and while it computes. It gives the P away in
    /// `block_on`, in `spawn_blocking`, and where it waits for the end of a runtime. The thread may
    /// get a P again before another thread has run on its P. A P that becomes inactive because
    /// `max_procs` or `active_procs` became smaller does not count.
    pub handoffs: u64,
    /// Hand-offs that were stalls: other goroutines waited for the P of a goroutine that blocked
    /// its thread in an unmarked call, or computed for a time slice (see
    /// [`on_stall`](crate::runtime::on_stall)).
    pub stalls: u64,
    /// Timers fired, on any thread. Timers that the end of the runtime wakes early do not count.
    pub timers_fired: u64,
    /// Polls of the network, blocking and non-blocking.
    pub netpolls: u64,
    /// Bytes of goroutine memory that the process holds, for all its runtimes. Memory that is kept
    /// for new goroutines counts. Memory that went back to the OS does not.
    pub heap_bytes: usize,
}

impl Sched {
    /// Returns the present values of the counters.
    pub(crate) fn metrics(&self) -> Metrics {
        let (idle_procs, spinning_threads) = self.idle.word.counts();
        let (threads, idle_threads, wakes, handoffs) = self.idle.with(|lists| {
            let threads = &lists.threads;
            (threads.count, lists.pool.len(), threads.wakes, lists.handoffs)
        });
        let (goroutines, totals, local_queues) = self.idle.with(|lists| {
            let queued = |p: &P| p.runq.len() + usize::from(p.runq.has_next());
            let queued = lists.ps.active().map(|p| queued(p)).sum();
            (self.live_of(lists), lists.ps.totals(), queued)
        });
        let (cpu_bound_threads, paused_threads) = self.hogs();
        let (blocking_calls, waiting_blocking_calls) = self.blocking_calls.counts();
        Metrics {
            procs: self.max_procs(),
            active_procs: self.procs(),
            idle_procs,
            threads,
            idle_threads,
            spinning_threads,
            cpu_bound_threads,
            paused_threads,
            blocking_calls,
            waiting_blocking_calls,
            goroutines,
            global_queue: self.globq.len() + self.inbox.len(),
            local_queues,
            timers: self.ps.all_timers().map(|timers| timers.len()).sum(),
            spawned: self.live.spawned() + totals.spawned,
            finished: self.live.finished() + totals.finished,
            polls: totals.polls,
            steals: totals.steals,
            stolen: totals.stolen,
            wakes,
            parks: totals.parks,
            overflows: totals.overflows,
            handoffs,
            stalls: self.stalls.count(),
            timers_fired: self.ps.all_timers().map(|timers| timers.fired()).sum(),
            netpolls: self.net.polls() + totals.netpolls,
            heap_bytes: heap::resident_bytes(),
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "metrics_tests.rs"]
mod tests;
