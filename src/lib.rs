//! Goroutines for Rust.
//!
//! `go!(f(x))` starts a goroutine, a stackless future, on a G-M-P scheduler like Go's. A G is a
//! goroutine, an M is a worker thread, and an M needs a P to run Gs. Each P has a run queue. An M
//! whose queue is empty steals from other Ps. The P of a blocked thread is handed off to another
//! thread.
//!
//! ```
//! use gmp::go;
//! use std::time::Duration;
//!
//! async fn square(n: u64) -> u64 {
//!     gmp::sleep(Duration::from_millis(n)).await;
//!     n * n
//! }
//!
//! #[gmp::main]
//! async fn main() {
//!     let squares: Vec<_> = (1..=4).map(|n| go!(square(n))).collect();
//!     let mut sum = 0;
//!     for square in squares {
//!         sum += square.await.unwrap();
//!     }
//!     assert_eq!(sum, 30);
//! }
//! ```
//!
//! # Overview
//!
//! - Starting and joining: [`go!`], [`spawn`], [`JoinHandle`], [`block_on`], [`blocking`],
//!   [`yield_now`].
//! - Synchronisation: [`chan`], [`select!`], [`WaitGroup`]. The rest of Go's primitives are in
//!   [`sync`]: [`sync::Mutex`], [`sync::RwLock`], [`sync::Cond`], [`sync::Once`],
//!   [`sync::OnceCell`], [`sync::Lazy`], [`sync::Semaphore`], [`sync::Barrier`].
//! - Cancellation: [`sync::Context`], [`sync::ErrGroup`].
//! - Network: [`net::TcpListener`], [`net::TcpStream`], [`net::UdpSocket`], [`net::UnixStream`],
//!   [`net::Async`] for any descriptor, [`net::resolve`].
//! - Input and output: [`io::copy`], [`io::copy_bidirectional`], [`io::Blocking`] for files,
//!   [`io::stdin`], [`io::stdout`].
//! - Signals: [`signal::ctrl_c`], [`signal::signal`].
//! - Time: [`sleep`], [`timeout`], [`Ticker`], [`Timer`], [`after_func`].
//! - Blocking and long work: [`blocking`], [`spawn_blocking`], [`checkpoint`],
//!   [`macro@preemptible`], [`preemptible_block!`].
//! - Observation: [`runtime::dump`], [`runtime::stats`], [`runtime::on_stall`],
//!   [`runtime::on_event`]; execution traces for Go's viewer: [`trace`].
//! - The runtime: [`macro@main`], [`macro@test`], [`Runtime`], [`Builder`], [`set_max_procs`].
//! - New primitives: [`park`].
//!
//! # Features
//!
//! - `tokio-io`: sockets implement tokio's `AsyncRead` and `AsyncWrite`. tokio's runtime is not
//!   used.
//! - `hyper`: sockets implement hyper's `Read` and `Write`. `net::hyper` has an executor, a timer,
//!   and an adapter for wrapped sockets.
//!
//! # Environment
//!
//! - `GMPMAXPROCS`: the number of goroutines that run in parallel. See [`Builder::max_procs`].
//! - `GMPDEBUG`: a list `key=value,…` with the keys below.
//!
//! A setting of [`Builder`], or an option of `#[gmp::main]`, takes precedence over the environment.
//!
//! Keys of `GMPDEBUG`:
//!
//! - `panic=abort`: a panic in a goroutine ends the process, as in Go. `contain` is the default.
//! - `deadlock=fatal`: when no goroutine can ever be woken, the process ends with status 2, as in
//!   Go. It does so only if the goroutine of `#[gmp::main]` is one of them, no other runtime has
//!   goroutines, and the process has no threads but gmp's. `report`, the default for
//!   `#[gmp::main]`, reports it once. `off` does nothing. [`main`](macro@main) says what counts.
//! - `stall=1`: reports a goroutine that blocks its thread or computes for long while others wait,
//!   once per spawn site. [`runtime::on_stall`] says what counts.
//! - `schedtrace=N`: prints a line about the scheduler every N milliseconds, in Go's format.
//! - `scheddetail=1`: adds a line for each P, M and goroutine to `schedtrace`.
//! - `trace=FILE`: writes an execution trace for `go tool trace` to FILE, from the first runtime to
//!   its end or to the exit of the process. See [`trace`].
//! - `pause=0`: does not pause threads of CPU-bound goroutines. See [`Builder::pause_cpu_bound`].
//! - `adaptive=0`: always runs on all Ps. See [`Builder::adaptive`].
//!
//! An unknown key or an invalid value is reported and ignored. Reports go to stderr, or to the hook
//! of [`runtime::on_event`].
#![forbid(unsafe_code)]

