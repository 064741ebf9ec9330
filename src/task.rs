//! Goroutines: how they start and end, how they yield, and what their handles return.
//!
//! [`park`] is the interface for new primitives.

pub use gmp_rt::task::{Builder, Checkpoint, JoinCancelled, JoinPanic, YieldNow, park};
#[doc(no_inline)]
pub use gmp_rt::{
    JoinError, JoinHandle, block_in_place, checkpoint, goid, spawn, spawn_blocking, yield_now,
};
