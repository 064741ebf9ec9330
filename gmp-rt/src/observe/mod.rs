//! What the runtime shows of itself: dumps, traces, metrics, events, and reports of stalls and
//! deadlocks.
//!
//! These modules read the scheduler and change nothing in it. [`event`] is the exception: the
//! scheduler itself uses it to report.

pub(crate) mod deadlock;
pub(crate) mod dump;
pub(crate) mod event;
pub(crate) mod metrics;
pub(crate) mod schedtrace;
pub(crate) mod stall;
pub(crate) mod stuck;
