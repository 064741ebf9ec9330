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
//! A goroutine's future is on the heap, and each poll of it uses the stack of its thread. So a deep
//! recursion of boxed futures needs more of that: [`runtime::Builder::thread_stack_size`].
//!
//! # Overview
//!
//! - Starting and joining: [`go!`], [`spawn`], [`JoinHandle`], [`block_on`], [`yield_now`],
//!   [`task::Builder`] for names; [`join!`], [`try_join!`] in one goroutine; [`task_local!`].
//! - Channels: [`chan()`], [`chan::unbounded`], [`select!`], [`chan::Permit`].
//! - Synchronisation: [`WaitGroup`]. The rest of Go's primitives are in [`sync`]: [`sync::Mutex`],
//!   [`sync::RwLock`], [`sync::Cond`], [`sync::Once`], [`sync::OnceCell`], [`sync::Lazy`],
//!   [`sync::Semaphore`], [`sync::Barrier`], [`sync::SingleFlight`], [`sync::Pool`].
//! - Cancellation: [`context::Context`], [`sync::ErrGroup`].
//! - Network: [`net::TcpListener`], [`net::TcpStream`], [`net::UdpSocket`], [`net::UnixStream`],
//!   [`net::Async`] for any descriptor, [`net::resolve`].
//! - Input and output: [`io::copy`], [`io::copy_bidirectional`], [`io::duplex`], [`io::pipe`],
//!   [`io::stdin`], [`io::stdout`], and the traits of `futures`.
//! - Files and directories, in place: [`fs::read`], [`fs::write`], [`fs::File`], [`fs::read_dir`].
//! - Child processes: [`process::Command`], [`process::Child`].
//! - Signals: [`signal::ctrl_c`], [`signal::signal`].
//! - Time: [`sleep`], [`timeout`], [`after`], [`Ticker`], [`Timer`], [`after_func`],
//!   [`time::DelayQueue`].
//! - Blocking and long work: [`block_in_place`], [`spawn_blocking`], [`checkpoint`],
//!   [`macro@preemptible`], [`preemptible_block!`], [`unconstrained`].
//! - Observation: [`runtime::dump`], [`runtime::metrics`], [`runtime::on_stall`],
//!   [`runtime::on_event`]; execution traces for Go's viewer: [`trace`].
//! - The runtime: [`macro@main`], [`macro@test`], [`Runtime`], [`runtime::Builder`],
//!   [`set_max_procs`], [`runtime::set_default_max_procs`], [`runtime::num_cpu`].
//! - New primitives: [`task::park`].
//!
//! The root has the names of a small program. All others are in one module each. [`prelude`] has
//! the names to import by a glob.
//!
//! # Features
//!
//! - `tokio-io`: sockets implement tokio's `AsyncRead` and `AsyncWrite`. tokio's runtime is not
//!   used.
//! - `hyper`: sockets implement hyper's `Read` and `Write`. `compat::hyper` has an executor, a
//!   timer, and an adapter for wrapped sockets.
//! - `tokio`: a Tokio runtime beside the goroutines, for libraries that need one. See
//!   `compat::tokio` and `#[gmp::main(tokio)]`.
//! - `axum`: `compat::tokio::axum::serve`, a server for axum whose connections are goroutines.
//!
//! # Environment
//!
//! - `GMPMAXPROCS`: the number of goroutines that run in parallel. See
//!   [`runtime::Builder::max_procs`].
//! - `GMPDEBUG`: a list `key=value,…` with the keys below.
//!
//! A setting of [`runtime::Builder`], or an option of `#[gmp::main]`, takes precedence over the
//! environment.
//!
//! Keys of `GMPDEBUG`:
//!
//! - `panic=abort`: a panic in a goroutine ends the process, as in Go. `contain` is the default.
//! - `deadlock=fatal`: when no goroutine can ever be woken, the process ends with status 2, as in
//!   Go. It does so only if the goroutine of `#[gmp::main]` is one of them, no other runtime has
//!   goroutines, and the process has no threads but gmp's. Otherwise, and where the OS does not
//!   list the threads, it only reports. Linux lists them in `/proc`. `report`, the default for
//!   `#[gmp::main]`, reports it once. `off` does nothing. [`main`](macro@main) says what counts.
//! - `stall=1`: reports a goroutine that blocks its thread or computes for long while others wait,
//!   once per spawn site. [`runtime::on_stall`] says what counts.
//! - `schedtrace=N`: prints a line about the scheduler every N milliseconds, in Go's format.
//!   [`runtime`] explains all fields.
//! - `scheddetail=1`: adds a line for each P, M and goroutine to `schedtrace`.
//! - `trace=FILE`: writes an execution trace for `go tool trace` to FILE, from the first runtime to
//!   its end or to the exit of the process. `%p` in FILE stands for the process id, for programs
//!   that start others with the same environment. See [`trace`].
//! - `pause=0`: does not pause threads of CPU-bound goroutines. See
//!   [`runtime::Builder::pause_cpu_bound`].
//! - `adaptive=0`: always runs on all Ps. See [`runtime::Builder::adaptive_procs`].
//! - `lookups=N`: the maximum number of concurrent name lookups. See
//!   [`runtime::Builder::max_lookups`].
//!
//! An unknown key or an invalid value is reported and ignored. Reports go to stderr, or to the hook
//! of [`runtime::on_event`].
#![forbid(unsafe_code)]

pub mod chan;
#[cfg(unix)]
pub mod compat;
pub mod context;
#[cfg(unix)]
pub mod fs;
#[cfg(unix)]
pub mod io;
pub mod net;
pub mod prelude;
#[cfg(unix)]
pub mod process;
pub mod runtime;
#[cfg(unix)]
pub mod signal;
pub mod sync;
pub mod task;
pub mod time;

#[cfg(not(feature = "tokio"))]
#[doc(hidden)]
pub use gmp_macros::without_tokio as __with_tokio;
pub use gmp_macros::{main, preemptible, test};
pub use gmp_rt::{
    JoinError, JoinHandle, Runtime, Ticker, Timer, after, after_func, block_in_place, block_on,
    checkpoint, go, goid, join, max_procs, num_goroutine, preemptible_block, set_max_procs, sleep,
    sleep_until, spawn, spawn_blocking, task_local, timeout, timeout_at, trace, try_join,
    unconstrained, yield_now,
};
#[doc(hidden)]
pub use gmp_rt::{entry as __entry, preempt as __preempt};
pub use gmp_sync::chan::chan;
pub use gmp_sync::{WaitGroup, select};
#[cfg(feature = "tokio")]
#[doc(hidden)]
pub use gmp_tokio::__with_tokio;
