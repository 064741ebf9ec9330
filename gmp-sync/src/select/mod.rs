//! `select!`: the first of several operations that is possible.
//!
//! [`engine`] chooses; `case` is what it chooses among; `list` the cases of one select; `probe`
//! finds out what kind of case an expression is; `many` is the form for cases that are known at
//! run time only. The macro's grammar is in `gmp-macros`.

mod case;
mod engine;
mod list;
mod many;
mod order;
mod probe;
mod thunk;

pub use self::many::{SelectCase, select_cases};

/// What the expansion of `select!` uses. Not for people.
#[doc(hidden)]
pub mod __expansion {
    pub use super::case::{
        Arm, Attempt, Case, FutureCase, Guarded, Held, Kind, Outcome, RecvCase, SendCase, Will,
    };
    pub use super::engine::{Choose, Chosen, choose};
    pub use super::list::{Cons, List, Nil};
    pub use super::probe::{
        AsFuture, AsRecv, AsSender, FutureTag, LeadsToSender, Probe, RecvTag, forever, send_case,
        send_case_of,
    };
    pub use crate::chan::send::Permit;
    pub use crate::chan::waits::Summoned;
    pub use crate::claim::Claim;
    pub use crate::wakers::Wakers;
    pub use gmp_macros::select;
}

/// Waits for the first of several operations that is possible, and does it (Go: `select`).
///
/// ```text
/// select! {
///     pattern = rx.recv() => body,          // receive: Result<T, RecvError>
///     pattern = tx.send(value) => body,     // send: Result<(), SendError<T>>
///     pattern = any_future => body,         // its output
///     pattern = …, if condition => body,    // not looked at if the condition is false
///     default => body,                      // if none of them is possible now
/// }
/// ```
///
/// - If several are possible, each is as likely to be chosen as the others.
/// - All channel cases are looked at in one instant: `default` is chosen only if there was a
///   moment at which none was possible.
/// - The cases that are not chosen leave no trace: no value is taken from a channel, and the
///   value of a send is not even evaluated, so it can be used again.
/// - Other futures are dropped when they are not chosen. To keep one for the next time around a
///   loop, pass `&mut future`, pinned.
/// - A condition is evaluated first; if it is false, the operation is not.
/// - The value of a send is evaluated when that case is chosen, just before its body, and the receiver waits for
///   it: keep it short. The sender is a variable or a reference, not made in the case.
///   A `.send(…)` of anything but a channel is a future like any other if written as
///   `async { sink.send(x).await }`.
/// - Bodies run after all the cases are dropped; `break`, `continue`, `return` and `?` mean what they
///   mean around the `select!`. Its value is the value of the body.
/// - Without any case it waits for ever.
/// - A receiver that finds a select which waits to send wakes it, and waits for its value and for
///   nothing else, even if it is itself a select with a `default`. The select has sent if that
///   receiver is still there when it runs. Otherwise it waits on, before all other senders. So a
///   select that is polled by hand, beside other things, must be polled when it is woken, or
///   dropped. A receive that is given up in less time than the select needs to run, such as
///   [`gmp::timeout`](gmp_rt::timeout()) with a limit of zero in a loop, may never receive from it.
///
/// # Cancel safety
///
/// A select that is dropped while it waits sends nothing. A value that was handed to one of its
/// receive cases, and that it has not returned yet, goes to the next receive, as with
/// [`Receiver::recv`](crate::Receiver::recv). Futures in it are dropped.
///
/// # Examples
///
/// ```
/// use gmp_sync::{chan, select};
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
#[macro_export]
macro_rules! select {
    ($($cases:tt)*) => {
        $crate::__select::select!($crate::__select; $($cases)*)
    };
}

#[cfg(all(test, gmp_loom))]
mod loom;
