//! The functions that `#[gmp::main]` and `#[gmp::test]` expand to. Not for programs.

use crate::runtime::{Builder, Runtime, block_on, context};
use crate::sched::dump;
use crate::sys::quit;
use crate::throw::say;
use std::pin::Pin;
use std::process::{ExitCode, Termination};

/// Runs `main` as goroutine 1 of the default runtime and returns its exit code.
///
/// The goroutine turns the result into a code, so the result need not be `Send`.
#[track_caller]
pub fn run_main<T: Termination>(
    builder: Builder,
    main: impl Future<Output = T> + Send + 'static,
) -> ExitCode {
    // Boxed at once, because the future may be large and there is only one.
    run_boxed_main(builder, Box::pin(main))
}

#[track_caller]
fn run_boxed_main<F>(builder: Builder, main: Pin<Box<F>>) -> ExitCode
where
    F: Future<Output: Termination> + Send + 'static,
{
    let runtime = build(builder.report_deadlock());
    if let Err(error) = quit::watch(show_all) {
        say!("gmp: SIGQUIT will not show the goroutines: {error}");
    }
    // The runtime becomes the default, so that `spawn` on an external thread uses it too. It is
    // never dropped: the process ends when `main` returns, as in Go.
    match context::set_default(runtime) {
        Ok(runtime) => run(runtime, main),
        // `main` was called as a function, or the default runtime was used before.
        Err(runtime) => run(&runtime, main),
    }
}

/// Prints all goroutines to stderr in Go's format, after SIGQUIT.
fn show_all() {
    quit::write_stderr("SIGQUIT: quit\n\n");
    quit::write_stderr(&dump::dump_all());
}

/// Runs a test on a new runtime.
#[track_caller]
pub fn run_test<T: Termination>(
    builder: Builder,
    test: impl Future<Output = T> + Send + 'static,
) -> ExitCode {
    let test = Box::pin(test);
    run(&build(builder), test)
}

#[track_caller]
fn build(builder: Builder) -> Runtime {
    match builder.build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("gmp: cannot start the runtime: {error}"),
    }
}

#[track_caller]
fn run<F>(runtime: &Runtime, future: Pin<Box<F>>) -> ExitCode
where
    F: Future<Output: Termination> + Send + 'static,
{
    let goroutine = runtime.handle().spawn_named("main", async { future.await.report() });
    match block_on(goroutine) {
        Ok(code) => code,
        Err(crate::JoinError::Panic(panic)) => std::panic::resume_unwind(panic.into_payload()),
        Err(error) => panic!("gmp: {error}"),
    }
}
