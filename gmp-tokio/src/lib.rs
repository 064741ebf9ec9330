//! Tokio inside goroutines. Programs use it as `gmp::compat::tokio`, by the feature `tokio` of gmp.
//!
//! Libraries for Tokio need the context of a Tokio runtime: reqwest, tonic's transport, sqlx,
//! redis and others. [`BuilderExt::tokio`] starts a Tokio runtime together with the gmp runtime.
//! Each worker thread of gmp enters its context once, when the thread starts. So Tokio's sockets,
//! timers, files, processes, `spawn` and `spawn_blocking` work in every goroutine, without a
//! wrapper. With `#[gmp::main(tokio)]` and `#[gmp::test(tokio)]` nothing else is necessary.
//!
//! ```
//! # use gmp_rt as gmp;
//! # use gmp_tokio::BuilderExt;
//! use std::time::Duration;
//!
//! let runtime = gmp::runtime::Builder::new().tokio().build()?;
//! let answer = runtime.block_on(async {
//!     gmp::spawn(async {
//!         tokio::time::sleep(Duration::from_millis(1)).await; // in a goroutine
//!         tokio::spawn(async { 42 }).await // in a Tokio task
//!     })
//!     .await
//! });
//! assert_eq!(answer??, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What runs where
//!
//! | what | runs on |
//! |---|---|
//! | a goroutine, with all futures that it awaits | gmp's worker threads |
//! | the future of a `block_on` | the thread that calls it |
//! | `tokio::spawn`, `JoinSet::spawn`, and what libraries spawn | Tokio's worker: one thread |
//! | `tokio::task::spawn_blocking`, `tokio::fs`, `tokio::net::lookup_host` | Tokio's blocking pool |
//! | epoll and the timers of Tokio | Tokio's worker; it calls the waker, then gmp runs the goroutine |
//! | epoll and the timers of gmp | gmp's worker threads |
//!
//! **A Tokio task is no goroutine.** If it blocks its thread, it stops all Tokio tasks, timers and
//! sockets of this runtime: no other thread takes over. It has no goroutine id and is in no dump.
//! Use `gmp::spawn` where the choice is yours. A library that spawns for itself is on Tokio's
//! worker, so `gmp::block_on` in its callbacks blocks that worker.
//!
//! `gmp::spawn` in a Tokio task starts a goroutine of the gmp runtime to which the Tokio runtime
//! belongs.
//!
//! # Cost
//!
//! - A goroutine that uses nothing of Tokio costs what it costs without this feature: a poll does
//!   not enter anything.
//! - `build` starts one more thread, in less than a millisecond.
//! - An event of a Tokio socket or timer wakes Tokio's worker first, and the goroutine's thread
//!   after that. With a single request in flight that doubles the latency or more. With many in
//!   flight most of it disappears. gmp's own sockets and timers do not have this cost.
//! - `tokio::fs` sends each call to a thread pool. `std::fs` in a goroutine runs in place.
//!
//! # Differences from a Tokio task
//!
//! - A goroutine has no budget of Tokio. A loop over ready Tokio resources does not yield by
//!   itself. Other goroutines continue on other threads, but a `gmp::checkpoint().await` in such a
//!   loop is cheaper.
//! - `tokio::task::id()` panics, and `tokio::task::try_id()` returns `None`.
//! - `tokio::task::block_in_place` runs its closure in place. gmp hands off the P as for any
//!   blocking call.
//! - `Handle::block_on`, blocking receives, and new Tokio runtimes are allowed in a goroutine: they
//!   panic in a Tokio task.
//! - Do not hold the guard of `Handle::enter` over an await: the goroutine may continue on another
//!   thread.
//!
//! # Which context a thread has
//!
//! | thread | context |
//! |---|---|
//! | worker thread of a gmp runtime with Tokio | that runtime's, from start to end |
//! | worker thread of a gmp runtime without Tokio | none |
//! | in `Runtime::block_on`, `Handle::block_on` of such a runtime | that runtime's; without Tokio unchanged |
//! | in the free `block_on`, on an external thread | its own, else the default runtime's if that runs |
//! | any other thread | none |
//!
//! Futures are also dropped inside the context: when a goroutine is aborted, when a `timeout`
//! ends it, and when the runtime ends. So a destructor can spawn on Tokio. One case is left: a
//! future that is spawned on a gmp runtime that has ended is dropped by the caller.
//!
//! Without a context Tokio panics: "there is no reactor running, must be called from the context
//! of a Tokio 1.x runtime".
//!
//! # Shutdown
//!
//! 1. gmp drops its goroutines. The context still works.
//! 2. The worker threads of gmp end, with the hooks of `on_thread_stop`.
//! 3. Tokio drops its tasks and ends. A closure of `tokio::task::spawn_blocking` that does not
//!    return within the limit of the shutdown is left behind.
//!
//! If the limit passes before step 2 is done, Tokio runs until the last worker thread ends. The
//! process does not wait for any of this when the `main` of `#[gmp::main]` returns.
//!
//! A resource of Tokio that outlives its runtime, for example in a `static`, returns errors. A
//! timer panics. A pooled client of reqwest or hyper belongs to the runtime that made its
//! connections, so a `static` one cannot be shared by several tests.
#![forbid(unsafe_code)]

#[cfg(all(unix, feature = "axum"))]
pub mod axum;
mod builder_ext;
mod guest;

pub use self::builder_ext::BuilderExt;

/// The expansion of the option `tokio` of `#[gmp::main]` and `#[gmp::test]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_tokio {
    ($tokio:ident $builder:expr) => {
        $crate::BuilderExt::$tokio($builder)
    };
}
