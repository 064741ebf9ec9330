//! A select whose cases are known only at run time (Go: `reflect.Select`).

use super::case::{Arm, Attempt, Case, FutureCase, Kind, RecvCase, SendCase, Will};
use super::engine::{Chosen, choose};
use super::list::{List, try_arm};
use super::thunk::Thunk;
use crate::chan::lock::Readable;
use crate::chan::{Receiver, RecvError, SendError, Sender};
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::Context;

/// A case for [`select_cases`]: an operation, and a function for its result.
///
/// The results of different cases may have different types. Each function turns its result into an
/// `O`.
pub struct SelectCase<'a, O>(Slot<'a, O>);

/// A case. Its operation is created when it is tried, or when the select begins to wait.
enum Slot<'a, O> {
    Thunk {
        thunk: Thunk<'a, Boxed<'a, O>>,
        /// The flag of the channel, if it is a receive.
        readable: Option<&'a Readable>,
    },
    Made(Boxed<'a, O>),
    Default(Box<dyn FnOnce() -> O + Send + 'a>, Never),
    /// The operation is being created, or its creation has panicked.
    Empty,
}

/// The operation of a default case, which is never possible.
struct Never;

// SAFETY: it never joins a queue.
unsafe impl Arm for Never {
    fn kind(&self) -> Kind {
        Kind::Off
    }
}

/// A case together with the function for its output.
trait Made<'a, O> {
    fn arm(self: Pin<&mut Self>) -> Pin<&mut (dyn Arm + 'a)>;
    fn look(&self) -> &(dyn Arm + 'a);
    fn make(self: Pin<&mut Self>) -> O;
}

pin_project_lite::pin_project! {
    struct With<C, M> {
        #[pin]
        case: C,
        make: Option<M>,
    }
}

impl<'a, O, C: Case + 'a, M: FnOnce(C::Output) -> O> Made<'a, O> for With<C, M> {
    fn arm(self: Pin<&mut Self>) -> Pin<&mut (dyn Arm + 'a)> {
        self.project().case
    }

    fn look(&self) -> &(dyn Arm + 'a) {
        &self.case
    }

    fn make(self: Pin<&mut Self>) -> O {
        let this = self.project();
        match this.make.take() {
            Some(make) => make(this.case.output()),
            None => unreachable!("a case of a select is chosen once"),
        }
    }
}

impl<O> fmt::Debug for SelectCase<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Slot::Default(..) => f.write_str("SelectCase(Default)"),
            _ => f.write_str("SelectCase(Operation)"),
        }
    }
}

impl<'a, O> SelectCase<'a, O> {
    /// Creates a case whose operation is created when it is tried.
    #[inline]
    fn arm<C: Case + Send + 'a>(
        readable: Option<&'a Readable>,
        case: impl FnOnce() -> C + Send + 'a,
        make: impl FnOnce(C::Output) -> O + Send + 'a,
    ) -> Self
    where
        O: 'a,
    {
        let boxed = move || -> Boxed<'a, O> { Box::pin(With { case: case(), make: Some(make) }) };
        Self(Slot::Thunk { thunk: Thunk::new(boxed), readable })
    }

    /// Creates a receive case.
    pub fn recv<T: Send>(
        receiver: &'a Receiver<T>,
        make: impl FnOnce(Result<T, RecvError>) -> O + Send + 'a,
    ) -> Self
    where
        O: 'a,
    {
        Self::arm(Some(&receiver.chan.readable), move || RecvCase::new(receiver), make)
    }

    /// Creates a send case. `value` is called when this case is chosen.
    pub fn send<T: Send>(
        sender: &'a Sender<T>,
        value: impl FnOnce() -> T + Send + 'a,
        make: impl FnOnce(Result<(), SendError<T>>) -> O + Send + 'a,
    ) -> Self
    where
        O: 'a,
    {
        Self::arm(None, move || SendCase::new(sender), move |permit| make(permit.send(value())))
    }

    /// Creates a case from any future.
    pub fn future<F>(future: F, make: impl FnOnce(F::Output) -> O + Send + 'a) -> Self
    where
        F: IntoFuture<Output: Send + 'a, IntoFuture: Send + 'a>,
        O: 'a,
    {
        let future = future.into_future();
        Self::arm(None, move || FutureCase::new(future), make)
    }

    /// Creates the default case, which is chosen if no other case is possible now.
    pub fn default(make: impl FnOnce() -> O + Send + 'a) -> Self {
        Self(Slot::Default(Box::new(make), Never))
    }
}

