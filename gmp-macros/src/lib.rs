//! The macros of [gmp](https://docs.rs/gmp). Use them through the facade crate `gmp`.
#![forbid(unsafe_code)]

mod entry;
mod go;
mod join;
mod preempt;
mod select;
mod tail;

use proc_macro::TokenStream;

/// Runs an `async fn main` as goroutine 1.
///
/// When it returns, the process ends, even if other goroutines run, as in Go. It may return
/// anything that a plain `main` may: `()`, `Result`, `ExitCode`.
///
/// | option | meaning |
/// |--------|---------|
/// | `max_procs = 4` | how many goroutines run in parallel |
/// | `panic = "abort"` | a panic in any goroutine ends the process with status 2, as in Go |
/// | `name = "web"` | the prefix of the names of the threads |
/// | `tokio` | a Tokio runtime for the goroutines: `gmp::compat::tokio` (feature `tokio` of gmp) |
/// | `crate = "path"`, `crate = path` | the path of the gmp crate, if it was renamed |
///
/// The function has no arguments and no type parameters. It may have a `where` clause. Other
/// attributes stay on it.
///
/// # SIGQUIT
///
/// On Unix, SIGQUIT (`Ctrl-\`, `kill -QUIT`) prints what all goroutines do to stderr, in Go's
/// format, and ends the process with status 2. It works even if every thread is stuck. A second
/// SIGQUIT after more than a second ends the process at once.
///
/// A program that needs the signal installs its own handler, at any time and by any means
/// (`sigaction`, `signal-hook`, …). Then gmp ignores the signal. `gmp::runtime::dump()` returns the
/// goroutines of one runtime in the same format. Runtimes that a program builds itself do not
/// install this handler.
///
/// # Panics
///
/// If a goroutine panics, stderr has a line with its id, name and spawn site before the message of
/// the panic hook. For that `main` wraps the hook that is set when it starts. A hook that the
/// program sets later replaces both.
///
/// Only `main` does so. The hook belongs to the whole process, and a library that replaces it would
/// surprise a program that has its own. `#[gmp::test]`, a runtime of a `Builder` and the default
/// runtime leave it alone. There the name and the spawn site are in the `JoinError`, in the report
/// of a panic that is not joined, and in the message of `panic = "abort"`.
///
/// # Deadlocks
///
/// If no goroutine can ever be woken, stderr has Go's message and a dump, once. With
/// `GMPDEBUG=deadlock=fatal` the process ends with status 2. Goroutines count only with a proof:
/// nothing has a waker of any of them, except for handles that other such goroutines await. So a
/// goroutine that waits for an external thread, another runtime or a foreign future never counts.
/// `fatal` also spares a process that has other threads (Linux) or other runtimes with goroutines.
///
/// # Examples
///
/// ```
/// #[gmp::main(max_procs = 2)]
/// async fn main() -> Result<(), std::io::Error> {
///     gmp::go!({ println!("hello") }).await.unwrap();
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(entry::Entry::Main, options.into(), item.into()).into()
}

/// Runs an `async fn` as a test, on a new runtime.
///
/// It takes the options of [`macro@main`], and `deadlock_after`. Other test attributes, such as
/// `#[should_panic]`, work as usual.
///
/// # Tests that hang
///
/// If all goroutines of the test are parked on channels, locks and other primitives of gmp for 10
/// seconds, the test fails with a dump of them. It does not fail while a timer is set, a socket or
/// a signal is awaited, a blocking call runs, or a goroutine awaits a foreign future. An external
/// thread or another runtime could still wake a parked goroutine. For a test that waits longer for
/// one, `deadlock_after = 60` sets the time in seconds, and `deadlock_after = 0` turns the check
/// off.
///
/// # Examples
///
/// ```
/// #[gmp::test]
/// async fn adds() {
///     assert_eq!(gmp::go!(async { 1 + 1 }).await.unwrap(), 2);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(entry::Entry::Test, options.into(), item.into()).into()
}

