//! Primitives by which goroutines wait for each other. Use them through the facade crate `gmp`.
//!
//! Each wait is an ordinary future that stores a `Waker`, so it works on any executor. In a
//! goroutine it also records why the goroutine waits, through [`gmp_rt::park`].

#[expect(unsafe_code, reason = "is the home of waiters")]
mod barrier;
/// A channel that gives each value to every receiver. See [`channel`](broadcast::channel).
pub mod broadcast;
#[expect(unsafe_code, reason = "pins nodes into the queues of channels")]
mod chan;
#[expect(unsafe_code, reason = "a waker that the winner takes")]
mod claim;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod cond;
#[cfg(not(gmp_loom))]
mod const_fn;
#[cfg(gmp_loom)]
#[path = "const_fn_loom.rs"]
mod const_fn;
mod context;
mod err_group;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod init;
mod join_set;
#[expect(unsafe_code, reason = "a place that one at a time may change")]
mod lazy;
#[expect(unsafe_code, reason = "a value behind a lock")]
mod mutex;
#[expect(unsafe_code, reason = "has the value while it has the lock")]
mod mutex_guard;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod notify;
mod once;
#[expect(unsafe_code, reason = "a value that is set once")]
mod once_cell;
/// A channel for one value. See [`channel`](oneshot::channel).
pub mod oneshot;
mod permit;
mod pool;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod rate_limiter;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod raw_mutex;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod raw_rw_lock;
#[expect(unsafe_code, reason = "a value behind a lock")]
mod rw_lock;
#[expect(unsafe_code, reason = "has the value while it is inside the lock")]
mod rw_lock_guard;
#[expect(unsafe_code, reason = "holds several locks at once, pins nodes into several queues")]
mod select;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod semaphore;
mod single_flight;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod task_tracker;
mod tuning;
#[expect(unsafe_code, reason = "is the home of waiters")]
mod wait_group;
#[expect(unsafe_code, reason = "pins nodes into the queue of a primitive")]
mod waiter;
#[expect(unsafe_code, reason = "an intrusive queue")]
mod waitq;
mod wakers;
/// A channel that keeps the newest value. See [`channel`](watch::channel).
pub mod watch;

pub use crate::barrier::{Barrier, BarrierWait, BarrierWaitResult};
pub use crate::chan::{
    IntoIter, Iter, Receiver, Recv, RecvError, RecvTimeoutError, Send, SendError, SendTimeoutError,
    Sender, TryIter, TryRecvError, TrySendError, chan, unbounded_chan,
};
pub use crate::cond::{Cond, CondWait};
pub use crate::context::{AfterDone, CancelGuard, Canceller, Cause, Context, ContextError, Done};
pub use crate::err_group::{ErrGroup, GroupError, GroupWait, Start};
pub use crate::join_set::{JoinNext, JoinSet};
pub use crate::lazy::Lazy;
pub use crate::mutex::{Lock, LockOwned, Mutex};
pub use crate::mutex_guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub use crate::notify::{Notified, Notify, OwnedNotified};
pub use crate::once::Once;
pub use crate::once_cell::{OnceCell, SetError};
pub use crate::permit::{OwnedPermit, Permit};
pub use crate::pool::{Pool, PoolGuard};
pub use crate::rate_limiter::{Limit, RateError, RateLimiter, RateWait, Reservation};
pub use crate::rw_lock::{ReadLock, ReadLockOwned, RwLock, WriteLock, WriteLockOwned};
pub use crate::rw_lock_guard::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
#[doc(hidden)]
pub use crate::select::__expansion as __select;
pub use crate::select::{SelectCase, recv_any, select_cases};
pub use crate::semaphore::{Acquire, AcquireOwned, Semaphore};
pub use crate::single_flight::{CallResult, SingleFlight};
pub use crate::task_tracker::{Closed, TaskTracker, TaskTrackerWait, Token};
pub use crate::wait_group::{Wait, WaitGroup};