type Boxed<'a, O> = Pin<Box<dyn Made<'a, O> + Send + 'a>>;

impl<'a, O> Slot<'a, O> {
    /// Creates the operation, if it does not exist yet.
    fn prepare(&mut self) {
        if let Self::Thunk { .. } = self
            && let Self::Thunk { thunk, .. } = mem::replace(self, Self::Empty)
        {
            *self = Self::Made(thunk.call());
        }
    }

    /// Returns the result of the chosen case.
    fn result(self) -> O {
        match self {
            Self::Made(mut made) => made.as_mut().make(),
            Self::Default(make, _) => make(),
            Self::Thunk { .. } | Self::Empty => unreachable!("{NOT_MADE}"),
        }
    }
}

const NOT_MADE: &str = "a case of a select was not made";

/// The cases.
struct Arms<'a, O>(Vec<SelectCase<'a, O>>);

// SAFETY: the vector is private, and not changed while the engine uses it. Each operation is pinned
// in its box, which its slot keeps once it is created.
unsafe impl<O> List for Arms<'_, O> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn prepare(self: Pin<&mut Self>) {
        self.get_mut().0.iter_mut().for_each(|case| case.0.prepare());
    }

    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        let slot = &mut self.get_mut().0[index].0;
        slot.prepare();
        match slot {
            Slot::Made(made) => made.as_mut().arm(),
            Slot::Default(_, never) => Pin::<&mut Never>::new(never),
            Slot::Thunk { .. } | Slot::Empty => unreachable!("{NOT_MADE}"),
        }
    }

    fn look(&self, index: usize) -> &dyn Arm {
        match &self.0[index].0 {
            Slot::Made(made) => made.look(),
            Slot::Default(_, never) => never,
            Slot::Thunk { .. } | Slot::Empty => unreachable!("{NOT_MADE}"),
        }
    }

    fn may_be_ready(&self, index: usize) -> bool {
        match &self.0[index].0 {
            Slot::Thunk { readable, .. } => readable.is_none_or(Readable::get),
            Slot::Made(made) => made.look().may_be_ready(),
            Slot::Default(..) | Slot::Empty => false,
        }
    }

    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt {
        try_arm(self.arm(index), will, cx)
    }
}

/// Waits for the first of the cases that is possible, and executes it.
///
/// This is [`select!`](macro@crate::select) for cases that are known only at run time. Returns the
/// index of the chosen case, and the result of its function. Without any case it waits forever.
///
/// Use a [`ReceiverSet`](crate::chan::ReceiverSet) or [`recv_any`](crate::chan::recv_any) to
/// receive from many channels of one type. They cost less, because they create no cases.
///
/// # Panics
///
/// If there is more than one default case.
///
/// # Cancel safety
///
/// As [`select!`](macro@crate::select).
///
/// # Examples
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan::{SelectCase, chan, select_cases};
///
/// gmp_rt::block_on(async {
///     let channels: Vec<_> = (0..10).map(|_| chan::<u32>(1)).collect();
///     channels[7].0.send(70).await.unwrap();
///     let cases = channels.iter().map(|(_, rx)| SelectCase::recv(rx, |value| value.unwrap()));
///     assert_eq!(select_cases(cases).await, (7, 70));
/// });
/// ```
#[doc(alias("reflect.Select", "Select", "select_all"))]
#[track_caller]
pub fn select_cases<'a, O>(
    cases: impl IntoIterator<Item = SelectCase<'a, O>>,
) -> impl Future<Output = (usize, O)> {
    let mut arms = Arms(cases.into_iter().collect());
    let is_default = |case: &SelectCase<'a, O>| matches!(case.0, Slot::Default(..));
    let defaults = arms.0.iter().filter(|case| is_default(case)).count();
    assert!(defaults <= 1, "select_cases: more than one default case");
    async move {
        let will = if defaults == 1 { Will::GoOn } else { Will::Wait };
        let place = match choose(Pin::new(&mut arms), will).await {
            Chosen::Case(index) => Some(index),
            Chosen::Default => arms.0.iter().position(is_default),
        };
        let Some(place) = place else { unreachable!("no default case to choose") };
        let chosen = arms.0.swap_remove(place);
        // The other cases are dropped first, as in the macro.
        drop(arms);
        (place, chosen.0.result())
    }
}
