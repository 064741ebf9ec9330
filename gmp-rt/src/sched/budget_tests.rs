//! A spent budget never changes a result. Each combinator runs with a budget that ends before it.

use super::poll_proceed;
use crate::api::runtime::Builder;
use crate::sched::{local, thread_budget};
use crate::{
    JoinHandle, Ticker, Timer, block_on, sleep, spawn, timeout, timeout_at, unconstrained,
    yield_now,
};
use futures::future::{Either, FutureExt, join, poll_fn, select};
use futures::stream::{FuturesUnordered, StreamExt};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

const ZERO: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);

/// A poll of a goroutine: the address of its P, and the number of polls of that P.
#[derive(Debug, PartialEq, Eq)]
struct PollId(usize, u64);

impl PollId {
    /// The poll in which the calling goroutine is.
    fn current() -> Self {
        local::with(|local| {
            let p = local.expect("a goroutine").p();
            Self(std::sync::Arc::as_ptr(p.shared()).addr(), p.counters.polls.get())
        })
    }

    /// Whether the goroutine has yielded since this poll.
    fn is_over(&self) -> bool {
        *self != Self::current()
    }
}

/// Ends the slice of the goroutine that calls it. Returns the poll that has to end.
fn end_slice() -> PollId {
    local::with(|local| local.expect("a goroutine").p().request_preempt());
    PollId::current()
}

/// A primitive that is ready: all of them check the budget first.
async fn ready_at_once() -> u32 {
    poll_fn(|cx| {
        ready!(poll_proceed(cx));
        Poll::Ready(7)
    })
    .await
}

/// A future that proceeds for ever, and checks the budget at each step.
async fn endless() -> u32 {
    loop {
        ready_at_once().await;
    }
}

/// Runs `test` as a goroutine on one P.
fn on_one_p<F: Future<Output: Send + 'static> + Send + 'static>(test: F) -> F::Output {
    let runtime = Builder::new().max_procs(1).build().expect("a runtime");
    let test = async {
        // A newcomer would not answer a request so early.
        yield_now().await;
        test.await
    };
    block_on(runtime.spawn(test)).expect("the test")
}

type Ready = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Every kind of future of this crate, ready.
async fn ready_futures() -> Vec<(&'static str, Ready)> {
    let finished: JoinHandle<()> = spawn(async {});
    while !finished.is_finished() {
        yield_now().await;
    }
    let mut ticker = Ticker::new(Duration::from_nanos(1));
    // The first poll of a timer does not read the clock.
    let _ = ticker.poll_tick(&mut Context::from_waker(Waker::noop()));
    vec![
        ("a primitive", Box::pin(ready_at_once().map(drop))),
        ("sleep", Box::pin(sleep(ZERO))),
        ("join handle", Box::pin(finished.map(drop))),
        ("timer", Box::pin(Timer::new(ZERO).map(drop))),
        ("ticker", Box::pin(async move { _ = ticker.tick().await })),
        ("timeout", Box::pin(timeout(HOUR, ready_at_once()).map(drop))),
        ("elapsed timeout", Box::pin(timeout(ZERO, std::future::pending::<()>()).map(drop))),
    ]
}

/// The result of a combinator for a ready future. `true` is right.
type Combinator = fn(Ready) -> Pin<Box<dyn Future<Output = bool> + Send>>;

