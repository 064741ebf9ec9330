//! Dropping a future at every possible moment.
//!
//! A [`Scene`] is a primitive's future, what happens around it step by step, and what must hold
//! in the end. [`everywhere`] plays it once for every order of polls and steps, and drops the future
//! at the end of each; the steps that are left follow.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is polled by hand.
pub(crate) struct Polled<'a, T> {
    future: Option<Pin<Box<dyn Future<Output = T> + 'a>>>,
    wakes: Arc<Wakes>,
    seen: usize,
    polls: usize,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<'a, T> Polled<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self { future: Some(Box::pin(future)), wakes: Arc::default(), seen: 0, polls: 0 }
    }

    /// One that has been polled once, in vain.
    pub(crate) fn waiting(future: impl Future<Output = T> + 'a) -> Self {
        let mut polled = Self::new(future);
        assert!(polled.poll().is_none(), "must wait");
        polled
    }

    /// Polls it. That it becomes ready without having been woken is a lost wake-up.
    pub(crate) fn poll(&mut self) -> Option<T> {
        let woken = self.is_woken();
        self.seen = self.wakes.0.load(Ordering::Relaxed);
        let waker = Waker::from(self.wakes.clone());
        let future = self.future.as_mut().expect("polled after its end");
        self.polls += 1;
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => None,
            Poll::Ready(output) => {
                assert!(woken || self.polls == 1, "ready, but nobody has woken it");
                self.future = None;
                Some(output)
            }
        }
    }

    /// Whether it was woken since the last poll.
    pub(crate) fn is_woken(&self) -> bool {
        self.wakes.0.load(Ordering::Relaxed) > self.seen
    }

    /// Drops the future.
    pub(crate) fn cancel(&mut self) {
        self.future = None;
    }
}

/// Anything that is kept until the future is dropped.
pub(crate) trait Held {}
impl<T> Held for T {}

/// How far the future was when it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// It had not ended; how many steps had been made.
    Pending(usize),
    /// It had ended, and its output is dropped with it; how many steps had been made then.
    Ready(usize),
}

pub(crate) struct Scene<'a> {
    /// What is dropped.
    pub(crate) future: Polled<'a, Box<dyn Held + 'a>>,
    /// What happens around it, in this order.
    pub(crate) steps: Vec<Box<dyn FnMut() + 'a>>,
    /// What must hold when all is over.
    pub(crate) check: Box<dyn FnOnce(Dropped) + 'a>,
}

/// A future whose output is kept.
pub(crate) fn held<'a, T: 'a>(
    future: impl Future<Output = T> + 'a,
) -> Polled<'a, Box<dyn Held + 'a>> {
    Polled::new(async move { Box::new(future.await) as Box<dyn Held + 'a> })
}

/// A step.
pub(crate) fn step<'a>(f: impl FnMut() + 'a) -> Box<dyn FnMut() + 'a> {
    Box::new(f)
}

/// Most polls of a run.
const POLLS: usize = 4;

/// Plays the scene for every order of up to four polls and all steps, and drops the future then.
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

/// One run: a bit of `order` for each of `length` moments says whether it is a poll or a step.
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
