//! Tests of loops with checks, under a preempt request that the test makes.

use crate::api::runtime::Builder;
use crate::sched::local;
use crate::{block_on, yield_now};
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Requests that the running goroutine yields, as sysmon does.
fn request_preempt() {
    local::with(|local| local.expect("a goroutine").p().request_preempt());
}

/// Counts the polls of a future.
struct Counted<F>(Pin<Box<F>>, u32);

impl<F: Future> Future for Counted<F> {
    type Output = (u32, F::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.1 += 1;
        let polls = self.1;
        self.0.as_mut().poll(cx).map(|output| (polls, output))
    }
}

/// Whether a future was polled once.
#[derive(Debug, PartialEq, Eq)]
enum Polled {
    Once,
    /// It has yielded. The number is not known, because sysmon makes requests too.
    More,
}

/// Runs a future as a goroutine with a preempt request in its first poll. Returns whether it
/// yielded, and its output.
fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> (Polled, T) {
    let runtime = Builder::new().max_procs(1).build().expect("a runtime");
    let asked = async move {
        // A newcomer would not answer a request so early.
        yield_now().await;
        request_preempt();
        Counted(Box::pin(future), 0).await
    };
    let (polls, output) = block_on(runtime.handle().spawn(asked)).expect("no panic");
    (if polls == 1 { Polled::Once } else { Polled::More }, output)
}

#[test]
fn each_kind_of_loop_yields_and_continues_where_it_was() {
    let with_loop = preemptible_block!(async {
        let mut n = 0;
        loop {
            n += 1;
            if n == 100 {
                break n;
            }
        }
    });
    assert_eq!(run(with_loop), (Polled::More, 100));
    let with_while = preemptible_block!(async {
        let mut n = 0;
        while n < 100 {
            n += 1;
        }
        n
    });
    assert_eq!(run(with_while), (Polled::More, 100));
    let with_while_let = preemptible_block!(async {
        let (mut numbers, mut sum) = ((0..100).collect::<Vec<u32>>(), 0);
        while let Some(n) = numbers.pop() {
            sum += n;
        }
        sum
    });
    assert_eq!(run(with_while_let), (Polled::More, 4950));
    let with_for = preemptible_block!(async {
        let mut numbers = Vec::new();
        for n in (0..100).rev() {
            numbers.push(n);
        }
        numbers
    });
    assert_eq!(run(with_for), (Polled::More, (0..100).rev().collect()));
}

#[test]
fn a_cheap_loop_yields_after_a_strip() {
    let long = 3 * super::strip::LOOP_STRIP;
    let sum_of = |limit: u32| {
        preemptible_block!(async move {
            let mut sum = 0u64;
            for n in 0..limit {
                sum += (3 * n as u64) ^ 5;
            }
            sum
        })
    };
    let expected = |limit: u32| (0..limit).map(|n| (3 * u64::from(n)) ^ 5).sum::<u64>();
    assert_eq!(run(sum_of(long)), (Polled::More, expected(long)));
    // The loop ends before its first check.
    assert_eq!(run(sum_of(10)), (Polled::Once, expected(10)));
    let slice = preemptible_block!(async move {
        let mut numbers = vec![1u32; long as usize];
        for n in &mut numbers {
            *n += 1;
        }
        numbers
    });
    assert_eq!(run(slice), (Polled::More, vec![2; long as usize]));
}

#[test]
fn a_loop_with_an_await_inside_yields() {
    let future = preemptible_block!(async {
        let mut sum = 0;
        for n in 0..100 {
            sum += std::future::ready(n).await;
        }
        sum
    });
    assert_eq!(run(future), (Polled::More, 4950));
}

#[test]
fn continue_and_break_of_outer_loops_yield_too() {
    let future = preemptible_block!(async {
        let mut seen = Vec::new();
        'rows: for row in 0.. {
            request_preempt();
            let mut column = 0;
            loop {
                column += 1;
                if column == 2 {
                    continue;
                }
                if row == 3 {
                    break 'rows;
                }
                if column == 4 {
                    continue 'rows;
                }
                seen.push((row, column));
            }
        }
        seen
    });
    let expected = vec![(0, 1), (0, 3), (1, 1), (1, 3), (2, 1), (2, 3)];
    assert_eq!(run(future), (Polled::More, expected));
}

/// A poll with a no-op waker cannot yield. The loop continues.
#[test]
fn a_loop_that_cannot_yield_ends() {
    let future = async {
        request_preempt();
        let mut block = pin!(preemptible_block!(async {
            let mut n = 0;
            while n < 1000 {
                n += 1;
            }
            for m in (0..1000).rev() {
                n += std::hint::black_box(m) & 1;
            }
            n
        }));
        block.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    };
    assert_eq!(run(future), (Polled::Once, Poll::Ready(1500)));
}

/// Without a runtime there is no time slice.
#[test]
fn a_loop_outside_of_a_runtime_runs_through() {
    let future = preemptible_block!(async {
        let total = Cell::new(0);
        for n in 0..100 {
            total.set(total.get() + n);
        }
        total.get()
    });
    let mut counted = pin!(Counted(Box::pin(future), 0));
    let polled = counted.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready((1, 4950)));
}

/// A future that is dropped while its loop waits for its next slice drops the iterator once.
#[test]
fn a_loop_that_is_dropped_at_its_pause_drops_its_iterator() {
    struct Items(Arc<AtomicU32>);
    impl Iterator for Items {
        type Item = u32;
        fn next(&mut self) -> Option<u32> {
            Some(1)
        }
    }
    impl Drop for Items {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let drops = Arc::new(AtomicU32::new(0));
    let items = Items(drops.clone());
    let future = async move {
        let mut block = Box::pin(preemptible_block!(async move {
            for _ in items {
                std::hint::black_box(());
            }
        }));
        request_preempt();
        let first = std::future::poll_fn(|cx| Poll::Ready(block.as_mut().poll(cx))).await;
        assert!(first.is_pending());
        drop(block);
    };
    run(future);
    assert_eq!(drops.load(Relaxed), 1);
}
