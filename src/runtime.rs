//! Runtimes: how to build, observe and end them.
//!
//! The functions act on the current runtime. That is the runtime of the innermost
//! [`Runtime::block_on`], else that of the goroutine that makes the call, else the default runtime.

pub use gmp_rt::runtime::{
    Blocking, BuildError, Builder, Event, Goroutines, Handle, Handoffs, Histogram, Metrics,
    NetMetrics, PanicPolicy, ProcMetrics, ProcsError, Queues, Severity, ShutdownError, Stall,
    StallKind, Stalls, Threads, TimerMetrics, dump, metrics, on_event, on_stall,
};
#[doc(no_inline)]
pub use gmp_rt::{Runtime, block_on, max_procs, num_goroutine, set_max_procs};