/// All combinators whose result a refused check could change.
const COMBINATORS: [(&str, Combinator); 9] = [
    ("timeout", |f| Box::pin(async { timeout(ZERO, f).await.is_ok() })),
    ("timeout_at", |f| Box::pin(async { timeout_at(Instant::now(), f).await.is_ok() })),
    ("nested timeouts", |f| {
        Box::pin(async { timeout(ZERO, timeout(ZERO, f)).await == Ok(Ok(())) })
    }),
    ("timeout of a join", |f| {
        Box::pin(async { timeout(ZERO, join(f, ready_at_once())).await.is_ok() })
    }),
    ("timeout of unordered futures", |f| {
        Box::pin(async {
            let mut futures: FuturesUnordered<_> = [f].into_iter().collect();
            timeout(ZERO, futures.next()).await == Ok(Some(()))
        })
    }),
    ("foreign select with a timer", |f| {
        Box::pin(async { matches!(select(f, sleep(ZERO)).await, Either::Left(_)) })
    }),
    ("foreign select with a timeout", |f| {
        let never = timeout(ZERO, std::future::pending::<()>());
        Box::pin(async { matches!(select(f, Box::pin(never)).await, Either::Left(_)) })
    }),
    ("now_or_never", |f| Box::pin(async { f.now_or_never().is_some() })),
    ("Waker::noop", |mut f| {
        Box::pin(async move { f.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() })
    }),
];

