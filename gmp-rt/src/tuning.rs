//! The constants that tune the scheduler, and where each value comes from.
//!
//! `tests/tidy.rs` limits their number. A value that follows from one of them is a multiple of it,
//! beside the code that uses it. The table "Heuristics" of `benches/README.md` says what the
//! optional mechanisms give.
//!
//! Under loom some are smaller, so that the models reach their corner cases.

use std::time::Duration;

/// Slots of a local run queue. Go: `runq [256]guintptr`.
#[cfg(not(gmp_loom))]
pub(crate) const RUNQ_CAP: usize = 256;
/// In the models a ring wraps after a few pushes.
#[cfg(gmp_loom)]
pub(crate) const RUNQ_CAP: usize = 4;

/// Slices of a P between two checks of the global queue before its own. Go: `schedtick%61`.
pub(crate) const GLOBAL_TICK: u64 = 61;

/// Time that a thread usually takes to run after its wake-up or after a signal. Chosen.
///
/// So it is the time of polling between two services of a P, the time in which a paused thread
/// leaves its CPU, and the longest sleep of a lock's waiter where the kernel has no `membarrier`.
pub(crate) const WAKE_LATENCY: Duration = Duration::from_micros(50);

/// Most polls between two services. Chosen: 5 to 10 µs of the shortest polls.
pub(crate) const SERVICE_POLLS: u32 = 4 * GLOBAL_TICK as u32;

/// Most operations within polls between two services. Chosen: about 20 µs of the shortest. Also the
/// budget checks that a deciding poll passes after the end of the slice: more than the futures that
/// a combinator races.
pub(crate) const SERVICE_OPS: u32 = 1024;

/// Longest turn of newcomers: then the other goroutines of their P run. Chosen.
pub(crate) const NEWCOMER_TURN: Duration = Duration::from_millis(1);

/// Refused budget checks within one poll after which a new slice begins. Chosen: more futures than
/// a combinator polls at a time; a poll that polls by hand in a loop is stopped for 2 ms at most.
pub(crate) const MAX_REFUSALS: u32 = 1 << 16;

/// The same for a foreign waker. Chosen: another executor inside the poll only polls again.
/// `FuturesUnordered` returns `Pending` after two.
pub(crate) const MAX_FOREIGN_REFUSALS: u32 = 64;

/// Passes over all Ps before a thief gives up; the last one also takes timers and `runnext`.
/// Go: `stealTries`.
#[cfg(not(gmp_loom))]
pub(crate) const STEAL_PASSES: usize = 4;
/// In the models one pass reaches every state.
#[cfg(gmp_loom)]
pub(crate) const STEAL_PASSES: usize = 1;

/// Time that a thief waits before it takes the `runnext` of a running P. Go: `usleep(3)`.
pub(crate) const RUNNEXT_BACKOFF: Duration = Duration::from_micros(3);

/// Most rounds of stealing before a thief parks. It starts with this number and doubles up to it
/// after each success.
#[cfg(not(gmp_loom))]
pub(crate) const SPIN_ROUNDS: u32 = 24;
/// In the models one round reaches every state.
#[cfg(gmp_loom)]
pub(crate) const SPIN_ROUNDS: u32 = 1;

/// Fewest rounds. A thief that finds nothing halves its rounds. Measured: the CPU time of the rows
/// `pipeline`, `bulk` and `wake`.
#[cfg(not(gmp_loom))]
pub(crate) const SPIN_ROUNDS_LEAST: u32 = 2;
/// In the models one round reaches every state.
#[cfg(gmp_loom)]
pub(crate) const SPIN_ROUNDS_LEAST: u32 = 1;

/// Time between two wake-ups of a thread for a lone `runnext`, on each P. Chosen: needless wake-ups
/// use at most 1 % of a core.
pub(crate) const NEXT_WAKE: Duration = Duration::from_millis(1);

/// Most Ps that one check visits: of timers in a service, and of a thief in the mean of its rounds.
/// With 16 Ps a thief's round takes about as long as the pause after it
/// (`gmp-bench --bin scaling`).
pub(crate) const LOOKS: usize = 16;

/// `spin_loop` hints between two rounds of a thief. Chosen.
pub(crate) const SPIN_PAUSES: u32 = 48;

/// Time slice: how long a chain of `runnext` goroutines may delay the ring. Go: `forcePreemptNS`.
///
/// Also the longest pause between two attempts to start a thread that the OS refuses.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// Cells that a P exchanges with the centre at a time, for small classes. Go: 32. Also the
/// goroutine ids that it reserves at a time. Go: 16.
#[cfg(not(gmp_loom))]
pub(crate) const CACHE_BATCH: usize = 64;
/// In the models two fill a magazine.
#[cfg(gmp_loom)]
pub(crate) const CACHE_BATCH: usize = 2;

