//! The named futures of this crate, for structs that store one.
//!
//! A program that awaits an operation at once needs none of these names.

pub use crate::broadcast::{BroadcastClosed, BroadcastRecv};
pub use crate::chan::ReceiverSetRecv;
pub use crate::chan::closed::ClosedFut;
pub use crate::chan::recv::RecvFut;
pub use crate::chan::recv_many::RecvManyFut;
pub use crate::chan::reserve::{ReserveFut, ReserveOwnedFut};
pub use crate::chan::send::SendFut;
pub use crate::context::done::Done;
pub use crate::context::run::Run;
pub use crate::err_group::{ErrGroupGo, ErrGroupMember, ErrGroupWait};
pub use crate::join_set::JoinNext;
pub use crate::lock::barrier::BarrierWait;
pub use crate::lock::cond::CondWait;
pub use crate::lock::mutex::{Lock, LockOwned};
pub use crate::lock::notify::{Notified, OwnedNotified};
pub use crate::lock::rw_lock::{ReadLock, ReadLockOwned, WriteLock, WriteLockOwned};
pub use crate::lock::semaphore::{Acquire, AcquireOwned};
pub use crate::oneshot::{OneshotClosed, OneshotRecv};
pub use crate::rate_limiter::RateWait;
pub use crate::task_tracker::TaskTrackerWait;
pub use crate::wait_group::WaitGroupWait;
pub use crate::watch::{WatchChanged, WatchClosed};
