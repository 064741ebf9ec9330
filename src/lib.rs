//! Goroutines for Rust.
//!
//! `go!(f(x))` starts a goroutine, a stackless future, on a G-M-P scheduler as Go has it: Gs are
//! goroutines, Ms are threads, Ps are the right to run. Each P has a queue; a thread whose queue
//! is empty steals from the others; a thread that blocks hands its P on.
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
//! # Where to look
//!
//! - Starting and joining: [`go!`], [`spawn`], [`JoinHandle`], [`block_on`], [`blocking`], [`yield_now`].
//! - Waiting for each other: [`chan`], [`select!`], [`WaitGroup`], and in [`sync`] the rest of Go's:
//!   [`sync::Mutex`], [`sync::RwLock`], [`sync::Cond`], [`sync::Once`], [`sync::OnceCell`], [`sync::Lazy`],
//!   [`sync::Semaphore`], [`sync::Barrier`].
//! - Ending work early: [`sync::Context`], [`sync::ErrGroup`].
//! - The network: [`net::TcpListener`], [`net::TcpStream`], [`net::UdpSocket`], [`net::UnixStream`],
//!   [`net::Async`] for any descriptor, [`net::resolve`].
//! - Input and output: [`io::copy`], [`io::copy_bidirectional`], [`io::Blocking`] for files,
//!   [`io::stdin`], [`io::stdout`].
//! - Signals: [`signal::ctrl_c`], [`signal::signal`].
//! - Time: [`sleep`], [`timeout`], [`Ticker`], [`Timer`], [`after_func`].
//! - Blocking and long work: [`blocking`], [`spawn_blocking`], [`checkpoint`],
//!   [`macro@preemptible`], [`preemptible_block!`].
//! - Seeing inside: [`runtime::dump`], [`runtime::stats`], [`runtime::on_stall`].
//! - The runtime: [`macro@main`], [`macro@test`], [`Runtime`], [`Builder`], [`set_max_procs`].
//! - Building primitives: [`park`].
//!
//! # Features
//!
//! | feature | what |
//! |---------|------|
//! | `tokio-io` | sockets implement tokio's `AsyncRead` and `AsyncWrite`; its runtime is not used |
//! | `hyper` | sockets implement hyper's `Read` and `Write`; `net::hyper` has an executor, a timer, and an adapter for what wraps a socket |
//!
//! # Environment
//!
//! | variable | meaning |
//! |----------|---------|
//! | `GMPMAXPROCS` | how many goroutines run in parallel: see [`Builder::max_procs`] |
//! | `GMPDEBUG` | `key=value,…` of the keys below |
//!
//! | key | meaning |
//! |-----|---------|
//! | `panic=abort` | a panic in a goroutine ends the process, as in Go |
//! | `deadlock=fatal` | when all goroutines are asleep the process ends with status 2, as in Go; `report`, the default for `#[gmp::main]`, tells once; `off` |
//! | `stall=1` | a goroutine that blocks or hogs its thread is named, once per spawn site |
//! | `schedtrace=N` | a line about the scheduler every N milliseconds, in Go's format |
//! | `scheddetail=1` | with it, a line for each P and goroutine |
//! | `pause=0` | threads of goroutines that compute without an await are not paused: see [`Builder::pause_cpu_bound`] |
//! | `adaptive=0` | all of `GMPMAXPROCS` run, also where fewer would get more done |
//!
//! An unknown key or a bad value is named on stderr and ignored.
#![forbid(unsafe_code)]

pub use gmp_macros::{main, preemptible, test};
pub use gmp_rt::{
    AfterFunc, BuildError, Builder, Cancelled, Checkpoint, Elapsed, Handle, JoinError, JoinHandle,
    JoinPanic, PanicPolicy, ProcsError, Runtime, ShutdownError, Sleep, Ticker, Timeout, Timer,
    YieldNow, after_func, block_on, blocking, checkpoint, go, goid, max_procs, num_goroutine, park,
    preemptible_block, runtime, set_max_procs, sleep, sleep_until, spawn, spawn_blocking,
    spawn_named, time, timeout, timeout_at, yield_now,
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

/// Signals of the OS: listeners that are told of each, wherever they wait.
#[cfg(unix)]
pub mod signal {
    pub use gmp_net::signal::{Signal, SignalKind, ctrl_c, signal};
}

/// The network.
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
    pub use gmp_net::{Closed, DeadlineExceeded, RuntimeEnded, resolve};
}

/// Primitives for goroutines to wait for each other.
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
        SendTimeoutError, Sender, TryIter, TryRecvError, TrySendError, chan, select_cases,
        unbounded_chan,
    };
    pub use gmp_sync::{Pool, PoolGuard};
    pub use gmp_sync::{Wait, WaitGroup};
}
