//! Calls that block their thread.

use crate::sched::Sched;

/// Runs `f`, which may block for any time, in place: on this thread, while other goroutines go on
/// on others.
///
/// For calls of the OS, C libraries and long computations inside a goroutine. The closure may
/// borrow. On a plain thread it just runs.
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
    Sched::block_anywhere(f)
}
