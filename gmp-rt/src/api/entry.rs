//! The functions that `#[gmp::main]` and `#[gmp::test]` expand to. Not for programs.

use crate::api::runtime::block_on::block_on_for;
use crate::api::runtime::{Builder, Runtime, block_on, context};
use crate::g::join::{JoinError, JoinHandle};
use crate::g::origin::Origin;
use crate::observe::deadlock::ParkedCheck;
use crate::observe::dump;
use crate::observe::event::{self, Event, reporter};
use crate::sched::local;
use crate::sys::own_threads::OwnThread;
use crate::sys::{sigquit, stderr};
use crate::throw::LAST_WORDS;
use std::panic::Location;
use std::pin::Pin;
use std::process::{ExitCode, Termination};
use std::sync::Once;
use std::time::Duration;

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
    if let Err(error) = sigquit::watch(show_all) {
        event::emit(Event::SigquitUnavailable { cause: error.to_string() });
    }
    name_panics();
    // The runtime becomes the default, so that `spawn` on an external thread uses it too. It is
    // never dropped: the process ends when `main` returns, as in Go.
    let code = match context::set_default(runtime) {
        Ok(runtime) => run_as_main(runtime, main),
        // `main` was called as a function, or the default runtime was used before.
        Err(runtime) => run_as_main(&runtime, main),
    };
    reporter::flush();
    code
}

#[track_caller]
fn run_as_main<F>(runtime: &Runtime, main: Pin<Box<F>>) -> ExitCode
where
    F: Future<Output: Termination> + Send + 'static,
{
    let goroutine = spawn_main(runtime, main);
    runtime.sched().set_main(goroutine.goid());
    // This thread only waits.
    let _own = OwnThread::enter();
    code(block_on(goroutine))
}

/// Makes the panic hook name the goroutine that panics, before the message of the hook that is set
/// now. A hook that the program sets later replaces both.
fn name_panics() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if let Some(goroutine) = local::running_goroutine() {
                stderr::write_line(&format!("gmp: {goroutine} panics:"), Duration::ZERO);
            }
            hook(info);
        }));
    });
}

/// Prints all goroutines to stderr in Go's format, after SIGQUIT.
fn show_all() {
    stderr::write_raw("SIGQUIT: quit\n\n", LAST_WORDS);
    stderr::write_raw(&dump::dump_all(), LAST_WORDS);
}

/// The default of the option `deadlock_after` of `#[gmp::test]`.
pub const DEADLOCK_AFTER: Duration = Duration::from_secs(10);

/// Runs a test on a new runtime. Fails if all its goroutines have been parked for `deadlock_after`,
/// unless that is zero.
#[track_caller]
pub fn run_test<T: Termination>(
    builder: Builder,
    deadlock_after: Duration,
    test: impl Future<Output = T> + Send + 'static,
) -> ExitCode {
    run_boxed_test(&build(builder), deadlock_after, Box::pin(test))
}

#[track_caller]
fn run_boxed_test<F>(runtime: &Runtime, deadlock_after: Duration, test: Pin<Box<F>>) -> ExitCode
where
    F: Future<Output: Termination> + Send + 'static,
{
    let mut goroutine = spawn_main(runtime, test);
    if deadlock_after.is_zero() {
        return code(block_on(goroutine));
    }
    let mut parked = ParkedCheck::new(deadlock_after);
    let period = (deadlock_after / 4).clamp(Duration::from_millis(1), Duration::from_secs(1));
    loop {
        if let Some(result) = block_on_for(period, &mut goroutine) {
            return code(result);
        }
        if let Some(dump) = parked.check(runtime.sched()) {
            panic!(
                "gmp: deadlock: all goroutines of the test have been parked for {deadlock_after:?} \
                 (an external thread or another runtime could still wake one; \
                 `#[gmp::test(deadlock_after = 0)]` turns this check off)\n\n{dump}"
            );
        }
    }
}

#[track_caller]
fn build(builder: Builder) -> Runtime {
    match builder.build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("gmp: cannot start the runtime: {error}"),
    }
}

#[track_caller]
fn spawn_main<F>(runtime: &Runtime, future: Pin<Box<F>>) -> JoinHandle<ExitCode>
where
    F: Future<Output: Termination> + Send + 'static,
{
    let origin = Origin::named(Location::caller(), "main".into());
    runtime.handle().spawn_from(async { future.await.report() }, origin)
}

#[track_caller]
fn code(result: Result<ExitCode, JoinError>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(JoinError::Panic(panic)) => std::panic::resume_unwind(panic.into_payload()),
        Err(error) => panic!("gmp: {error}"),
    }
}
