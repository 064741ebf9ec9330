//! Primitives by which goroutines wait for each other. Use them through the facade crate `gmp`.
//!
//! Each wait is an ordinary future that stores a `Waker`, so it works on any executor. In a
//! goroutine it also records why the goroutine waits, through [`gmp_rt::task::park`].
//!
//! The modules, from the bottom up: `wait` has the queues of waiters, `lock` the locks and what is
//! like them, `once` the one-time initialisations, `chan` the channels, `select` the choice between
//! channel operations. `context`, `wait_group`, `err_group`, `single_flight` and `pool` use these.

/// A channel that gives each value to every receiver. See [`channel`](broadcast::channel).
pub mod broadcast;
#[expect(unsafe_code, reason = "pins nodes into the queues of channels")]
pub mod chan;
#[cfg(not(gmp_loom))]
mod const_fn;
#[cfg(gmp_loom)]
#[path = "const_fn_loom.rs"]
mod const_fn;
pub mod context;
mod err_group;
pub mod futures;
mod join_set;
mod lock;
#[doc(hidden)]
pub mod mpsc;
mod once;
/// A channel for one value. See [`channel`](oneshot::channel).
pub mod oneshot;
mod pool;
#[expect(unsafe_code, reason = "implements `WaitList`")]
mod rate_limiter;
#[expect(unsafe_code, reason = "holds several locks at once, pins nodes into several queues")]
mod select;
mod single_flight;
#[expect(unsafe_code, reason = "implements `WaitList`")]
mod task_tracker;
mod tuning;
mod unwind_safe;
mod wait;
#[expect(unsafe_code, reason = "implements `WaitList`")]
mod wait_group;
/// A channel that keeps the newest value. See [`channel`](watch::channel).
pub mod watch;

pub use crate::chan::chan;
pub use crate::err_group::{ErrGroup, GroupError};
pub use crate::join_set::JoinSet;
pub use crate::lock::barrier::{Barrier, BarrierWaitResult};
pub use crate::lock::cond::{Cond, WaitTimeoutResult};
pub use crate::lock::mapped_rw_lock_guard::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedMappedRwLockReadGuard,
    OwnedMappedRwLockWriteGuard,
};
pub use crate::lock::mutex::Mutex;
pub use crate::lock::mutex_guard::{
    MappedMutexGuard, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
pub use crate::lock::notify::Notify;
pub use crate::lock::permit::{OwnedSemaphorePermit, SemaphorePermit};
pub use crate::lock::rw_lock::RwLock;
pub use crate::lock::rw_lock_guard::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use crate::lock::semaphore::Semaphore;
pub use crate::once::action::Once;
pub use crate::once::cell::{OnceCell, SetError};
pub use crate::once::lazy::Lazy;
pub use crate::pool::{Pool, PoolGuard};
pub use crate::rate_limiter::{Limit, RateError, RateLimiter, Reservation};
#[doc(hidden)]
pub use crate::select::__expansion as __select;
pub use crate::single_flight::{FlightResult, SingleFlight};
pub use crate::task_tracker::{Closed, TaskTracker, Token};
pub use crate::wait_group::WaitGroup;
