//! Which types implement which traits, as tables that are checked by the compiler.

use futures::future::FusedFuture;
use futures::stream::FusedStream;
use gmp::chan::{
    IterBlocking, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender,
    TryRecvError, TrySendError,
};
use gmp::context::{AfterDone, CancelGuard, Canceller, Context, ContextError};
use gmp::runtime::{BuildError, Handle, ShutdownError};
use gmp::sync::futures::{
    Acquire, AcquireOwned, BarrierWait, CondWait, ErrGroupMember, ErrGroupWait, Lock, LockOwned,
    ReadLock, ReadLockOwned, Run, WaitGroupWait, WriteLock, WriteLockOwned,
};
use gmp::sync::{
    Barrier, Cond, ErrGroup, GroupError, Lazy, MappedMutexGuard, MappedRwLockReadGuard,
    MappedRwLockWriteGuard, Mutex, MutexGuard, Notify, Once, OnceCell, OwnedMappedMutexGuard,
    OwnedMappedRwLockReadGuard, OwnedMappedRwLockWriteGuard, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, Pool, PoolGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
    SetError, SingleFlight, WaitGroup,
};
use gmp::task::{AbortHandle, AbortOnDrop, JoinPanic};
use gmp::time::{AfterFunc, Sleep, Ticker, Timeout, Timer, TimerWait};
use gmp::{JoinError, JoinHandle, Runtime};
use std::cell::Cell;
use std::fmt::Display;
use std::future::{Pending, Ready};
use std::io;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Checks that each type implements all the traits.
macro_rules! implement {
    ([$($bounds:tt)+] $($type:ty),+ $(,)?) => {{
        fn check<T: ?Sized + $($bounds)+>() {}
        $(check::<$type>();)+
    }};
}

/// Checks that no type implements the trait.
macro_rules! do_not_implement {
    ([$bound:path] $($type:ty),+ $(,)?) => {$({
        /// Ambiguous for a type that implements the trait.
        trait Ambiguous<A> {
            fn check() {}
        }
        struct Implements;
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $bound> Ambiguous<Implements> for T {}
        <$type as Ambiguous<_>>::check();
    })+};
}

/// Not unwind-safe itself: a panic may leave it half-changed.
type Half = Cell<u8>;

#[test]
fn handles_may_cross_a_catch_unwind() {
    implement! {
        [UnwindSafe + RefUnwindSafe]
        JoinHandle<Half>, AbortHandle, AbortOnDrop<Half>, Handle, Runtime,
        JoinError, JoinPanic, BuildError, ShutdownError,
        Sleep, Timer, TimerWait<'_>, Ticker, AfterFunc, Timeout<Ready<u8>>,
        Sender<Half>, Receiver<Half>,
        WaitGroup, ErrGroup<io::Error>, GroupError<io::Error>, ErrGroupMember<Half>,
        Context, Canceller, CancelGuard, AfterDone,
        Semaphore, Barrier, Cond, Once, Notify, Pool<Half>, SingleFlight<u8, Half>,
        OnceCell<u8>, Lazy<u8>,
        Acquire<'_>, AcquireOwned, BarrierWait<'_>, WaitGroupWait, ErrGroupWait<io::Error>,
    }
}

/// A lock is not poisoned by a panic, so another one may see a value that is half-changed.
#[test]
fn locks_cross_a_catch_unwind_by_value_only() {
    implement! { [UnwindSafe] Mutex<u8>, RwLock<u8>, OnceCell<Half>, Lazy<Half> }
    do_not_implement! { [UnwindSafe] Mutex<&mut u8>, RwLock<&mut u8>, OnceCell<&mut u8> }
    do_not_implement! {
        [RefUnwindSafe] Mutex<u8>, RwLock<u8>, OnceCell<Half>, Lazy<Half>, Pool<&'static mut u8>,
    }
}

