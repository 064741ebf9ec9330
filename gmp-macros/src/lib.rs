//! The macros of [gmp](https://docs.rs/gmp). Use them through the facade crate `gmp`.
#![forbid(unsafe_code)]

mod entry;
mod go;
mod preempt;
mod select;
mod tail;

use proc_macro::TokenStream;

/// Runs an `async fn main` as goroutine 1.
///
/// When it returns, the process ends, whatever other goroutines do, as in Go. It may return
/// anything a plain `main` may: `()`, `Result`, `ExitCode`.
///
/// | option | meaning |
/// |--------|---------|
/// | `procs = 4` | how many goroutines may run at the same time |
/// | `panic = "abort"` | a panic in any goroutine ends the process with status 2, as in Go |
/// | `name = "web"` | what the names of the threads begin with |
/// | `crate = "path"` | where the gmp crate is, if it was renamed |
///
/// # SIGQUIT
///
/// On Unix, SIGQUIT (`Ctrl-\`, `kill -QUIT`) prints what all goroutines are doing to stderr, in Go's format,
/// and ends the process with status 2, also when every thread is stuck. Sent again after a second, it ends the
/// process at once.
///
/// A program that has another use for the signal sets its own handler, whenever it likes and by any means
/// (`sigaction`, `signal-hook`, …): gmp then leaves the signal alone. `gmp::runtime::dump()` gives the same text.
/// Runtimes built by hand do not touch signals.
///
/// # Examples
///
/// ```
/// #[gmp::main(procs = 2)]
/// async fn main() -> Result<(), std::io::Error> {
///     gmp::go!({ println!("hello") }).await.unwrap();
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(entry::Entry::Main, options.into(), item.into()).into()
}

/// Runs an `async fn` as a test, on a runtime of its own.
///
/// Takes the options of [`macro@main`]. Other test attributes, such as `#[should_panic]`, work
/// as ever.
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
/// A goroutine that computes without an await keeps its thread. This attribute puts a check where
/// the next iteration of each `loop`, `while` and `for` begins. When the time slice of 10 ms is
/// over, the check yields, as
/// [`gmp::checkpoint`](https://docs.rs/gmp/latest/gmp/fn.checkpoint.html) does. Until then it is
/// one load and a branch. A `for` loop over integers or a slice with a body of simple operations
/// has one check for thousands of items.
///
/// | it stands on | loops with checks |
/// |---|---|
/// | an `async fn` | the loops of the function |
/// | an `impl` block or a trait | those of all async functions in it |
/// | an inline module | those of all async functions in it and in its modules |
///
/// Async blocks and async closures inside are included, wherever they stand. Code that cannot await
/// is not: functions and closures that are not async, and constants. Macro calls are left as they
/// are, `go!` and `select!` too. For a block use
/// [`preemptible_block!`](https://docs.rs/gmp/latest/gmp/macro.preemptible_block.html).
///
/// The option `crate = "path"` says where the gmp crate is, if it was renamed.
///
/// # What it costs
///
/// A variable that is used after an await is in memory between iterations, not in a register.
/// Mutable integers, floats, `bool` and `char` are exempt if a literal or a type shows what they
/// are (`let mut sum = 0u64;`, `let mut at: usize = start;`), and nothing borrows them. If the
/// innermost loop is too slow, move it to a function that is not async, and call that from a loop
/// with checks.
///
/// # Values that are not `Send`
///
/// Each loop awaits now. So a value that is not `Send`, such as an `Rc` or the guard of a
/// `std::sync::Mutex`, must not be alive when an iteration begins, if the goroutine is to be
/// spawned. The compiler reports it as with any await: "future cannot be sent between threads
/// safely". End its life before the loop (`drop`, a block of its own), make it inside the body, or
/// move the loop to a function that is not async. A guard that stays alive is held while other
/// goroutines run.
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

/// What `gmp::preemptible_block!` expands to; that macro passes the path of the run-time half in
/// front.
#[doc(hidden)]
#[proc_macro]
pub fn preemptible_block(block: TokenStream) -> TokenStream {
    preempt::expand_block(block.into()).into()
}

/// What `gmp::go!` expands to; that macro says how to use it, and passes the path of its crate in
/// front.
#[doc(hidden)]
#[proc_macro]
pub fn go(body: TokenStream) -> TokenStream {
    go::expand(body.into()).into()
}

/// What `gmp::select!` expands to; that macro says how to use it, and passes the path of the run-time
/// half in front.
#[doc(hidden)]
#[proc_macro]
pub fn select(cases: TokenStream) -> TokenStream {
    select::expand(cases.into()).into()
}
