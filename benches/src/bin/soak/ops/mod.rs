//! The operations. Each is a small scenario that ends by itself, also if its parts are aborted.
//!
//! An operation may be aborted at any await, and its runtime may end. So every wait of its
//! goroutines ends because a partner is dropped, or has a limit.

pub(crate) mod broadcast;
pub(crate) mod chan;
pub(crate) mod common;
pub(crate) mod context;
pub(crate) mod descriptor;
pub(crate) mod edge;
pub(crate) mod forms;
pub(crate) mod goroutine;
pub(crate) mod group;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod members;
pub(crate) mod notify;
pub(crate) mod oneshot;
pub(crate) mod pool;
pub(crate) mod rate;
pub(crate) mod runtime;
pub(crate) mod select;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod stall;
pub(crate) mod tcp;
pub(crate) mod time;
pub(crate) mod tracing;
pub(crate) mod wait;
pub(crate) mod watch;
