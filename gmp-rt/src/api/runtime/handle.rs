//! A reference to a runtime.

use super::block_on::block_on_owned;
use super::{EnterGuard, Metrics, Stall, context};
use crate::api::blocking::within_limit;
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::sched::{ProcsError, Sched, local};
use crate::util::large::{box_closure, box_future};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
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

// A scheduler stays consistent when a thread that uses it unwinds: a goroutine may panic anywhere.
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

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

    /// Returns a handle to the current runtime. `None` if that is the default runtime, and it has
    /// not started: this call never starts it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// use gmp::runtime::Handle;
    ///
    /// assert!(Handle::try_current().is_none());
    /// assert!(gmp::block_on(gmp::spawn(async { Handle::try_current().is_some() })).unwrap());
    /// ```
    #[must_use]
    pub fn try_current() -> Option<Self> {
        context::try_sched().map(Self::new)
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
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
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
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
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
    pub fn block_on<F: IntoFuture>(&self, future: F) -> F::Output {
        // The future is dropped inside as well: its destructor may start goroutines.
        box_future!(future: F => context::enter(&self.sched, move || block_on_owned(future)))
    }

    /// Makes this runtime the current one of the thread until the guard is dropped.
    ///
    /// Goroutines and timers that start on this thread meanwhile belong to this runtime, as inside
    /// [`block_on`](Self::block_on). Do not keep the guard over an await: the code that runs on the
    /// thread meanwhile would use this runtime too.
    ///
    /// # Panics
    ///
    /// In a fork of the process that built the runtime. The drop of a guard panics if a guard that
    /// was made after it on this thread is not dropped yet.
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let runtime = gmp::Runtime::new().unwrap();
    /// let before = runtime.handle().num_goroutine();
    /// let entered = runtime.enter();
    /// gmp::spawn(std::future::pending::<()>());
    /// drop(entered);
    /// assert_eq!(runtime.handle().num_goroutine(), before + 1);
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(&self.sched)
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

    /// Returns what all goroutines of this runtime do, in the format of Go's dumps.
    ///
    /// See [`runtime::dump`](super::dump).
    #[must_use]
    pub fn dump(&self) -> String {
        self.sched.dump()
    }

    /// Sets the hook that this runtime calls when a goroutine stalls its thread.
    ///
    /// See [`runtime::on_stall`](super::on_stall).
    pub fn on_stall(&self, hook: impl Fn(&Stall) + Send + Sync + 'static) {
        self.sched.stalls.set_hook(hook);
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
