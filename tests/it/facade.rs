//! Every name of the facade exists, at the path that its documentation says.

#![expect(unused_imports, reason = "that they resolve is the test")]

use gmp::chan::{
    Drain, IntoIterBlocking, IterBlocking, OwnedPermit, Permit, Receiver, ReceiverKey, ReceiverSet,
    RecvError, RecvTimeoutError, SelectCase, SendError, SendTimeoutError, Sender, TryIter,
    TryRecvError, TrySendError, WeakSender, bounded, chan, never, recv_any, select_cases,
    unbounded,
};
use gmp::context::{AfterDone, CancelGuard, Canceller, Cause, Context, ContextError, background};
use gmp::runtime::{
    BuildError, Builder, EnterGuard, Event, Handle, Metrics, PanicPolicy, ProcsError, Severity,
    ShutdownError, Stall, StallKind, dump, metrics, num_cpu, on_event, on_stall,
    set_default_max_procs,
};
use gmp::sync::futures::{
    Acquire, AcquireOwned, BarrierWait, ClosedFut, CondWait, Done, ErrGroupGo, ErrGroupMember,
    ErrGroupWait, Lock, LockOwned, ReadLock, ReadLockOwned, ReceiverSetRecv, RecvFut, RecvManyFut,
    ReserveFut, ReserveOwnedFut, Run, SendFut, WaitGroupWait, WriteLock, WriteLockOwned,
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
    AbortOnDrop, Checkpoint, JoinCancelled, JoinError, JoinHandle, JoinPanic, Unconstrained,
    YieldNow,
};
use gmp::time::{
    AfterFunc, DelayKey, DelayQueue, Duration, Elapsed, Expired, Instant, MissedTicks, Sleep,
    Ticker, Timeout, Timer, TimerWait, after, after_func, tick,
};
use gmp::{
    Runtime, block_in_place, block_on, checkpoint, go, goid, main, max_procs, net, num_goroutine,
    preemptible, preemptible_block, select, set_max_procs, sleep, sleep_until, spawn,
    spawn_blocking, test, timeout, timeout_at, unconstrained, yield_now,
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
        fs::{
            DirEntry, File, FileTimes, FileType, Metadata, OpenOptions, Permissions, ReadDir,
            canonicalize, create_dir, create_dir_all, exists, hard_link, metadata, read, read_dir,
            read_link, read_to_string, remove_dir, remove_dir_all, remove_file, rename,
            set_permissions, symlink, symlink_metadata, try_exists, write,
        },
        io::{
            AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt,
            AsyncWrite, AsyncWriteExt, Blocking, BufReader, BufWriter, Cursor, DuplexStream, Empty,
            Error, ErrorKind, Lines, LinesExt, NextLine, PipeReader, PipeWriter, ReadHalf, Repeat,
            Result, SeekFrom, Sink, Stderr, Stdin, StdinLines, Stdout, WriteHalf, copy,
            copy_bidirectional, duplex, empty, pipe, repeat, sink, split, stderr, stdin, stdout,
        },
        net::ToSocketAddrs,
        process::{
            Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio,
        },
        signal::{Signal, SignalKind, ctrl_c, shutdown, signal},
    };
    fn check<T: Send + Sync>() {}
    check::<Stdin>();
    check::<Stdout>();
    check::<Stderr>();
    check::<StdinLines>();
    check::<Blocking<std::fs::File>>();
    check::<DuplexStream>();
    check::<(File, OpenOptions, ReadDir, DirEntry)>();
    check::<(PipeReader, PipeWriter)>();
    check::<Signal>();
    check::<(Command, Child, ChildStdin, ChildStdout, ChildStderr)>();
    // A copy can run in a goroutine, also on streams that it borrows.
    fn goroutine<T: Send>(_: T) {}
    let (mut from, mut to) = (stdin(), stdout());
    goroutine(copy(&mut from, &mut to));
    goroutine(ctrl_c());
    goroutine(Command::new("true").output());
    goroutine(read("path"));
}
