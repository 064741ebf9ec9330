//! Limits and defaults of a runtime, as its users see them.
//!
//! They are part of the documented behaviour, so they change only with the documentation. The
//! numbers that follow from measurements are in [`tuning`](crate::tuning).

use std::time::Duration;

/// Most Ps a runtime may have.
#[cfg(not(gmp_loom))]
pub(crate) const MAX_PROCS: usize = 1024;
/// In the models each runtime is made many thousand times.
#[cfg(gmp_loom)]
pub(crate) const MAX_PROCS: usize = 4;

/// Default limit of running `spawn_blocking` closures. Tokio: 512 in its blocking pool.
pub(crate) const MAX_BLOCKING_THREADS: usize = 512;

/// Largest number of threads of a runtime. Go: `maxmcount`.
pub(crate) const THREAD_LIMIT: usize = 10_000;

/// Number of threads of a runtime that is reported once, because it is seldom intended.
pub(crate) const MANY_THREADS: usize = 512;

/// Default limit of concurrent name lookups of a runtime. Chosen: a name server that is silent then
/// holds few threads. Go: 500 threads for all C calls.
pub(crate) const MAX_LOOKUPS: usize = 64;

/// Idle time after which an M beyond `max_procs` exits, by default. Tokio: 10 s.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Time that the drop of a [`Runtime`](crate::Runtime) waits for its goroutines, before it leaves
/// threads that are stuck in a poll behind.
pub(crate) const DROP_GRACE: Duration = Duration::from_secs(1);

/// Time that the drop of a [`Runtime`](crate::Runtime) and the end of the process wait until the
/// trace of `GMPDEBUG=trace=FILE` is written. Chosen: a slow disk needs seconds, and a FIFO may
/// have no reader.
pub(crate) const TRACE_GRACE: Duration = Duration::from_secs(5);
