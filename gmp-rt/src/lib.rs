//! The scheduler of [gmp](https://docs.rs/gmp): goroutines for Rust.
//!
//! Programs use the facade crate `gmp`. This crate runs goroutines. It contains no channels and no
//! sockets. These use it through [`park`].
//!
//! The modules, from the lowest layer up:
//!
//! | module | contents |
//! |---|---|
//! | [`prim`] | primitives: atomics, locks |
//! | `tuning` | constants |
//! | `tracer` | writes execution traces |
//! | `g` | goroutines (G) |
//! | `timer` | timers |
//! | `p` | processors (P) |
//! | `m` | worker threads (M) |
//! | `sched` | the scheduler; its README explains the design |
//! | [`runtime`], [`time`], [`trace`] | the interface for programs |
#![cfg_attr(not(test), warn(clippy::print_stdout))]

#[macro_use]
mod macros;

mod ambient;
mod blocking;
#[cfg(feature = "dev-hooks")]
#[doc(hidden)]
#[expect(unsafe_code, reason = "fake goroutines for queues that never look behind them")]
pub mod dev_hooks;
#[doc(hidden)]
pub mod entry;
mod g;
mod limits;
mod m;
mod netpoll;
mod p;
pub mod park;
#[doc(hidden)]
pub mod preempt;
#[doc(hidden)]
#[expect(unsafe_code, reason = "a lock without a guard")]
pub mod prim;
pub mod runtime;
mod sched;
mod sys;
mod throw;
pub mod time;
mod timer;
pub mod trace;
mod tracer;
mod tuning;
mod util;
mod wait_reason;
mod yielding;

pub use crate::ambient::{goid, max_procs, num_goroutine, set_max_procs, spawn, spawn_named};
pub use crate::blocking::{blocking, spawn_blocking};
#[doc(hidden)]
pub use crate::g::join::panic_message;
pub use crate::g::join::{Cancelled, JoinError, JoinHandle, JoinPanic};
#[doc(hidden)]
pub use crate::macros::probe as __go;
pub use crate::runtime::{
    BuildError, Builder, Handle, PanicPolicy, ProcsError, Runtime, ShutdownError, block_on,
};
pub use crate::time::{
    AfterFunc, Elapsed, Sleep, Ticker, Timeout, Timer, after_func, sleep, sleep_until, timeout,
    timeout_at,
};
pub use crate::yielding::{Checkpoint, YieldNow, checkpoint, yield_now};
#[doc(hidden)]
pub use gmp_macros::{go as __go_macro, preemptible_block as __preemptible_block_macro};
