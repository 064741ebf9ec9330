//! Calls that block their thread.

use crate::g::join::JoinHandle;
use crate::sched::block;
use crate::util::large::box_closure;

/// Runs `f`, which may block for any time, in place: on this thread, while other goroutines go on
/// on others.
///
/// For calls of the OS, C libraries and long computations inside a goroutine. A call that is over
/// soon costs nanoseconds; from one that takes longer the P is taken and given to another thread. The
/// closure may borrow. On a plain thread it just runs.
///
/// The goroutine itself does not go on meanwhile, nor do futures that it polls beside this one
/// (`join!`, `select!`): [`spawn`](crate::spawn) what should.
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
        box_closure!(f: F => block::blocking(f))
    }
    run(f)
}

/// Runs `f`, which blocks, in a goroutine of its own that gives up its P at once.
///
/// For work that is known to take long. There is no pool beside the runtime's threads: a thread that
/// blocks is replaced, and reused when it comes back. At most `max_threads` block at a time; further
/// ones wait for their turn. Aborting has an effect only before `f` begins.
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
    box_closure!(f: F => crate::spawn(async move { block::block_on(f) }))
}
