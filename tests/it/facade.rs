//! Every name of the facade exists, at the path that its documentation says.

#![expect(unused_imports, reason = "that they resolve is the test")]

use gmp::chan::{
    IterBlocking, Receiver, RecvError, RecvTimeoutError, SelectCase, SendError, SendTimeoutError,
    Sender, TryIter, TryRecvError, TrySendError, bounded, chan, recv_any, select_cases, unbounded,
};
use gmp::context::{AfterDone, CancelGuard, Canceller, Cause, Context, ContextError, background};
use gmp::runtime::{
    BuildError, Builder, EnterGuard, Event, Handle, Metrics, PanicPolicy, ProcsError, Severity,
    ShutdownError, Stall, StallKind, dump, metrics, on_event, on_stall,
};
use gmp::sync::futures::{
    Acquire, AcquireOwned, BarrierWait, CondWait, Done, ErrGroupGo, ErrGroupMember, ErrGroupWait,
    Lock, LockOwned, ReadLock, ReadLockOwned, RecvFut, Run, SendFut, WaitGroupWait, WriteLock,
    WriteLockOwned,
};
use gmp::sync::{
    Barrier, BarrierWaitResult, Cond, ErrGroup, FlightResult, GroupError, Lazy, MappedMutexGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, Once, OnceCell,
    OwnedMappedMutexGuard, OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard,
    OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, Pool,
    PoolGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit, SetError,
    SingleFlight, WaitGroup, WaitTimeoutResult,
};
use gmp::task::park::{StorableWaker, StoredWaker, WaitReason, note_wait, poll_proceed, wake_all};
use gmp::task::{
    AbortOnDrop, Checkpoint, JoinCancelled, JoinError, JoinHandle, JoinPanic, YieldNow,
};
use gmp::time::{
    AfterFunc, Duration, Elapsed, Instant, MissedTicks, Sleep, Ticker, Timeout, Timer, TimerWait,
    after, after_func, tick,
};
use gmp::{
    Runtime, block_in_place, block_on, checkpoint, go, goid, main, max_procs, net, num_goroutine,
    preemptible, preemptible_block, select, set_max_procs, sleep, sleep_until, spawn,
    spawn_blocking, test, timeout, timeout_at, yield_now,
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
    check::<Context>();
    check::<Canceller>();
    check::<AfterDone>();
    check::<Done<'static>>();
    check::<ErrGroup<u8>>();
    check::<SingleFlight<u8, u8>>();
    check::<Pool<std::cell::Cell<u8>>>();
}

/// A glob import that hid `Send` would break the bound of `check`, and one that hid `Option`,
/// `Result` or `drop` the code below.
#[::core::prelude::v1::test]
fn glob_imports_hide_nothing_of_the_std_prelude() {
    macro_rules! with_glob_of {
        ($($module:path),*) => {$({
            use $module::*;
            fn check<T: Send + Sync + Clone + ToString>(value: T) -> Option<Result<String, ()>> {
                let text = value.to_string();
                drop(value);
                Some(Ok(text))
            }
            assert!(matches!(check(1), Some(Ok(_))));
        })*};
    }
    with_glob_of!(gmp::prelude, gmp::chan, gmp::context, gmp::sync, gmp::sync::futures);
    with_glob_of!(gmp::task, gmp::task::park, gmp::time, gmp::runtime, gmp::net);
}

#[cfg(unix)]
#[::core::prelude::v1::test]
fn input_output_and_signals_are_there() {
    use gmp::{
        io::{
            Blocking, Stderr, Stdin, StdinLines, Stdout, copy, copy_bidirectional, stderr, stdin,
            stdout,
        },
        net::ToSocketAddrs,
        signal::{Signal, SignalKind, ctrl_c, shutdown, signal},
    };
    fn check<T: Send + Sync>() {}
    check::<Stdin>();
    check::<Stdout>();
    check::<Stderr>();
    check::<StdinLines>();
    check::<Blocking<std::fs::File>>();
    check::<Signal>();
    // A copy can run in a goroutine, also on streams that it borrows.
    fn goroutine<T: Send>(_: T) {}
    let (mut from, mut to) = (stdin(), stdout());
    goroutine(copy(&mut from, &mut to));
    goroutine(ctrl_c());
}
