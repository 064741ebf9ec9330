//! Synchronisation primitives for goroutines.
//!
//! All of them work on any executor, and on plain threads by the methods that end in `_blocking`.
//! Channels are in [`chan`](mod@crate::chan), contexts in [`context`](crate::context).

#[doc(no_inline)]
pub use gmp_sync::WaitGroup;
#[doc(hidden)]
pub use gmp_sync::mpsc;
pub use gmp_sync::{
    Barrier, BarrierWaitResult, Cond, ErrGroup, FlightResult, GroupError, Lazy, Limit,
    MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, Notify,
    Once, OnceCell, OwnedMappedMutexGuard, OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard,
    OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, Pool,
    PoolGuard, RateError, RateLimiter, Reservation, RwLock, RwLockReadGuard, RwLockWriteGuard,
    Semaphore, SemaphorePermit, SetError, SingleFlight, WaitTimeoutResult, futures,
};

/// A channel that gives each value to every receiver, for events that several goroutines follow.
///
/// # Examples
///
/// ```
/// use gmp::sync::broadcast;
///
/// #[gmp::main]
/// async fn main() {
///     let (tx, mut first) = broadcast::channel(16);
///     let mut second = tx.subscribe();
///     gmp::go!(async move { tx.send("event").unwrap() });
///     assert_eq!(first.recv().await, Ok("event"));
///     assert_eq!(second.recv().await, Ok("event"));
/// }
/// ```
pub mod broadcast {
    pub use gmp_sync::broadcast::{
        Lagged, Receiver, RecvError, SendError, Sender, TryRecvError, channel,
    };
}

/// A channel for one value: the result of one operation for one waiting goroutine.
///
/// # Examples
///
/// ```
/// use gmp::sync::oneshot;
///
/// #[gmp::main]
/// async fn main() {
///     let (tx, rx) = oneshot::channel();
///     gmp::go!(async move { tx.send("done") });
///     assert_eq!(rx.await, Ok("done"));
/// }
/// ```
pub mod oneshot {
    pub use gmp_sync::oneshot::{Receiver, RecvError, Sender, TryRecvError, channel};
}

/// A channel that keeps the newest value, for state that many goroutines read.
///
/// # Examples
///
/// ```
/// use gmp::sync::watch;
///
/// #[gmp::main]
/// async fn main() {
///     let (stop, mut stopped) = watch::channel(false);
///     let works = gmp::go!(async move { stopped.wait_for(|stop| *stop).await.is_ok() });
///     stop.send_replace(true);
///     assert!(works.await.unwrap());
/// }
/// ```
pub mod watch {
    pub use gmp_sync::watch::{Receiver, RecvError, SendError, Sender, WatchStream, channel};
}
