//! What programs and the other crates call: spawning, blocking, yielding, runtimes, time.
//!
//! Nothing below this folder uses it.

#[macro_use]
pub(crate) mod macros;

pub(crate) mod blocking;
pub mod entry;
pub mod preempt;
pub mod runtime;
pub(crate) mod spawn;
pub mod task;
pub mod time;
pub mod trace;
pub(crate) mod unconstrained;
pub(crate) mod yielding;
