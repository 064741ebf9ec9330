//! The limits by which a run is judged.

use crate::ops::runtime::largest_size;
use crate::options::{Build, Options};
use crate::worker::THREADS;
use std::thread::available_parallelism;
use std::time::Duration;

/// The CPU time of a P's thread before a newcomer runs, by the bounds of `gmp-rt/src/p/service.rs`.
///
/// What is measured is woken by a timer, a socket or an external thread, so it is a newcomer. The P
/// finds it within two services: 50 µs and a poll each, and two naps of sysmon if polls become
/// longer. A poll keeps its P for at most 5 ms of CPU time while others wait. Newcomers before it
/// have their turn, and own goroutines as much time. Few polls of the soak are long, so a slice is
/// assumed for each: 2 · (0.05 + 5) + 2 · 1 + 2 · 10 ms. Rounded up.
const READY_CPU: Duration = Duration::from_millis(50);

/// How many times as long a program runs under a sanitizer.
const SANITIZED: u32 = 10;

/// The longest [`ready_bound`].
const READY_MAX: Duration = Duration::from_secs(10);

/// Returns the longest time that a ready goroutine may wait before it runs, and that a timer may be
/// late. The lateness of the [control thread](crate::control) comes on top of it.
///
/// The thread of a P uses [`READY_CPU`] within this time, because it shares the CPUs with at most
/// the other threads that compute: of each runtime, one for each P and as many for goroutines that
/// compute without a P, and the external threads. No other thread can tell how long that one waits
/// for its CPU: the OS prefers threads that sleep.
pub(crate) fn ready_bound(options: &Options) -> Duration {
    let threads = 3 * 2 * largest_size(options) + THREADS;
    let cpus = available_parallelism().map_or(1, usize::from);
    let slower = if options.build == Build::Sanitized { SANITIZED } else { 1 };
    let shares = u32::try_from(threads.div_ceil(cpus)).unwrap_or(u32::MAX);
    (slower * READY_CPU).saturating_mul(shares).min(READY_MAX)
}

/// The longest time that one operation of a worker may take.
///
/// An operation is a chain of at most a few waits, each of which ends by itself in milliseconds.
/// Three times [`READY_MAX`] is therefore reached only if one of the waits never ends.
pub(crate) const OPERATION_BOUND: Duration = Duration::from_secs(30);

/// The longest time from the end of the load to quiescence: no goroutine, no timer, no value.
pub(crate) const DRAIN_BOUND: Duration = Duration::from_secs(30);

/// The limit that operations pass to `Runtime::shutdown`.
pub(crate) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(20);

/// The time for which a runtime of the soak keeps an idle thread.
pub(crate) const THREAD_KEEP_ALIVE: Duration = Duration::from_millis(200);

/// The growth in bytes per operation that the trend check reports as a leak.
///
/// The smallest leak of a program is one allocation, at least 16 bytes. This value finds a leak of
/// one such allocation in 16 operations. A slower leak needs a longer run or an exact counter.
pub(crate) const LEAK_PER_OPERATION: f64 = 1.0;

/// Returns the growth in bytes of a series after the warm-up that the trend check takes for caches,
/// if the largest runtime has `procs` Ps.
///
/// Each P keeps free goroutines of up to 37 sizes, and the allocator keeps free memory of each
/// thread. Chosen: more than runs of ten minutes with 1 to 16 Ps grow. A leak of
/// [`LEAK_PER_OPERATION`] exceeds it after about a million operations per MiB.
pub(crate) fn caches(procs: usize) -> f64 {
    (4 + procs) as f64 * 1024.0 * 1024.0
}

/// Phases whose samples are not judged: caches and thread-local storage fill up in them.
pub(crate) const WARM_UP_PHASES: usize = 3;
