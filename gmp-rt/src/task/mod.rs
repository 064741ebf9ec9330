//! Goroutines: how they start and end, how they yield, and what their handles return.
//!
//! The functions that most programs need are also in the root of the crate.

mod builder;

pub use self::builder::Builder;
pub use crate::ambient::{goid, spawn};
pub use crate::blocking::{block_in_place, spawn_blocking};
pub use crate::g::join::{JoinCancelled, JoinError, JoinHandle, JoinPanic};
#[doc(inline)]
pub use crate::park;
pub use crate::yielding::{Checkpoint, YieldNow, checkpoint, yield_now};
