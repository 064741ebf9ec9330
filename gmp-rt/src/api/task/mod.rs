//! Goroutines: how they start and end, how they yield, and what their handles return.
//!
//! The functions that most programs need are also in the root of the crate.

mod abort_on_drop;
mod builder;
#[expect(unsafe_code, reason = "a thread-local pointer to a borrowed value, L1 of the module")]
#[doc(hidden)]
pub mod local;
pub mod park;

pub use self::abort_on_drop::AbortOnDrop;
pub use self::builder::Builder;
pub use self::local::{LocalKey, TaskLocalFuture};
pub use crate::api::blocking::{block_in_place, spawn_blocking};
pub use crate::api::spawn::{goid, spawn};
pub use crate::api::unconstrained::{Unconstrained, unconstrained};
pub use crate::api::yielding::{Checkpoint, YieldNow, checkpoint, yield_now};
pub use crate::g::abort::AbortHandle;
pub use crate::g::join::{JoinCancelled, JoinError, JoinHandle, JoinPanic};
