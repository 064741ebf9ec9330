//! Functions on the current runtime.

use crate::api::runtime::{ProcsError, context};
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::sched::local;
use crate::util::large::box_future;
use std::panic::Location;

/// Starts a goroutine: `go f()`.
///
/// The goroutine runs on the current runtime: that of the caller, or, on a thread outside gmp, the
/// default runtime. Dropping the handle detaches the goroutine. See [`go!`](crate::go) for the
/// short forms.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn(async { 1 + 1 });
/// assert_eq!(gmp::block_on(handle).unwrap(), 2);
/// ```
///
/// # Recursion
///
/// An `async fn` cannot spawn itself: the compiler has to know its future while it checks it. Write
/// a function that returns the future instead:
///
/// ```
/// # use gmp_rt as gmp;
/// fn crawl(depth: u32) -> impl Future<Output = u32> + Send {
///     async move {
///         match depth {
///             0 => 1,
///             _ => gmp::spawn(crawl(depth - 1)).await.unwrap() + 1,
///         }
///     }
/// }
///
/// assert_eq!(gmp::block_on(crawl(3)), 4);
/// ```
#[doc(alias("go", "spawn_task"))]
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
{
    let origin = Origin::site_only(Location::caller());
    box_future!(future: F => spawn_from(future, origin))
}

#[inline]
pub(crate) fn spawn_from<F>(future: F, origin: Origin) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    local::with_home(|local| match local {
        Some(local) => local.spawn(future, origin),
        None => context::sched().spawn_outside(future, origin),
    })
}

/// Returns the id of the calling goroutine, or `None` outside of a goroutine.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert_eq!(gmp::goid(), None);
/// let handle = gmp::spawn(async { gmp::goid() });
/// let id = handle.goid();
/// assert_eq!(gmp::block_on(handle).unwrap(), Some(id));
/// ```
#[must_use]
pub fn goid() -> Option<u64> {
    local::with(|local| local.map(|local| local.goid.get()).filter(|&goid| goid != 0))
}

/// Returns the number of goroutines that have not ended (Go: `runtime.NumGoroutine`).
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::spawn(std::future::pending::<()>());
/// assert!(gmp::num_goroutine() >= 1);
/// # handle.abort();
/// ```
#[doc(alias("NumGoroutine", "num_alive_tasks"))]
#[must_use]
pub fn num_goroutine() -> u64 {
    context::sched().live()
}

/// Returns how many goroutines of this runtime run in parallel (Go: `GOMAXPROCS(0)`).
///
/// [`Builder::max_procs`](crate::runtime::Builder::max_procs) describes what this bounds.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// assert!(gmp::max_procs() >= 1);
/// ```
#[doc(alias("GOMAXPROCS", "gomaxprocs", "worker_threads"))]
#[must_use]
pub fn max_procs() -> usize {
    context::sched().max_procs()
}

/// Sets how many goroutines of this runtime run in parallel and returns the previous number (Go:
/// `GOMAXPROCS(n)`).
///
/// [`Builder::max_procs`](crate::runtime::Builder::max_procs) describes what this bounds. A larger
/// number takes effect at once, also for goroutines that return from blocking calls and wait. A
/// smaller one takes effect as running goroutines reach their next await. No goroutine is lost or
/// stopped. From then on the number does not follow the CPU quota, also if it was set to its
/// previous value, until
/// [`set_default_max_procs`](crate::runtime::set_default_max_procs) makes it automatic again.
///
/// # Errors
///
/// [`ProcsError`] for 0 and for more than 1024. Nothing changes then.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let before = gmp::set_max_procs(2).unwrap();
/// assert_eq!(gmp::max_procs(), 2);
/// assert!(gmp::set_max_procs(0).is_err());
/// gmp::set_max_procs(before).unwrap();
/// ```
#[doc(alias("GOMAXPROCS", "gomaxprocs", "worker_threads"))]
pub fn set_max_procs(procs: usize) -> Result<usize, ProcsError> {
    context::sched().set_procs(procs)
}
