//! `blocking` and `spawn_blocking`: calls that block their thread.

use crate::g::join::JoinHandle;
use crate::sched::{blocking_limit, handoff};
use crate::util::large::box_closure;

/// Runs a blocking closure on the current thread without stopping other goroutines.
///
/// Use it for file I/O, C libraries and long computations in a goroutine. The closure may borrow.
/// If it takes long, the runtime continues the other goroutines on another thread. A short call
/// costs nanoseconds. Outside of a goroutine `f` is just called.
///
/// After a long call the goroutine may have to wait until one of the
/// [`max_procs`](crate::Builder::max_procs) other goroutines yields, as any runnable goroutine. Locks
/// of std that it holds over the call stay locked meanwhile. A panic in `f` does not wait.
///
/// The current goroutine waits, and so do futures that it polls in the same `join!` or `select!`.
/// [`spawn`](crate::spawn) them to run concurrently.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let text = gmp::block_on(gmp::spawn(async {
///     gmp::blocking(|| std::fs::read_to_string("Cargo.toml"))
/// }));
/// assert!(text.unwrap().unwrap().contains("[package]"));
/// ```
pub fn blocking<R>(f: impl FnOnce() -> R) -> R {
    fn run<R, F: FnOnce() -> R>(f: F) -> R {
        box_closure!(f: F => handoff::blocking(f))
    }
    run(f)
}

/// Runs a blocking closure in a new goroutine, which gives up its P at once.
///
/// Use it for work that is known to take long. There is no separate thread pool: the runtime
/// replaces a blocked worker thread, and reuses it when `f` returns. At most
/// [`max_blocking_threads`](crate::Builder::max_blocking_threads) closures run at a time. Further
/// ones wait in the order of their calls, without a thread. An abort takes effect only before `f`
/// begins.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// let sum = gmp::spawn_blocking(|| (1..=1000u64).sum::<u64>());
/// assert_eq!(gmp::block_on(sum).unwrap(), 500_500);
/// ```
#[track_caller]
pub fn spawn_blocking<R, F>(f: F) -> JoinHandle<R>
where
    R: Send + 'static,
    F: FnOnce() -> R + Send + 'static,
{
    box_closure!(f: F => crate::spawn(async move {
        let permit = blocking_limit::acquire().await;
        // The permit goes to the next closure before this goroutine has a P again.
        handoff::block_on_and_pass(move || {
            let _permit = permit;
            f()
        })
    }))
}
