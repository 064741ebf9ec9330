//! Every number the scheduler is tuned by, with where it comes from.
//!
//! Under loom a few are smaller, so that models reach their corner cases; nothing else differs.

use std::time::Duration;

/// Slots of a local run queue. Go: `runq [256]guintptr`.
#[cfg(not(gmp_loom))]
pub(crate) const RUNQ_CAP: usize = 256;
/// Slots of a local run queue in the models: full after two pushes.
#[cfg(gmp_loom)]
pub(crate) const RUNQ_CAP: usize = 4;

/// Every so many ticks a P looks at the global queue first. Go: `schedtick%61`.
pub(crate) const GLOBAL_TICK: u64 = 61;

/// A P looks for newcomers whenever it has polled for about this long. Chosen: about what waking a
/// thread takes.
pub(crate) const SERVICE_PERIOD: Duration = Duration::from_micros(50);

/// Polls between two services at most: 5 to 10 µs of the shortest. (With 61 the row `ping_pong`
/// takes 3 % longer.)
pub(crate) const SERVICE_POLLS: u32 = 4 * GLOBAL_TICK as u32;

/// Operations within polls between two services at most: about 20 µs of the shortest.
pub(crate) const SERVICE_OPS: u32 = 1024;

/// Newcomers that run for longer let the own goroutines of their P run in between.
pub(crate) const NEWCOMER_TURN: Duration = Duration::from_millis(1);

/// Sysmon asks a P for a service that has made none for this long: its polls have become longer.
/// (Two goroutines that compute for 5 ms at a time beside an echo server on two Ps: 72 answers in 3
/// s without, see the row `mixed`.)
pub(crate) const SERVICE_OVERDUE: Duration = Duration::from_millis(1);

/// Budget checks that a deciding poll passes after the end of the slice. Chosen: more futures than
/// a combinator races, and less than a millisecond of channel operations.
pub(crate) const DECIDING_CHECKS: u32 = 1024;

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

/// How long a thief waits before it takes the `runnext` of a running P. Go: `usleep(3)`. The
/// usual reason for a `runnext` is "ready another goroutine, then block", over in 50 ns.
pub(crate) const RUNNEXT_BACKOFF: Duration = Duration::from_micros(3);

/// Rounds of stealing a thief makes, a pause between, before it parks: at first, and where it finds something.
#[cfg(not(gmp_loom))]
pub(crate) const SPIN_ROUNDS: u32 = 24;
/// In the models one round reaches every state.
#[cfg(gmp_loom)]
pub(crate) const SPIN_ROUNDS: u32 = 1;

/// The same where it finds nothing. Each time it does not, it makes half as many the next time: on a machine whose
/// CPUs are all wanted its rounds are at the cost of others. (Three quarters of the CPU time in user mode of a
/// small server, 4.2 µs per request against Tokio's 1.1, while the client waited for a CPU.)
#[cfg(not(gmp_loom))]
pub(crate) const SPIN_ROUNDS_LEAST: u32 = 2;
/// In the models one round reaches every state.
#[cfg(gmp_loom)]
pub(crate) const SPIN_ROUNDS_LEAST: u32 = 1;

/// The same if no other P runs.
#[cfg(not(gmp_loom))]
pub(crate) const SPIN_ROUNDS_ALONE: u32 = 4;
/// In the models one round reaches every state.
#[cfg(gmp_loom)]
pub(crate) const SPIN_ROUNDS_ALONE: u32 = 1;

/// Looks at other Ps a thief makes in all rounds but the last, where there are so many Ps that those would take
/// longer: a round over 16 Ps takes about as long as the pause after it, over 256 ten times that
/// (`gmp-bench --bin scaling`), and every look costs the P that is looked at its line.
pub(crate) const SPIN_LOOKS: u32 = 16 * SPIN_ROUNDS;

/// A thief leaves a ring alone whose P will have run all of it within so many rounds (of about a
/// microsecond). The last round before it parks takes what there is.
pub(crate) const STEAL_ROUNDS_AHEAD: u64 = 8;

/// A P that has made no poll for this long, with work on its ring, stands still (`sched/still.rs`).
pub(crate) const STILL_AFTER: Duration = Duration::from_micros(300);

/// Of more Ps than this not all are looked at each time.
pub(crate) const STILL_LOOKS: usize = 16;

/// What lies on a ring is worth waking another thread if it takes this long, as far as that is known: about what
/// waking one takes. If the guess was wrong, sysmon sees what is left lying.
pub(crate) const WAKE_WORTH: Duration = Duration::from_micros(50);

/// A spawn wakes a thread for a lone `runnext` at most once in this time, on each P. Chosen: if
/// a wake-up for nothing takes 10 µs of CPU in all, this is 1 % of a core.
pub(crate) const SPAWN_WAKE: Duration = Duration::from_millis(1);

