//! `select!`: executes the first of several operations that is possible.
//!
//! [`engine`] makes the choice; `case` has the cases, `guarded` those that can be disabled; `list`
//! is the list of the cases of one select; `probe` finds the kind of a case by the type of its
//! expression, `send` that of a `.send(…)`; `many` is the variant for cases that are known only at
//! run time; `any` is the one for receives of one type. The macro's grammar is in `gmp-macros`.

mod alone;
mod any;
mod case;
mod engine;
mod guarded;
mod list;
mod many;
mod order;
mod probe;
mod send;
mod sender;
mod thunk;

pub use self::any::recv_any;
pub use self::many::{SelectCase, select_cases};

/// Items that the expansion of `select!` uses. Not public API.
#[doc(hidden)]
pub mod __expansion {
    pub use super::case::{
        Arm, Attempt, Case, FutureCase, Kind, Outcome, RecvCase, SendCase, Will,
    };
    pub use super::engine::{Choose, Chosen, choose};
    pub use super::guarded::Guarded;
    pub use super::list::{Cons, List, Nil, is_disabled};
    pub use super::probe::{AsFuture, AsRecv, FutureTag, Probe, RecvTag, forever};
    pub use super::send::{
        ChannelTag, FutureSent, FutureStart, HeldPermit, IsChannel, IsOther, OpenPermit, OtherTag,
        ReleasedPermit, SendFutureCase, SendOutput, SendStart, SenderProbe, ValueType, never,
        note_match, value_of,
    };
    pub use super::sender::{AsSender, LeadsToSender};
    pub use crate::chan::permit::Permit;
    pub use crate::chan::queue::Summoned;
    pub use crate::wait::claim::Claim;
    pub use crate::wait::wakers::Wakers;
    pub use gmp_macros::select;
}

/// Waits for the first of several operations that is possible, and executes it (Go: `select`).
///
/// ```text
/// select! {
///     biased;                               // optional: in the order of the source
///     pattern = rx.recv() => body,          // receive: Result<T, RecvError>
///     pattern = tx.send(value) => body,     // send: Result<(), SendError<T>>
///     pattern = any_future => body,         // its output
///     pattern = …, if condition => body,    // not looked at if the condition is false
///     default => body,                      // if none of them is possible now
///     else => body,                         // or, instead: if all of them are disabled
/// }
/// ```
///
/// - If several cases are possible, each is chosen with the same probability. After `biased;` the
///   first of them is chosen. Then a first case that is always possible starves the others. A case
///   that a peer has served while the select waited is chosen in any case.
/// - All channel cases are checked at one instant. So `default` is chosen only if at that instant
///   no case was possible.
/// - Cases that are not chosen have no effect. No value is taken from a channel. The value of a
///   send is not even evaluated, so it can be used again.
/// - Other futures are dropped when they are not chosen. To keep one for the next round of a loop,
///   pass `&mut future`, pinned.
/// - A condition is evaluated first. If it is false, the operation is not evaluated.
/// - The value of a send is evaluated when its case is chosen, just before the body. The receiver
///   waits for it, so keep it short. The sender is a variable or a reference, not an expression
///   that creates one.
/// - A `.send(…)` that is not a channel's is a future. Its value is moved when the select begins.
///   If the value contains a closure, an `async` block or an `.await`, write `async {
///   sink.send(x).await }`.
/// - Bodies run after all cases are dropped. `break`, `continue`, `return` and `?` act on the code
///   around the `select!`. The value of the `select!` is the value of the body. Commas are as in
///   `match`.
/// - If all cases are disabled, `else` runs. Without `else`, and without any case, the select waits
///   forever.
/// - The number of cases is not limited. [`crate::chan::select_cases`] is for cases
///   that are known only at run time.
/// - A receiver that finds a select that waits to send wakes it, and waits only for its value, even
///   if the receiver is itself a select with a `default`. The select sends if that receiver is
///   still there when the select runs. Otherwise it continues to wait, before all other senders. So
///   a select that is polled by hand must be polled when it is woken, or dropped. A receive that is
///   cancelled before the select can run, such as [`gmp::timeout`](gmp_rt::timeout()) with a limit
///   of zero in a loop, may never receive from it.
///
/// # Patterns that may not match
///
/// **A case whose output does not match its pattern is disabled for the rest of this `select!`, and
/// the output is dropped. A value that a receive has taken from its channel is lost.** To keep it,
/// write `v = rx.recv()` and a `match` in the body.
///
/// The select then continues with the other cases. The next execution of the `select!` begins with
/// all cases.
///
/// A send with a pattern `Ok(…)` is disabled if the channel is closed. Its value is not evaluated.
/// If all receivers leave after the case was chosen, the value is dropped, as if it were in the
/// buffer, and the body runs. With any other pattern that may not match, such as `Err(e)`, the
/// value is moved when the select begins, and it is sent before the result is compared.
///
/// ```
/// # use gmp_sync as gmp;
/// # gmp_rt::block_on(async {
/// let (tx, rx) = gmp::chan::<u32>(2);
/// tx.send(1).await.unwrap();
/// drop(tx);
/// let mut sum = 0;
/// loop {
///     gmp::select! {
///         Ok(n) = rx.recv() => sum += n,
///         else => break, // the channel is closed and empty
///     }
/// }
/// assert_eq!(sum, 1);
/// # });
/// ```
///
/// # Cancel safety
///
/// A select that is dropped while it waits sends nothing. A value that was handed to one of its
/// receive cases, and that it has not returned yet, goes to the next receive, as with
/// [`Receiver::recv`](crate::chan::Receiver::recv). The futures of its cases are dropped.
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::{chan, select};
/// use std::time::Duration;
///
/// gmp_rt::block_on(async {
///     let (tx, rx) = chan::<u32>(0);
///     let (quit, quitting) = chan::<()>(0);
///     gmp_rt::spawn(async move {
///         for n in 1..=3 {
///             assert_eq!(rx.recv().await, Ok(n));
///         }
///         drop(quit);
///     });
///     let mut n = 1;
///     loop {
///         select! {
///             sent = tx.send(n) => {
///                 // The receiver ends right after it has said so: both cases may be ready.
///                 if sent.is_err() {
///                     break;
///                 }
///                 n += 1;
///             }
///             _ = quitting.recv() => break,
///             _ = gmp_rt::sleep(Duration::from_secs(5)) => panic!("too slow"),
///         }
///     }
///     assert_eq!(n, 4);
/// });
/// ```
#[doc(alias("select_biased", "race"))]
#[macro_export]
macro_rules! select {
    ($($cases:tt)*) => {
        $crate::__select::select!($crate::__select; $($cases)*)
    };
}

#[cfg(all(test, gmp_loom))]
mod loom;
