//! Goroutines: how they start and end, how they yield, and what their handles return.
//!
//! [`park`] is the interface for new primitives.

pub use gmp_rt::task::{
    AbortHandle, AbortOnDrop, Builder, Checkpoint, JoinCancelled, JoinPanic, LocalKey,
    Unconstrained, YieldNow, park,
};
#[doc(no_inline)]
pub use gmp_rt::{
    JoinError, JoinHandle, block_in_place, checkpoint, goid, spawn, spawn_blocking, unconstrained,
    yield_now,
};
pub use gmp_sync::{Closed, JoinSet, TaskTracker, Token};

/// The futures of the types of this module, for structs that store one.
pub mod futures {
    pub use gmp_rt::task::TaskLocalFuture;
    pub use gmp_sync::futures::{JoinNext, TaskTrackerWait};
}