/// `spin_loop` hints between two rounds.
pub(crate) const SPIN_PAUSES: u32 = 48;

/// A slice: how long a chain of `runnext` goroutines may keep the ring waiting. Go:
/// `forcePreemptNS`.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// Of more Ps than this, a service looks at the timers of so many, in turn. 256 looks take 0.5 to
/// 2.5 µs (`gmp-bench --bin scaling`).
pub(crate) const TIMER_LOOKS: usize = 16;

/// Most Ps a runtime may have.
#[cfg(not(gmp_loom))]
pub(crate) const MAX_PROCS: usize = 1024;
/// In the models each runtime is made many thousand times.
#[cfg(gmp_loom)]
pub(crate) const MAX_PROCS: usize = 4;

/// Default cap on threads of one runtime. Tokio's blocking pool: 512.
pub(crate) const MAX_THREADS: usize = 512;

/// Most threads a runtime may be allowed. Go: `maxmcount`.
pub(crate) const THREAD_LIMIT: usize = 10_000;

/// An M beyond `max_procs` exits after this long without work, by default (Go never frees them;
/// Tokio: 10 s).
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Goroutine ids a P takes at a time. Go: `goidcache`, 16; larger, because ours come from one
/// counter shared by all runtimes.
pub(crate) const GOID_BATCH: u64 = 64;

/// Futures above this are boxed, so that a cell stays within the slab classes.
pub(crate) const BOX_ABOVE: usize = 16 * 1024;

/// Bytes of one slab, and its alignment: a cell finds its slab by masking its address.
pub(crate) const SLAB_BYTES: usize = 256 * 1024;

/// Cell sizes: steps of 16 bytes up to 256, then four per doubling.
#[cfg(not(gmp_loom))]
pub(crate) const CELL_SIZES: [usize; 37] = [
    80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 320, 384, 448, 512, 640, 768, 896,
    1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288,
    14336, 16384, 20480,
];
/// In the models one size is enough, and a walk over all classes is short.
#[cfg(gmp_loom)]
pub(crate) const CELL_SIZES: [usize; 1] = [4096];

/// Cells exchanged between a P and the centre at a time, for small classes. Go: 32.
#[cfg(not(gmp_loom))]
pub(crate) const CELL_BATCH: usize = 64;
/// In the models two fill a magazine.
#[cfg(gmp_loom)]
pub(crate) const CELL_BATCH: usize = 2;

/// Bytes a batch holds at most, for large classes.
pub(crate) const CELL_BATCH_BYTES: usize = 32 * 1024;

/// Batches kept whole in the centre, per class, before cells go back to their slabs. Each of their
/// cells keeps a slab from going back to the OS, so not more than traffic between Ps needs.
#[cfg(not(gmp_loom))]
pub(crate) const TRANSFER_BATCHES: usize = 16;
/// In the models the second magazine goes back to its slab.
#[cfg(gmp_loom)]
pub(crate) const TRANSFER_BATCHES: usize = 1;

/// Bytes of empty slabs a class keeps for the next burst; what is beyond goes back to the OS.
pub(crate) const KEEP_EMPTY_BYTES: usize = 4 * 1024 * 1024;

/// How long dropping a [`Runtime`](crate::Runtime) waits for goroutines to be dropped, before it
/// leaves threads that are stuck inside a poll behind.
pub(crate) const DROP_GRACE: Duration = Duration::from_secs(1);

/// How long sysmon sleeps after it had something to do. Go: 20 µs.
pub(crate) const SYSMON_BUSY_NAP: Duration = Duration::from_micros(20);

/// How long sysmon sleeps at first when there was nothing to do; doubled each time.
pub(crate) const SYSMON_NAP: Duration = Duration::from_micros(100);

/// How long sysmon sleeps at most while somebody runs. Go: 10 ms; less, so that a ticker of 1 ms is
/// not 10 ms late when all threads block.
pub(crate) const SYSMON_MAX_NAP: Duration = Duration::from_millis(1);

/// Nobody has run for this long: sysmon sleeps until it is woken. Not at once, because waking it costs the
/// first who runs a system call.
pub(crate) const IDLE_AFTER: Duration = Duration::from_micros(100);

/// How often the quota of the control group is read, at most. Go: once a second.
pub(crate) const PROCS_UPDATE: Duration = Duration::from_secs(1);

/// The runtime has to be busy this long before it is read.
pub(crate) const PROCS_AWAKE: Duration = Duration::from_millis(10);

/// Timers that nobody has run for this long are seen to by sysmon.
pub(crate) const TIMER_RESCUE: Duration = Duration::from_micros(200);

