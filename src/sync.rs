//! Synchronisation primitives for goroutines.
//!
//! All of them work on any executor, and on plain threads by the methods that end in `_blocking`.
//! Channels are in [`chan`](mod@crate::chan), contexts in [`context`](crate::context).

#[doc(no_inline)]
pub use gmp_sync::WaitGroup;
#[doc(hidden)]
pub use gmp_sync::mpsc;
pub use gmp_sync::{
    Barrier, BarrierWaitResult, Cond, ErrGroup, FlightResult, GroupError, Lazy, MappedMutexGuard,
    Mutex, MutexGuard, Once, OnceCell, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, OwnedSemaphorePermit, Pool, PoolGuard, RwLock, RwLockReadGuard,
    RwLockWriteGuard, Semaphore, SemaphorePermit, SetError, SingleFlight, futures,
};
