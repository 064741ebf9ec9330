//! Goroutines: how they start and end, how they yield, and what their handles return.
//!
//! The functions that most programs need are also in the root of the crate.

mod builder;
#[path = "../park.rs"]
pub mod park;

pub use self::builder::Builder;
pub use crate::ambient::{goid, spawn};
pub use crate::blocking::{block_in_place, spawn_blocking};
pub use crate::g::join::{JoinCancelled, JoinError, JoinHandle, JoinPanic};
pub use crate::yielding::{Checkpoint, YieldNow, checkpoint, yield_now};