/// A poll that takes longer is looked at, if there is work waiting.
pub(crate) const SUSPECT_AFTER: Duration = Duration::from_micros(300);

/// A poll that has used this much CPU since it came under suspicion is a computation, also if it
/// shares its CPU with others.
pub(crate) const COMPUTING_AFTER: Duration = Duration::from_millis(5);

/// The same if a timer or an event waits for it. Displacing it costs a wake-up of a thread: not for less than many of those.
pub(crate) const HURRY_AFTER: Duration = Duration::from_millis(1);

/// So many for each P may be displaced because of that at a time.
pub(crate) const HURRY_HOGS: usize = 2;

/// A goroutine that goes on this long, in CPU time, after it was asked to give way is deaf.
pub(crate) const DEAF_AFTER: Duration = Duration::from_micros(500);

/// A thread that sleeps for a lock or a page this long within a poll is taken for blocked. Longer than
/// for a call: most locks are held for a moment.
pub(crate) const LOCKED_AFTER: Duration = Duration::from_millis(1);

/// The CPU time a thread may need to let go of a lock that others wait for. Beside eight busy processes
/// on two CPUs a lock of the allocator was waited for up to 120 ms, because who held it was not running.
pub(crate) const LOCK_HELD: Duration = Duration::from_micros(200);

/// A thread seen asleep in a call this long within a poll is taken for blocked.
pub(crate) const BLOCKED_AFTER: Duration = Duration::from_micros(100);

/// Most events a poll of the network takes: as many goroutines as a ring has slots.
pub(crate) const NET_BATCH: usize = RUNQ_CAP;

/// The network is polled by sysmon, or by a thread it wakes, if nobody did for this long. Go: 10 ms;
/// less, because here it costs an idle P at most one wake-up, and a busy one nothing.
pub(crate) const NET_RESCUE: Duration = Duration::from_millis(1);

/// Before a deadlock is told the M in the netpoller is rung out, this often at most...
pub(crate) const ROUND_TRIES: u32 = 1000;

/// ... and so long after each other. Only a runtime that seems dead pays for it.
pub(crate) const ROUND_NAP: Duration = Duration::from_millis(1);

/// Attempts to take a contended lock before its waiter sleeps. Go: `active_spin`.
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

/// The longest sleep of a waiter where the kernel has no `membarrier`. Chosen: half of the lateness
/// that a wake-up may have.
#[cfg(all(target_os = "linux", not(gmp_loom)))]
pub(crate) const LOCK_NAP: Duration = Duration::from_micros(50);

/// How many goroutines ahead of its turn one that is woken by a timer is fetched into the cache: about as far as a
/// memory is away, 100 ns, at some 30 ns each.
pub(crate) const FETCH_AHEAD: usize = 4;

/// How long what gets done is counted at least, to see how many Ps should run (see `sched/width.rs`).
pub(crate) const WIDTH_WINDOW: Duration = Duration::from_millis(1);

/// So many such windows make a step of a trial, after one in which things settle; the best of them counts, since a thread
/// may lose its CPU in any.
pub(crate) const WIDTH_WINDOWS: u32 = 2;

/// So many windows in a row have to give cause for a trial.
pub(crate) const WIDTH_DOUBTS: u32 = 2;

/// Cause for a trial: so much is done in a millisecond, polls and operations together...
pub(crate) const WIDTH_DONE: f64 = 500.0;

/// ... and there are so many steals (with 50 µs between them a thief steals as long as it works)...
pub(crate) const WIDTH_STEALS: f64 = 20.0;

/// ... or so many locks were found taken (each costs half a microsecond)...
pub(crate) const WIDTH_CONTENDED: f64 = 50.0;

/// ... or one of so many polls was of a goroutine that came from elsewhere.
pub(crate) const WIDTH_MOVED: u64 = 8;

/// A P that does not come on from one round to the next, and whose thread has used this much CPU meanwhile, computes.
pub(crate) const STUCK_CPU: Duration = Duration::from_micros(200);

/// How much more has to get done with fewer Ps.
pub(crate) const WIDTH_GAIN: f64 = 1.1;

/// How long fewer run before more are tried: at first, and at most, after the trial was lost again and again. It
/// takes up to nine milliseconds, six of them with more.
pub(crate) const WIDTH_HOLD: Duration = Duration::from_millis(20);
/// See [`WIDTH_HOLD`].
pub(crate) const WIDTH_HOLD_MAX: Duration = Duration::from_millis(320);

/// How long fewer are not tried again after such a trial was lost: at first, and at most.
pub(crate) const WIDTH_REST: Duration = Duration::from_millis(50);
/// See [`WIDTH_REST`].
pub(crate) const WIDTH_REST_MAX: Duration = Duration::from_millis(1600);