pub use gmp_macros::{main, preemptible, test};
pub use gmp_rt::{
    AfterFunc, BuildError, Builder, Cancelled, Checkpoint, Elapsed, Handle, JoinError, JoinHandle,
    JoinPanic, PanicPolicy, ProcsError, Runtime, ShutdownError, Sleep, Ticker, Timeout, Timer,
    YieldNow, after_func, block_on, blocking, checkpoint, go, goid, max_procs, num_goroutine, park,
    preemptible_block, runtime, set_max_procs, sleep, sleep_until, spawn, spawn_blocking,
    spawn_named, time, timeout, timeout_at, trace, yield_now,
};
#[doc(hidden)]
pub use gmp_rt::{entry as __entry, preempt as __preempt};
pub use gmp_sync::{WaitGroup, chan, select, unbounded_chan};

/// Copying in the kernel, files, standard input and output.
#[cfg(unix)]
pub mod io {
    pub use gmp_net::io::{
        Blocking, Lines, Stdin, Stdout, copy, copy_bidirectional, stderr, stdin, stdout,
    };
}

/// Signals of the OS. Each listener receives every signal of its kind.
#[cfg(unix)]
pub mod signal {
    pub use gmp_net::signal::{Signal, SignalKind, ctrl_c, signal};
}

/// Sockets and name resolution.
///
/// A goroutine that waits for a socket holds no thread. An operation first makes the system call.
/// If the call would block, the goroutine parks until the OS reports an event. The event is
/// received by a thread that has no other work, or by a busy one between two polls.
///
/// The number of sockets is limited by the descriptors of the process (`ulimit -n`). Beyond the
/// limit an operation that makes a socket returns the error `EMFILE`, and `accept` waits until a
/// descriptor is free.
pub mod net {
    #[cfg(target_os = "linux")]
    pub use gmp_net::UCred;
    #[cfg(all(unix, feature = "hyper"))]
    pub use gmp_net::hyper;
    #[cfg(unix)]
    pub use gmp_net::{
        AddrErrors, Async, Incoming, TcpListener, TcpSocket, TcpStream, ToAddrs, UdpSocket,
        UnixDatagram, UnixListener, UnixStream, tcp, unix,
    };
    pub use gmp_net::{Closed, DeadlineExceeded, RuntimeEnded, WatchLimit, resolve};
}

/// Synchronisation primitives for goroutines.
pub mod sync {
    pub use gmp_sync::{
        Acquire, AcquireOwned, Barrier, BarrierWait, BarrierWaitResult, Cond, CondWait, Lazy, Lock,
        LockOwned, MappedMutexGuard, Mutex, MutexGuard, Once, OnceCell, OwnedMutexGuard,
        OwnedPermit, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, Permit, ReadLock, ReadLockOwned,
        RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SetError, WriteLock, WriteLockOwned,
    };
    pub use gmp_sync::{AfterDone, CancelGuard, Canceller, Cause, Context, ContextError, Done};
    pub use gmp_sync::{CallResult, SingleFlight};
    pub use gmp_sync::{ErrGroup, GroupError, GroupWait, Start};
    pub use gmp_sync::{
        IntoIter, Iter, Receiver, Recv, RecvError, RecvTimeoutError, SelectCase, Send, SendError,
        SendTimeoutError, Sender, TryIter, TryRecvError, TrySendError, chan, recv_any,
        select_cases, unbounded_chan,
    };
    pub use gmp_sync::{Pool, PoolGuard};
    pub use gmp_sync::{Wait, WaitGroup};
}