#[test]
fn no_combinator_overlooks_a_ready_future_when_the_slice_ends() {
    let wrong = on_one_p(async {
        let mut wrong = Vec::new();
        for (name, combine) in COMBINATORS {
            for (kind, future) in ready_futures().await {
                end_slice();
                if !combine(future).await {
                    wrong.push(format!("{name} of {kind}"));
                }
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_combinator_overlooks_a_ready_future_in_block_on() {
    let wrong = block_on(async {
        let mut wrong = Vec::new();
        for (name, combine) in COMBINATORS {
            for (kind, future) in ready_futures().await {
                thread_budget::tests::end_slice();
                if !combine(future).await {
                    wrong.push(format!("{name} of {kind}"));
                }
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_timeout_ends_a_future_that_uses_up_every_slice() {
    let elapsed = on_one_p(async { timeout(Duration::from_millis(30), endless()).await });
    assert!(elapsed.is_err());
}

#[test]
fn an_elapsed_timeout_yields_at_the_end_of_the_slice() {
    on_one_p(async {
        for _ in 0..2 {
            let poll = end_slice();
            assert!(timeout(ZERO, std::future::pending::<()>()).await.is_err());
            assert!(poll.is_over());
            let poll = end_slice();
            // The first poll is refused, the deciding poll finds nothing.
            let never = async {
                ready_at_once().await;
                std::future::pending::<()>().await;
            };
            assert!(timeout(ZERO, never).await.is_err());
            assert!(poll.is_over());
        }
    });
}

#[test]
fn all_checks_of_a_poll_are_refused_after_the_first() {
    on_one_p(async {
        let poll = end_slice();
        let refused = poll_fn(|cx| Poll::Ready((0..100).all(|_| poll_proceed(cx).is_pending())));
        assert!(refused.await);
        ready_at_once().await;
        assert!(poll.is_over());
    });
}

#[test]
fn a_poll_that_never_ends_is_not_refused_for_ever() {
    on_one_p(async {
        end_slice();
        let mut future = pin!(ready_at_once());
        poll_fn(|cx| {
            while future.as_mut().poll(cx).is_pending() {}
            Poll::Ready(())
        })
        .await;
    });
}

/// Yields inside a poll that never ends do not restart the count of refusals.
#[test]
fn yields_do_not_prolong_refusals() {
    on_one_p(async {
        end_slice();
        let mut future = pin!(ready_at_once());
        poll_fn(|cx| {
            while future.as_mut().poll(cx).is_pending() {
                let _ = pin!(yield_now()).poll(cx);
            }
            Poll::Ready(())
        })
        .await;
    });
}

/// The first ready future wins in a nested executor, however many checks a poll makes.
#[test]
fn an_executor_inside_a_goroutine_decides_within_one_poll() {
    let first = on_one_p(async {
        end_slice();
        let (a, b, c) = (pin!(ready_at_once()), pin!(ready_at_once()), pin!(ready_at_once()));
        match block_on(select(select(a, b), c)) {
            Either::Left((Either::Left(_), _)) => "a",
            Either::Left((Either::Right(_), _)) => "b",
            Either::Right(_) => "c",
        }
    });
    assert_eq!(first, "a");
}

/// A deciding poll within a slice costs no yield. Sysmon ends the slice too if the OS stops the
/// thread, so this holds for one of several polls.
#[test]
fn a_deciding_poll_does_not_end_the_slice() {
    on_one_p(async {
        loop {
            assert_eq!(super::poll_deciding(|| 7), 7);
            let is_over = local::with(|local| local.expect("a goroutine").p().preempt_requested());
            if !is_over {
                break;
            }
            yield_now().await;
        }
    });
}

#[test]
fn an_executor_inside_a_goroutine_is_interrupted_in_each_slice() {
    let elapsed = on_one_p(async { block_on(timeout(Duration::from_millis(30), endless())) });
    assert!(elapsed.is_err());
}

#[test]
fn an_executor_inside_a_goroutine_is_not_refused_for_ever() {
    on_one_p(async {
        end_slice();
        assert_eq!(block_on(async { (ready_at_once().await, ready_at_once().await) }), (7, 7));
    });
}

/// Counts checks of one poll: those outside `unconstrained` before and after it, and those inside.
/// Each pair has the number of refused checks and of all checks.
fn checks_of_one_poll(cx: &mut Context<'_>) -> [(usize, usize); 3] {
    const CHECKS: usize = 5000;
    let refused = |cx: &mut Context<'_>| {
        ((0..CHECKS).filter(|_| poll_proceed(cx).is_pending()).count(), CHECKS)
    };
    let outside = |cx: &mut Context<'_>| (usize::from(poll_proceed(cx).is_pending()), 1);
    let before = outside(cx);
    let inside = pin!(unconstrained(poll_fn(|cx| Poll::Ready(refused(cx))))).poll(cx);
    let Poll::Ready(inside) = inside else { panic!("an unconstrained poll was pending") };
    [before, inside, outside(cx)]
}

/// Not even after a check outside was refused, and it restores the refusals.
#[test]
fn no_check_inside_unconstrained_is_refused() {
    const EXPECTED: [(usize, usize); 3] = [(1, 1), (0, 5000), (1, 1)];
    on_one_p(async {
        let poll = end_slice();
        assert_eq!(poll_fn(|cx| Poll::Ready(checks_of_one_poll(cx))).await, EXPECTED);
        ready_at_once().await;
        assert!(poll.is_over(), "the goroutine yields after it");
    });
    block_on(async {
        thread_budget::tests::end_slice();
        assert_eq!(poll_fn(|cx| Poll::Ready(checks_of_one_poll(cx))).await, EXPECTED);
    });
}

/// A deciding poll inside `unconstrained` has no smaller allowance.
#[test]
fn a_deciding_poll_does_not_constrain_again() {
    on_one_p(async {
        let refused = unconstrained(poll_fn(|cx| {
            let checks = |cx: &mut Context<'_>| {
                end_slice();
                (0..5000).filter(|_| poll_proceed(cx).is_pending()).count()
            };
            let deciding = super::poll_deciding(|| checks(cx));
            Poll::Ready((deciding, checks(cx)))
        }));
        assert_eq!(refused.await, (0, 0));
    });
}

/// `yield_now` yields inside `unconstrained`, and a goroutine that is spawned there has a budget.
#[test]
fn unconstrained_ends_neither_yields_nor_the_budget_of_others() {
    on_one_p(async {
        let poll = PollId::current();
        let spawned = unconstrained(async {
            yield_now().await;
            [spawn(async {
                let poll = end_slice();
                ready_at_once().await;
                poll.is_over()
            })]
        });
        let [spawned] = spawned.await;
        assert!(poll.is_over());
        assert!(unconstrained(spawned).await.unwrap());
    });
}

/// A panic inside ends the exemption.
#[test]
fn a_panic_ends_an_unconstrained_poll() {
    on_one_p(async {
        let panics = unconstrained(async { std::panic::resume_unwind(Box::new(())) });
        let caught: Result<(), _> = std::panic::AssertUnwindSafe(panics).catch_unwind().await;
        assert!(caught.is_err());
        let poll = end_slice();
        ready_at_once().await;
        assert!(poll.is_over());
    });
}
