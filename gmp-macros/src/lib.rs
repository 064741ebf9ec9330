//! The macros of [gmp](https://docs.rs/gmp). Use them through the facade crate `gmp`.
#![forbid(unsafe_code)]

mod entry;
mod go;
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