/// Puts preemption checks into the loops of async code, as Go's compiler did before signals.
///
/// A goroutine that computes without an await keeps its thread. This attribute puts a check at the
/// beginning of each iteration of `loop`, `while` and `for`. When the time slice of 10 ms is over,
/// the check yields, as
/// [`gmp::checkpoint`](https://docs.rs/gmp/latest/gmp/fn.checkpoint.html) does. Until then it is
/// one load and a branch. A `for` loop over integers or a slice with a body of simple operations
/// has one check for thousands of items.
///
/// | attribute on | loops with checks |
/// |---|---|
/// | an `async fn` | the loops of the function |
/// | an `impl` block or a trait | the loops of all async functions in it |
/// | an inline module | the loops of all async functions in it and in its modules |
///
/// All async blocks and async closures inside are included. Code that cannot await is not:
/// functions and closures that are not async, and constants. Macro calls stay unchanged, including
/// `go!` and `select!`. For a block use
/// [`preemptible_block!`](https://docs.rs/gmp/latest/gmp/macro.preemptible_block.html).
///
/// The option `crate = "path"` is the path of the gmp crate, if it was renamed.
///
/// # What it costs
///
/// A variable that is used after an await is in memory between iterations, not in a register.
/// Mutable integers, floats, `bool` and `char` are exempt if a literal or a type shows what they
/// are (`let mut sum = 0u64;`, `let mut at: usize = start;`), and nothing borrows them. If the
/// innermost loop is too slow, move it to a function that is not async, and call that function from
/// a loop with checks.
///
/// # Values that are not `Send`
///
/// With the attribute each loop awaits. So a value that is not `Send`, such as an `Rc` or the guard
/// of a `std::sync::Mutex`, must not be alive when an iteration begins, if the future is to be
/// spawned. The compiler reports it as for any await: "future cannot be sent between threads
/// safely". Drop the value before the loop (`drop`, or a separate block), create it inside the
/// body, or move the loop to a function that is not async. A guard that stays alive is held while
/// other goroutines run.
///
/// # Examples
///
/// ```
/// #[gmp::preemptible]
/// async fn collatz(limit: u64) -> u64 {
///     let mut longest = 0u64;
///     for start in 1..limit {
///         let mut n = start;
///         let mut steps = 0u64;
///         while n != 1 {
///             n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
///             steps += 1;
///         }
///         longest = longest.max(steps);
///     }
///     longest
/// }
///
/// #[gmp::main]
/// async fn main() {
///     assert_eq!(gmp::go!(collatz(10_000)).await.unwrap(), 261);
/// }
/// ```
#[proc_macro_attribute]
pub fn preemptible(options: TokenStream, item: TokenStream) -> TokenStream {
    preempt::expand(options.into(), item.into()).into()
}

/// Expands `gmp::preemptible_block!`, which passes the path of the run-time half first.
#[doc(hidden)]
#[proc_macro]
pub fn preemptible_block(block: TokenStream) -> TokenStream {
    preempt::expand_block(block.into()).into()
}

/// Expands the option `tokio` if the feature `tokio` of gmp is off.
#[doc(hidden)]
#[proc_macro]
pub fn without_tokio(option: TokenStream) -> TokenStream {
    entry::without_tokio(option.into()).into()
}

/// Expands `gmp::go!`, which documents the syntax and passes the path of its crate first.
#[doc(hidden)]
#[proc_macro]
pub fn go(body: TokenStream) -> TokenStream {
    go::expand(body.into()).into()
}

/// Expands `gmp::select!`, which documents the syntax and passes the path of the run-time half
/// first.
#[doc(hidden)]
#[proc_macro]
pub fn select(cases: TokenStream) -> TokenStream {
    select::expand(cases.into()).into()
}

/// The expansion of `gmp::join!`, which documents it and passes the path of the run-time half
/// first.
#[doc(hidden)]
#[proc_macro]
pub fn join(futures: TokenStream) -> TokenStream {
    join::expand(futures.into()).into()
}

/// The expansion of `gmp::try_join!`, which documents it and passes the path of the run-time half
/// first.
#[doc(hidden)]
#[proc_macro]
pub fn try_join(futures: TokenStream) -> TokenStream {
    join::expand_try(futures.into()).into()
}
