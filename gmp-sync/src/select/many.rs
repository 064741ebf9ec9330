//! A select whose cases are known at run time only (Go: `reflect.Select`).

use super::case::{Arm, Attempt, Case, FutureCase, RecvCase, SendCase, Will};
use super::engine::{Chosen, choose};
use super::list::{List, try_arm};
use crate::chan::{Receiver, RecvError, SendError, Sender};
use std::fmt;
use std::pin::Pin;
use std::task::Context;

/// A case for [`select_cases`]: an operation, and what to make of its result.
///
/// The results of different cases may be of different types; each is turned into an `O`.
pub struct SelectCase<'a, O>(Inner<'a, O>);

enum Inner<'a, O> {
    Arm(Boxed<'a, O>),
    Default(Box<dyn FnOnce() -> O + Send + 'a>),
}

/// A case together with what to make of its output.
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
            Inner::Arm(made) => write!(f, "SelectCase({:?})", made.look().kind()),
            Inner::Default(_) => f.write_str("SelectCase(Default)"),
        }
    }
}

impl<'a, O> SelectCase<'a, O> {
    fn arm<C: Case + Send + 'a>(case: C, make: impl FnOnce(C::Output) -> O + Send + 'a) -> Self
    where
        O: 'a,
    {
        Self(Inner::Arm(Box::pin(With { case, make: Some(make) })))
    }

    /// A receive.
    pub fn recv<T: Send>(
        receiver: &'a Receiver<T>,
        make: impl FnOnce(Result<T, RecvError>) -> O + Send + 'a,
    ) -> Self
    where
        O: 'a,
    {
        Self::arm(RecvCase::new(receiver.recv()), make)
    }

    /// A send. The value is made when this case is chosen.
    pub fn send<T: Send>(
        sender: &'a Sender<T>,
        value: impl FnOnce() -> T + Send + 'a,
        make: impl FnOnce(Result<(), SendError<T>>) -> O + Send + 'a,
    ) -> Self
    where
        O: 'a,
    {
        Self::arm(SendCase::new(sender), move |permit| make(permit.send(value())))
    }

    /// Any future.
    pub fn future<F>(future: F, make: impl FnOnce(F::Output) -> O + Send + 'a) -> Self
    where
        F: Future<Output: Send> + Send + 'a,
        O: 'a,
    {
        Self::arm(FutureCase::new(future), make)
    }

    /// What to do if none of the others is possible now.
    pub fn default(make: impl FnOnce() -> O + Send + 'a) -> Self {
        Self(Inner::Default(Box::new(make)))
    }
}

type Boxed<'a, O> = Pin<Box<dyn Made<'a, O> + Send + 'a>>;

/// The cases that are operations, with their places among all cases.
struct Arms<'a, O>(Vec<(usize, Boxed<'a, O>)>);

// SAFETY: the vector is private, and not changed while the engine has it; each arm is pinned in its
// box.
unsafe impl<O> List for Arms<'_, O> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn arm(self: Pin<&mut Self>, index: usize) -> Pin<&mut dyn Arm> {
        self.get_mut().0[index].1.as_mut().arm()
    }

    fn look(&self, index: usize) -> &dyn Arm {
        self.0[index].1.look()
    }

    fn try_alone(self: Pin<&mut Self>, index: usize, will: Will, cx: &mut Context<'_>) -> Attempt {
        try_arm(self.arm(index), will, cx)
    }
}

/// Waits for the first of the cases that is possible, and does it: [`select!`](macro@crate::select) for
/// cases that are known at run time only. Returns the place of the chosen case, and what it made
/// of its result. Without any case it waits for ever.
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
/// use gmp_sync::{SelectCase, chan, select_cases};
///
/// gmp_rt::block_on(async {
///     let channels: Vec<_> = (0..10).map(|_| chan::<u32>(1)).collect();
///     channels[7].0.send(70).await.unwrap();
///     let cases = channels.iter().map(|(_, rx)| SelectCase::recv(rx, |value| value.unwrap()));
///     assert_eq!(select_cases(cases).await, (7, 70));
/// });
/// ```
#[track_caller]
pub fn select_cases<'a, O>(
    cases: impl IntoIterator<Item = SelectCase<'a, O>>,
) -> impl Future<Output = (usize, O)> {
    let mut arms = Arms(Vec::new());
    let mut default = None;
    for (place, case) in cases.into_iter().enumerate() {
        match case.0 {
            Inner::Arm(made) => arms.0.push((place, made)),
            Inner::Default(make) => {
                assert!(default.is_none(), "select_cases: more than one default case");
                default = Some((place, make));
            }
        }
    }
    async move {
        let will = if default.is_some() { Will::GoOn } else { Will::Wait };
        let chosen = choose(Pin::new(&mut arms), will).await;
        match (chosen, default) {
            (Chosen::Case(index), _) => {
                let (place, mut made) = arms.0.swap_remove(index);
                // The others are dropped first, as in the macro.
                drop(arms);
                (place, made.as_mut().make())
            }
            (Chosen::Default, Some((place, make))) => {
                drop(arms);
                (place, make())
            }
            (Chosen::Default, None) => unreachable!("no default case to choose"),
        }
    }
}
