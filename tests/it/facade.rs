//! Every name of the facade exists.

#[expect(unused_imports, reason = "that they resolve is the test")]
use gmp::{
    AfterFunc, BuildError, Builder, Cancelled, Elapsed, Handle, JoinError, JoinHandle, JoinPanic,
    PanicPolicy, ProcsError, Runtime, ShutdownError, Sleep, Ticker, Timeout, Timer, WaitGroup,
    YieldNow, after_func, block_on, blocking, go, goid, main, max_procs, net, num_goroutine, park,
    runtime, set_max_procs, sleep, sleep_until, spawn, spawn_named, sync, test, time, timeout,
    timeout_at, yield_now,
};

#[::core::prelude::v1::test]
fn public_types_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<JoinHandle<u8>>();
    check::<JoinError>();
    check::<Handle>();
    check::<Runtime>();
    check::<Sleep>();
    check::<Timer>();
    check::<Ticker>();
    check::<AfterFunc>();
    check::<BuildError>();
    check::<ShutdownError>();
    check::<sync::Context>();
    check::<sync::Canceller>();
    check::<sync::AfterDone>();
    check::<sync::Done<'static>>();
    check::<sync::ErrGroup<u8>>();
    check::<sync::SingleFlight<u8, u8>>();
    check::<sync::Pool<std::cell::Cell<u8>>>();
}

#[cfg(unix)]
#[::core::prelude::v1::test]
fn input_output_and_signals_are_there() {
    #[expect(unused_imports, reason = "that they resolve is the test")]
    use gmp::{
        io::{Blocking, Lines, Stdin, Stdout, copy, copy_bidirectional, stderr, stdin, stdout},
        signal::{Signal, SignalKind, ctrl_c, signal},
    };
    fn check<T: Send + Sync>() {}
    check::<Stdin>();
    check::<Stdout>();
    check::<Lines>();
    check::<Blocking<std::fs::File>>();
    check::<Signal>();
    // A copy can run in a goroutine, also on streams that it borrows.
    fn goroutine<T: Send>(_: T) {}
    let (mut from, mut to) = (stdin(), stdout());
    goroutine(copy(&mut from, &mut to));
    goroutine(ctrl_c());
}
