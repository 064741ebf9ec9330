//! A reference to a runtime.

use super::block_on::block_on_owned;
use super::{Metrics, context};
use crate::api::blocking::within_limit;
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::sched::{ProcsError, Sched, local};
use crate::util::large::{box_closure, box_future};
use std::panic::Location;
use std::sync::Arc;

/// A reference to a [`Runtime`](crate::Runtime), for starting goroutines from anywhere.
///
/// It does not keep the runtime running.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let handle = gmp::runtime::Handle::current();
/// let thread = std::thread::spawn(move || gmp::block_on(handle.spawn(async { 1 })).unwrap());
/// assert_eq!(thread.join().unwrap(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Handle {
    sched: Arc<Sched>,
}

impl Handle {
    pub(super) fn new(sched: Arc<Sched>) -> Self {
        Self { sched }
    }

    /// Returns a handle to the current runtime.
    ///
    /// That is the runtime of the innermost `block_on`, else that of the goroutine, else the
    /// default runtime, which starts now if necessary.
    #[must_use]
    pub fn current() -> Self {
        Self { sched: context::sched() }
    }

    pub(crate) fn sched(&self) -> &Arc<Sched> {
        &self.sched
    }

    /// Starts a goroutine on this runtime. For one with a name use
    /// [`task::Builder::on`](crate::task::Builder::on).
    ///
    /// If the shutdown of the runtime has begun, the future is dropped and not polled, and the join
    /// handle returns [`JoinError::Cancelled`](crate::JoinError::Cancelled). A worker thread of the
    /// runtime drops the future, or this call if the runtime has ended. A goroutine that is spawned
    /// at the same time as the shutdown begins may be polled once.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let origin = Origin::site_only(Location::caller());
        box_future!(future: F => self.spawn_from(future, origin))
    }

    /// Runs a blocking closure in a new goroutine on this runtime.
    ///
    /// See [`spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<R, F>(&self, f: F) -> JoinHandle<R>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let origin = Origin::site_only(Location::caller());
        box_closure!(f: F => self.spawn_from(within_limit(f), origin))
    }

    /// Spawns, as [`spawn`](Self::spawn), for a primitive that starts a goroutine after the call
    /// that requested it. Dumps show `site`.
    #[doc(hidden)]
    pub fn spawn_at<F>(&self, future: F, site: &'static Location<'static>) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let origin = Origin::site_only(site);
        box_future!(future: F => self.spawn_from(future, origin))
    }

    pub(crate) fn spawn_from<F>(&self, future: F, origin: Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        local::with(|local| match local {
            Some(local) if Arc::ptr_eq(&local.sched, &self.sched) => local.spawn(future, origin),
            _ => self.sched.spawn_outside(future, origin),
        })
    }

    /// Runs a future on this thread. Goroutines that it starts run on this runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        // The future is dropped inside as well: its destructor may start goroutines.
        box_future!(future: F => context::enter(&self.sched, move || block_on_owned(future)))
    }

    /// Returns how many goroutines run in parallel.
    ///
    /// [`Builder::max_procs`](crate::runtime::Builder::max_procs) describes what this bounds.
    #[must_use]
    pub fn max_procs(&self) -> usize {
        self.sched.max_procs()
    }

    /// Sets how many goroutines run in parallel and returns the previous number.
    ///
    /// [`Builder::max_procs`](crate::runtime::Builder::max_procs) describes what this bounds. A
    /// larger number takes effect at once, a smaller one as running goroutines reach their next
    /// await.
    ///
    /// # Errors
    ///
    /// [`ProcsError`] for 0 and for more than 1024. Nothing changes then.
    pub fn set_max_procs(&self, procs: usize) -> Result<usize, ProcsError> {
        self.sched.set_procs(procs)
    }

    /// Makes the number of goroutines that run in parallel automatic again and returns the previous
    /// number.
    ///
    /// See [`set_default_max_procs`](crate::runtime::set_default_max_procs).
    #[doc(alias("SetDefaultGOMAXPROCS", "auto_procs"))]
    pub fn set_default_max_procs(&self) -> usize {
        self.sched.set_default_procs()
    }

    /// Whether [`max_procs`](Self::max_procs) follows the CPU quota, because no call, no setting of
    /// the builder and no environment variable has set it.
    #[must_use]
    pub fn max_procs_is_automatic(&self) -> bool {
        self.sched.follows_machine()
    }

    /// Takes a snapshot of what the runtime counts.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.sched.metrics()
    }

    /// Returns the number of goroutines of this runtime that have not ended.
    #[must_use]
    pub fn num_goroutine(&self) -> u64 {
        self.sched.live()
    }
}
