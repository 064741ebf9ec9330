//! Drops a future at every possible point.
//!
//! A [`Scene`] is a future of a primitive, the steps that happen around it, and a check of the
//! final state. [`everywhere`] runs it once for every order of polls and steps. Each run drops the
//! future at its end and then executes the remaining steps.

use super::lock_rule::{Seen, checked_waker};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A future that is polled by hand. Its wakers check that gmp holds no lock when it wakes or drops
/// them.
pub(crate) struct Polled<'a, T> {
    future: Option<Pin<Box<dyn Future<Output = T> + 'a>>>,
    seen: Arc<Seen>,
    waker: Waker,
    /// Number of wake-ups at the last poll.
    wakes: usize,
    polls: usize,
}

impl<'a, T> Polled<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        let seen = Arc::default();
        let waker = checked_waker(&seen);
        Self { future: Some(Box::pin(future)), seen, waker, wakes: 0, polls: 0 }
    }

    /// Returns a future that has been polled once and was pending.
    pub(crate) fn waiting(future: impl Future<Output = T> + 'a) -> Self {
        let mut polled = Self::new(future);
        assert!(polled.poll().is_none(), "must wait");
        polled
    }

    /// Polls the future. Fails if the future becomes ready without a wake-up: the wake-up was lost.
    pub(crate) fn poll(&mut self) -> Option<T> {
        let woken = self.is_woken();
        self.wakes = self.seen.wakes();
        // Alternates between the same waker and a new one. The future has to use the newest.
        if self.polls % 2 == 1 {
            self.waker = checked_waker(&self.seen);
        }
        let future = self.future.as_mut().expect("polled after its end");
        self.polls += 1;
        match future.as_mut().poll(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => None,
            Poll::Ready(output) => {
                assert!(woken || self.polls == 1, "ready, but nobody has woken it");
                self.future = None;
                Some(output)
            }
        }
    }

    /// Whether the future was woken since the last poll.
    pub(crate) fn is_woken(&self) -> bool {
        self.seen.wakes() > self.wakes
    }

    /// Drops the future.
    pub(crate) fn cancel(&mut self) {
        // The future now holds the last clone of the waker.
        self.waker = Waker::noop().clone();
        self.future = None;
    }
}

impl<T> Drop for Polled<'_, T> {
    fn drop(&mut self) {
        self.cancel();
        let none = self.seen.under_lock() == 0 || std::thread::panicking();
        assert!(none, "a waker was woken or dropped under a lock of gmp: see the message above");
    }
}

/// Any output that is kept until the future is dropped.
pub(crate) trait Held {}
impl<T> Held for T {}

/// The state of the future when it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// It had not ended. Holds the number of steps made before the drop.
    Pending(usize),
    /// It had ended, and its output is dropped with it. Holds the number of steps made before its
    /// end.
    Ready(usize),
}

pub(crate) struct Scene<'a> {
    /// The future that is dropped.
    pub(crate) future: Polled<'a, Box<dyn Held + 'a>>,
    /// The steps that happen around it, in order.
    pub(crate) steps: Vec<Box<dyn FnMut() + 'a>>,
    /// Checks the final state.
    pub(crate) check: Box<dyn FnOnce(Dropped) + 'a>,
}

/// Wraps a future so that its output is kept.
pub(crate) fn held<'a, T: 'a>(
    future: impl Future<Output = T> + 'a,
) -> Polled<'a, Box<dyn Held + 'a>> {
    Polled::new(async move { Box::new(future.await) as Box<dyn Held + 'a> })
}

pub(crate) fn step<'a>(f: impl FnMut() + 'a) -> Box<dyn FnMut() + 'a> {
    Box::new(f)
}

/// Maximum number of polls in a run.
const POLLS: usize = 4;

/// Runs the scene for every order of up to [`POLLS`] polls and all steps, then drops the future.
pub(crate) fn everywhere<P>(make: impl Fn() -> P, play: impl for<'a> Fn(&'a P) -> Scene<'a>) {
    let steps = play(&make()).steps.len();
    let mut runs = 0;
    for length in 0..=steps + POLLS {
        for order in 0..1u32 << length {
            let polls = order.count_ones() as usize;
            if polls <= POLLS && length - polls <= steps {
                let primitive = make();
                run(play(&primitive), order, length);
                runs += 1;
            }
        }
    }
    assert!(runs > POLLS, "only {runs} runs");
}

/// Executes one run. Each of the `length` low bits of `order` chooses a poll (1) or a step (0).
fn run(mut scene: Scene<'_>, order: u32, length: usize) {
    let mut output = None;
    let mut steps = scene.steps.iter_mut();
    let mut made = 0;
    let mut ready_at = None;
    for moment in 0..length {
        if order >> moment & 1 == 0 {
            steps.next().expect("as many as there are")();
            made += 1;
        } else if output.is_none() {
            output = scene.future.poll();
            if output.is_some() {
                ready_at = Some(made);
            }
        }
    }
    scene.future.cancel();
    drop(output);
    for step in steps {
        step();
    }
    drop(scene.steps);
    (scene.check)(ready_at.map_or(Dropped::Pending(made), Dropped::Ready));
}