#[test]
fn futures_that_end_once_are_fused() {
    implement! {
        [FusedFuture]
        JoinHandle<u8>, AbortOnDrop<u8>, Sleep, Timer, TimerWait<'_>, Timeout<Pending<u8>>,
        Lock<'_, u8>, LockOwned<u8>, ReadLock<'_, u8>, ReadLockOwned<u8>, WriteLock<'_, u8>,
        WriteLockOwned<u8>, Acquire<'_>, AcquireOwned, BarrierWait<'_>, CondWait<'_, u8>,
        WaitGroupWait, ErrGroupWait<u8>, ErrGroupMember<u8>, Run<'_, Ready<u8>>,
    }
    implement! { [FusedStream] Ticker, Receiver<u8> }
    implement! { [FusedIterator] IterBlocking<'_, u8> }
    // Each is ready again when it is polled again.
    do_not_implement! {
        [FusedFuture] gmp::sync::futures::Done<'_>, gmp::task::YieldNow, gmp::task::Checkpoint,
    }
}

#[test]
fn guards_are_shown_as_their_values() {
    implement! {
        [Display]
        MutexGuard<'_, str>, OwnedMutexGuard<str>, MappedMutexGuard<'_, str>,
        OwnedMappedMutexGuard<u8, str>, RwLockReadGuard<'_, str>, RwLockWriteGuard<'_, str>,
        OwnedRwLockReadGuard<str>, OwnedRwLockWriteGuard<str>, MappedRwLockReadGuard<'_, str>,
        MappedRwLockWriteGuard<'_, str>, OwnedMappedRwLockReadGuard<u8, str>,
        OwnedMappedRwLockWriteGuard<u8, str>, PoolGuard<'_, u8>,
    }
}

/// A guard is sent and shared as the reference that it stands for.
#[test]
fn guards_are_sent_and_shared_as_references() {
    // Sent, but not shared between threads.
    type Sent = Cell<u8>;
    implement! {
        [Send + Sync]
        OwnedMappedMutexGuard<Sent, u8>, MappedRwLockReadGuard<'_, u8>,
        MappedRwLockWriteGuard<'_, u8>, OwnedMappedRwLockReadGuard<u8, u8>,
        OwnedMappedRwLockWriteGuard<u8, u8>,
    }
    implement! {
        [Send]
        MappedRwLockWriteGuard<'_, Sent>, OwnedMappedMutexGuard<Sent, Sent>,
        OwnedMappedRwLockWriteGuard<u8, Sent>,
    }
    do_not_implement! {
        [Sync]
        MappedRwLockReadGuard<'_, Sent>, MappedRwLockWriteGuard<'_, Sent>,
        OwnedMappedMutexGuard<u8, Sent>, OwnedMappedRwLockReadGuard<u8, Sent>,
        OwnedMappedRwLockWriteGuard<u8, Sent>, OwnedMappedRwLockReadGuard<Sent, u8>,
        OwnedMappedRwLockWriteGuard<Sent, u8>, OwnedMappedMutexGuard<Rc<u8>, u8>,
    }
    do_not_implement! {
        [Send]
        MappedRwLockReadGuard<'_, Sent>, MappedRwLockWriteGuard<'_, Rc<u8>>,
        OwnedMappedMutexGuard<u8, Rc<u8>>, OwnedMappedMutexGuard<Rc<u8>, u8>,
        OwnedMappedRwLockReadGuard<u8, Sent>, OwnedMappedRwLockReadGuard<Sent, u8>,
        OwnedMappedRwLockWriteGuard<u8, Rc<u8>>, OwnedMappedRwLockWriteGuard<Sent, u8>,
        gmp::runtime::EnterGuard<'_>,
    }
}

#[test]
fn errors_convert_into_io_errors() {
    implement! { [Into<io::Error>] JoinError, ContextError, GroupError<io::Error>, RecvError }
    // The value need not be `Send`: it is not in the error.
    implement! { [Into<io::Error>] SendError<Rc<u8>> }
}

#[test]
fn channel_errors_convert_into_wider_ones() {
    implement! { [Into<TrySendError<u8>>] SendError<u8> }
    implement! { [Into<SendTimeoutError<u8>>] SendError<u8> }
    implement! { [Into<TryRecvError> + Into<RecvTimeoutError>] RecvError }
}

#[test]
fn cells_are_compared_and_cloned_as_their_values() {
    implement! { [Clone + PartialEq + Eq] OnceCell<u8>, SetError<u8> }
    do_not_implement! { [Eq] OnceCell<f32> }
    do_not_implement! { [Clone] OnceCell<Mutex<u8>> }
}

#[cfg(unix)]
mod net {
    use super::*;
    use futures::io::{AsyncRead, AsyncWrite};
    use gmp::io::{Stderr, Stdin, StdinLines, Stdout};
    use gmp::net::{
        AddrErrors, Async, TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram,
        UnixListener, UnixStream, tcp, unix,
    };
    use gmp::signal::{Signal, SignalKind};
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};

    #[test]
    fn sockets_may_cross_a_catch_unwind() {
        implement! {
            [UnwindSafe + RefUnwindSafe]
            TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
            tcp::Incoming<'_>, tcp::ReadHalf<'_>, tcp::WriteHalf<'_>, tcp::OwnedReadHalf,
            tcp::OwnedWriteHalf, tcp::ReuniteError, unix::Incoming<'_>, unix::OwnedReadHalf,
            unix::OwnedWriteHalf, unix::ReuniteError,
            Async<OwnedFd>, Signal, Stdin, StdinLines, Stdout, Stderr, AddrErrors,
        }
    }

    #[test]
    fn sockets_convert_from_and_into_descriptors() {
        implement! {
            [TryFrom<OwnedFd, Error = io::Error> + Into<OwnedFd> + AsFd + AsRawFd]
            TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
        }
        implement! { [From<OwnedFd> + Into<OwnedFd> + AsFd + AsRawFd] TcpSocket }
        implement! { [AsFd + AsRawFd] Stdin, Stdout, Stderr, Signal, Async<OwnedFd> }
        implement! { [From<i32> + Into<i32>] SignalKind }
    }

    #[test]
    fn references_to_streams_read_and_write() {
        implement! {
            [AsyncRead + AsyncWrite]
            &TcpStream, &UnixStream, &Async<std::os::unix::net::UnixStream>,
        }
    }

    #[test]
    fn streams_that_end_are_fused() {
        implement! { [FusedStream] tcp::Incoming<'_>, unix::Incoming<'_>, Signal, StdinLines }
    }
}
