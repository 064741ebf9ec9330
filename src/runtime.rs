//! Runtimes: how to build, observe and end them.
//!
//! The functions act on the current runtime. That is the runtime of the innermost
//! [`Runtime::block_on`], else that of the goroutine that makes the call, else the default runtime.

pub use gmp_rt::runtime::{
    BuildError, Builder, EnterGuard, Event, Handle, Metrics, PanicPolicy, ProcsError, Severity,
    ShutdownError, Stall, StallKind, dump, metrics, on_event, on_stall,
};
#[doc(no_inline)]
pub use gmp_rt::{Runtime, block_on, max_procs, num_goroutine, set_max_procs};
