//! The scheduler of [gmp](https://docs.rs/gmp): goroutines for Rust.
//!
//! Programs use the facade crate `gmp`. This crate runs goroutines. It contains no channels and no
//! sockets. These use it through [`task::park`].
//!
//! The modules, from the lowest layer up (`ARCHITECTURE.md` of the repository shows the paths
//! through them):
//!
//! | module | contents |
//! |---|---|
//! | [`prim`] | primitives: atomics, locks |
//! | `tuning`, `limits` | constants |
//! | `sys` | what differs between operating systems |
//! | `tracer` | writes execution traces |
//! | `g` | goroutines (G) |
//! | `timer` | timers |
//! | `p` | processors (P) |
//! | `netpoll` | the interface of the netpoller |
//! | `m` | worker threads (M) |
//! | `sched` | the scheduler; its README explains the design |
//! | `observe` | dumps, traces, metrics, events; stalls and deadlocks |
//! | `sysmon` | the thread that monitors the others |
//! | `api` | the interface for programs: [`runtime`], [`task`], [`time`], [`trace`] |
//! | `testing` | support for tests and micro-benchmarks |
#![cfg_attr(not(test), warn(clippy::print_stdout))]

#[macro_use]
mod api;

mod g;
mod limits;
mod m;
mod netpoll;
mod observe;
mod p;
#[doc(hidden)]
#[expect(unsafe_code, reason = "a lock without a guard")]
pub mod prim;
mod sched;
mod sys;
mod sysmon;
#[cfg(any(test, feature = "dev-hooks"))]
mod testing;
mod throw;
mod timer;
mod tracer;
mod tuning;
mod util;
mod wait_reason;

pub use crate::api::blocking::{block_in_place, spawn_blocking};
#[doc(hidden)]
pub use crate::api::macros::join as __join;
#[doc(hidden)]
pub use crate::api::macros::probe as __go;
pub use crate::api::runtime::{Runtime, block_on};
pub use crate::api::spawn::{goid, max_procs, num_goroutine, set_max_procs, spawn};
#[doc(hidden)]
pub use crate::api::task::local as __task_local;
pub use crate::api::time::{
    Ticker, Timer, after, after_func, sleep, sleep_until, timeout, timeout_at,
};
pub use crate::api::unconstrained::unconstrained;
pub use crate::api::yielding::{checkpoint, yield_now};
#[doc(hidden)]
pub use crate::api::{entry, preempt};
pub use crate::api::{runtime, task, time, trace};
#[doc(hidden)]
pub use crate::g::join::panic_message;
pub use crate::g::join::{JoinError, JoinHandle};
#[doc(hidden)]
#[cfg(feature = "dev-hooks")]
pub use crate::testing::dev_hooks;
#[doc(hidden)]
pub use gmp_macros::{
    go as __go_macro, join as __join_macro, preemptible_block as __preemptible_block_macro,
    try_join as __try_join_macro,
};
