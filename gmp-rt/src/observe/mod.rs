//! What the runtime shows of itself: dumps, traces, metrics, events, and reports of stalls and
//! deadlocks.
//!
//! These modules read the scheduler and change nothing in it. [`event`], [`stall`] and [`heading`]
//! are below the scheduler, which uses them to report.

pub(crate) mod deadlock;
pub(crate) mod dump;
pub(crate) mod event;
pub(crate) mod heading;
pub(crate) mod metrics;
pub(crate) mod schedtrace;
pub(crate) mod stall;
pub(crate) mod stuck;
