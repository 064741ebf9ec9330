//! Which types may cross a `catch_unwind`.
//!
//! No user code runs under a lock of a primitive, and a wait that unwinds leaves its queue. So the
//! primitives are consistent after a panic. As in std this is also said of the types that pass
//! values on: a value that was sent or shared is no longer in use by the code that panicked.
//!
//! The locks have no poisoning. Code that panics under a lock may leave the value half-changed, so
//! for them the usual rules of a value in a cell apply.

use crate::chan::{Receiver, Sender};
use crate::context::{AfterDone, CancelGuard, Canceller, Context};
use crate::futures::{
    Acquire, AcquireOwned, BarrierWait, Done, ErrGroupGo, ErrGroupMember, ErrGroupWait, RecvFut,
    SendFut, WaitGroupWait,
};
use crate::{
    Barrier, Cond, ErrGroup, GroupError, Lazy, Mutex, Once, OnceCell, Pool, RwLock, Semaphore,
    SingleFlight, WaitGroup,
};
use std::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! unwind_safe {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> UnwindSafe for $type {}
        impl<$($generics)*> RefUnwindSafe for $type {}
    )*};
}

unwind_safe! {
    [T] Sender<T>;
    [T] Receiver<T>;
    [T] SendFut<'_, T>;
    [T] RecvFut<'_, T>;
    [] WaitGroup;
    [] WaitGroupWait;
    [] Semaphore;
    [] Acquire<'_>;
    [] AcquireOwned;
    [] Barrier;
    [] BarrierWait<'_>;
    [] Cond;
    [] Once;
    [] Context;
    [] Canceller;
    [] CancelGuard;
    [] AfterDone;
    [] Done<'_>;
    [E] ErrGroup<E>;
    [] ErrGroupGo;
    [E] ErrGroupWait<E>;
    [T] ErrGroupMember<T>;
    // The error of a member is only read.
    [E] GroupError<E>;
    [K, V] SingleFlight<K, V>;
    // A guard that is dropped by a panic puts its item back as it is.
    [T: Send + UnwindSafe + 'static] Pool<T>;
}

impl<T: ?Sized + UnwindSafe> UnwindSafe for Mutex<T> {}
impl<T: ?Sized + UnwindSafe> UnwindSafe for RwLock<T> {}

impl<T: UnwindSafe> UnwindSafe for OnceCell<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceCell<T> {}
impl<T: UnwindSafe> UnwindSafe for Lazy<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for Lazy<T> {}