/// Most bytes of such a batch, for large classes. Chosen.
pub(crate) const CELL_BATCH_BYTES: usize = 32 * 1024;

/// Batches kept whole in the centre, per class, before cells go back to their slabs. Each of their
/// cells keeps a slab from going back to the OS, so not more than traffic between Ps needs.
#[cfg(not(gmp_loom))]
pub(crate) const TRANSFER_BATCHES: usize = 16;
/// In the models the second magazine goes back to its slab.
#[cfg(gmp_loom)]
pub(crate) const TRANSFER_BATCHES: usize = 1;

/// Bytes of empty slabs, and of empty pages, that a class keeps. The rest is returned to the OS.
pub(crate) const KEEP_EMPTY_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of empty pages in a slab that are given back at once although the slab has live cells. An
/// idle runtime gives back fewer too. A quarter of a slab: if the goroutines of a burst end in the
/// order of their cells, each slab costs at most four system calls.
pub(crate) const GIVE_BACK_BYTES: usize = 64 * 1024;

/// Sysmon's sleep after a round that acted. Go: 20 µs.
pub(crate) const SYSMON_BUSY_NAP: Duration = Duration::from_micros(20);

/// Sysmon's sleep while it watches a poll, and its first sleep after a round that did nothing. Then
/// it doubles up to [`SYSMON_MAX_NAP`].
///
/// Also the shortest time that sysmon acts on: of a poll that it checks, of a sleep in a system
/// call, of an overdue timer, and of a rest of all goroutines.
pub(crate) const SYSMON_NAP: Duration = Duration::from_micros(100);

/// Sysmon's longest sleep while a goroutine runs. Go: 10 ms. Shorter here, so that a ticker of 1 ms
/// is not 10 ms late when all threads block.
///
/// Also the time after which sysmon acts where others usually do so earlier: for a service that is
/// overdue, a network that no M polls, a thread that sleeps for a lock, and a CPU-bound poll for
/// whose P a timer or an event waits. And the first pause after the OS has refused a thread.
pub(crate) const SYSMON_MAX_NAP: Duration = Duration::from_millis(1);

/// Time between two checks of what seldom changes: the control group's quota (Go: 1 s), a thread
/// that stays blocked, an M that does not leave the netpoller, and whether the pauser is needed.
pub(crate) const SLOW_CHECK: Duration = Duration::from_secs(1);

/// CPU time within which a thread makes progress: it releases a lock that others wait for, yields
/// on request, or begins another poll. Chosen.
pub(crate) const PROGRESS_CPU: Duration = Duration::from_micros(200);

/// CPU time of a checked poll after which it counts as CPU-bound. Chosen: half a slice.
pub(crate) const COMPUTING_AFTER: Duration = Duration::from_millis(5);

/// Attempts to take a contended lock before its waiter sleeps, and a held mutex before a goroutine
/// parks. Go: `active_spin`.
#[cfg(not(gmp_loom))]
pub(crate) const LOCK_TRIES: u32 = 4;
/// In the models one attempt reaches every state.
#[cfg(gmp_loom)]
pub(crate) const LOCK_TRIES: u32 = 1;

/// `spin_loop` hints after each such attempt. Go: `active_spin_cnt`.
#[cfg(not(gmp_loom))]
pub(crate) const LOCK_PAUSES: u32 = 30;
/// In the models one lets another thread run.
#[cfg(gmp_loom)]
pub(crate) const LOCK_PAUSES: u32 = 1;

/// Distance in goroutines of the prefetch in a batch of fired timers. Chosen: a cache miss takes as
/// long as three goroutines.
pub(crate) const FETCH_AHEAD: usize = 4;

/// Windows of a step of a trial, after one for the change to take effect, and windows in a row that
/// must give cause for a trial. The best counts, since a thread may lose its CPU in any.
pub(crate) const ADAPT_WINDOWS: u32 = 2;

/// Most Ps for which the number of running Ps is adapted. With more it is not measured yet.
pub(crate) const ADAPT_PROCS: usize = 4;

/// Cause for a trial: polls and operations per millisecond and running P, at least.
pub(crate) const ADAPT_DONE: f64 = 250.0;

/// Further cause: steals and contended locks per millisecond and running P. Each costs half a
/// microsecond.
pub(crate) const ADAPT_WASTE: f64 = 10.0;

/// Or: one of this number of polls was of a goroutine from another P.
pub(crate) const ADAPT_MOVED: u64 = 8;

/// Factor by which fewer Ps must do more.
pub(crate) const ADAPT_GAIN: f64 = 1.1;

/// Time between two trials: at first. It doubles after each one that changed nothing.
pub(crate) const ADAPT_REST: Duration = Duration::from_millis(50);
/// The longest [`ADAPT_REST`].
pub(crate) const ADAPT_REST_MAX: Duration = Duration::from_millis(1600);
