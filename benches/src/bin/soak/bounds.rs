//! The limits by which a run is judged.

use std::time::Duration;

/// The longest time that a ready goroutine may wait before it runs, and that a timer may be late.
///
/// The latency issue replaces this value by its bound.
pub(crate) const READY_BOUND: Duration = Duration::from_secs(10);

/// The longest time that one operation of a worker may take.
///
/// An operation is a chain of at most a few waits, each of which ends by itself in milliseconds.
/// Three times [`READY_BOUND`] is therefore reached only if one of the waits never ends.
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
