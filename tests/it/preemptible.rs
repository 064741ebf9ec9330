//! Loops with preemption checks.
//!
//! Each loop here runs until its goroutine has been polled more than once. So it ends only if it
//! yields: without checks the test hangs.

use gmp::{go, preemptible_block};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

/// How often a future was polled.
#[derive(Clone, Debug, Default)]
struct Polls(Arc<AtomicU32>);

impl Polls {
    fn has_yielded(&self) -> bool {
        self.0.load(Relaxed) > 1
    }

    /// Counts the polls of `future` here.
    fn count<F: Future>(&self, future: F) -> Counted<F> {
        Counted(Box::pin(future), self.clone())
    }
}

struct Counted<F>(Pin<Box<F>>, Polls);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.1.0.fetch_add(1, Relaxed);
        self.0.as_mut().poll(cx)
    }
}

#[gmp::preemptible]
async fn compute(polls: Polls) -> u64 {
    let mut n = 0u64;
    while !polls.has_yielded() {
        n += 1;
    }
    n
}

#[gmp::test(max_procs = 1)]
async fn a_computing_function_yields() {
    let polls = Polls::default();
    assert!(go!(polls.count(compute(polls.clone()))).await.unwrap() > 0);
}

/// Another goroutine runs on the same P during the loop. The loop ends when it sees the progress of
/// the other one.
#[gmp::test(max_procs = 1)]
async fn another_goroutine_runs_while_a_loop_computes() {
    let (turns, polls) = (Arc::new(AtomicU64::new(0)), Polls::default());
    let computing = {
        let (turns, polls) = (turns.clone(), polls.clone());
        preemptible_block!(async move {
            loop {
                if turns.load(Relaxed) >= 3 && polls.has_yielded() {
                    break turns.load(Relaxed);
                }
            }
        })
    };
    let computing = go!(polls.count(computing));
    let other = go!({
        while turns.load(Relaxed) < 3 {
            turns.fetch_add(1, Relaxed);
            gmp::yield_now().await;
        }
    });
    assert!(computing.await.unwrap() >= 3);
    other.await.unwrap();
}

/// A goroutine loses its P because it blocks, and then computes without a P. Its loop still yields,
/// so that it gets a P again.
#[gmp::test(max_procs = 1)]
async fn a_loop_yields_after_its_goroutine_lost_its_p() {
    let (polls, ran) = (Polls::default(), Arc::new(AtomicU64::new(0)));
    let other = {
        let ran = ran.clone();
        go!({ ran.store(1, Relaxed) })
    };
    let computing = {
        let (polls, ran) = (polls.clone(), ran.clone());
        preemptible_block!(async move {
            // With one P the other goroutine runs only when this one has lost it.
            std::thread::spawn(move || {
                while ran.load(Relaxed) == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            })
            .join()
            .unwrap();
            while !polls.has_yielded() {}
        })
    };
    go!(polls.count(computing)).await.unwrap();
    other.await.unwrap();
}

struct Numbers(Vec<u64>);

#[gmp::preemptible]
impl Numbers {
    fn len(&self) -> usize {
        self.0.len()
    }

    async fn sum(&self, polls: &Polls) -> u64 {
        loop {
            let mut sum = 0u64;
            for n in &self.0 {
                sum += *n;
            }
            if polls.has_yielded() {
                break sum;
            }
        }
    }
}

#[gmp::test(max_procs = 1)]
async fn a_method_yields() {
    let (numbers, polls) = (Numbers((0..1000).collect()), Polls::default());
    let work = {
        let polls = polls.clone();
        async move { numbers.sum(&polls).await + numbers.len() as u64 }
    };
    assert_eq!(go!(polls.count(work)).await.unwrap(), 499_500 + 1000);
}

#[gmp::preemptible]
mod inner {
    use super::Polls;

    pub(super) mod deeper {
        pub(in super::super) async fn compute(polls: super::Polls) -> u64 {
            let mut rounds = 0u64;
            for n in std::iter::repeat(1) {
                rounds += n;
                if polls.has_yielded() {
                    break;
                }
            }
            rounds
        }
    }

    pub(super) trait Compute {
        fn polls(&self) -> &Polls;

        async fn compute(&self) {
            while !self.polls().has_yielded() {}
        }
    }
}

#[gmp::test(max_procs = 1)]
async fn functions_of_a_module_yield() {
    let polls = Polls::default();
    assert!(go!(polls.count(inner::deeper::compute(polls.clone()))).await.unwrap() > 0);
}

impl inner::Compute for Polls {
    fn polls(&self) -> &Polls {
        self
    }
}

#[gmp::test(max_procs = 1)]
async fn a_default_method_of_a_trait_yields() {
    use inner::Compute;
    let polls = Polls::default();
    let work = {
        let polls = polls.clone();
        async move { polls.compute().await }
    };
    go!(polls.count(work)).await.unwrap();
}

#[gmp::test(max_procs = 1)]
async fn an_async_closure_yields() {
    let polls = Polls::default();
    let closure = preemptible_block!(async |polls: Polls| { while !polls.has_yielded() {} });
    let counter = polls.clone();
    go!(counter.count(async move { closure(polls).await })).await.unwrap();
}

#[gmp::preemptible]
#[gmp::test(max_procs = 1)]
async fn the_attribute_works_before_gmp_test() {
    let polls = Polls::default();
    polls.count(async { while !polls.has_yielded() {} }).await;
}

#[gmp::test(max_procs = 1)]
#[gmp::preemptible]
async fn the_attribute_works_after_gmp_test() {
    let polls = Polls::default();
    polls.count(async { while !polls.has_yielded() {} }).await;
}
