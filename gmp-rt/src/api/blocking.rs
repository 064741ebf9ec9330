//! `block_in_place` and `spawn_blocking`: calls that block their thread.

use crate::api::spawn::spawn_from;
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::sched::{blocking_limit, handoff};
use crate::util::large::box_closure;
use std::panic::Location;

/// Runs a blocking closure on the current thread without stopping other goroutines.
///
/// Use it for file I/O, C libraries and long computations in a goroutine. The closure may borrow.
/// If it takes long, the runtime continues the other goroutines on another thread. A short call
/// costs nanoseconds. Outside of a goroutine `f` is just called.
///
/// After a long call the goroutine may have to wait until one of the
/// [`max_procs`](crate::runtime::Builder::max_procs) other goroutines yields, as any runnable
/// goroutine. Locks of std that it holds over the call stay locked during that time. A panic in `f`
/// does not wait.
///
/// The current goroutine waits, and so do futures that it polls in the same `join!` or `select!`.
/// [`spawn`](crate::spawn) them to run concurrently.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let text = gmp::block_on(gmp::spawn(async {
///     gmp::block_in_place(|| std::fs::read_to_string("Cargo.toml"))
/// }));
/// assert!(text.unwrap().unwrap().contains("[package]"));
/// ```
#[doc(alias("blocking", "entersyscall", "unblock"))]
pub fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    fn run<R, F: FnOnce() -> R>(f: F) -> R {
        box_closure!(f: F => handoff::syscall(f))
    }
    run(f)
}

/// Runs a blocking closure in a new goroutine, which gives up its P at once.
///
/// Use it for work that is known to take long. There is no separate thread pool: the runtime
/// replaces a blocked worker thread, and reuses it when `f` returns. At most
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) closures run at a time.
/// Further ones wait in the order of their calls, without a thread. An abort takes effect only
/// before `f` begins.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let sum = gmp::spawn_blocking(|| (1..=1000u64).sum::<u64>());
/// assert_eq!(gmp::block_on(sum).unwrap(), 500_500);
/// ```
#[doc(alias = "unblock")]
#[track_caller]
pub fn spawn_blocking<R, F>(f: F) -> JoinHandle<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    let origin = Origin::site_only(Location::caller());
    box_closure!(f: F => spawn_from(within_limit(f), origin))
}

/// Returns the future that runs `f` as one of the closures that `max_blocking_threads` bounds. It
/// computes nothing after `f`.
#[expect(clippy::manual_async_fn, reason = "an `async fn` would have `f` in it twice")]
pub(crate) fn within_limit<R>(f: impl FnOnce() -> R) -> impl Future<Output = R> {
    async move {
        let permit = blocking_limit::acquire().await;
        // The permit goes to the next closure before this goroutine has a P again.
        handoff::syscall_block_and_pass(move || {
            let _permit = permit;
            f()
        })
    }
}

/// Runs a blocking closure in a new goroutine without a permit of
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads).
///
/// For calls that have a limit of their own. Closures that hold all permits may wait for such a
/// call. If it needed a permit as well, none of them would end.
#[doc(hidden)]
#[track_caller]
pub fn spawn_blocking_unlimited<R, F>(f: F) -> JoinHandle<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    box_closure!(f: F => crate::spawn(async move { handoff::syscall_block_and_pass(f) }))
}
