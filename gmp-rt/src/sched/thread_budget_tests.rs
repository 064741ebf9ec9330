//! `block_on` interrupts a future that never waits.

use super::{BUDGET, Budget, enter, poll_proceed, was_refused};
use crate::tuning::{SERVICE_OPS, SLICE};
use crate::util::clock;
use crate::{block_on, checkpoint, sleep, timeout};
use futures::future::{Either, FutureExt, join, poll_fn, select, select_all};
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

/// Ends the slice of the calling thread, which is in `block_on`.
pub(in crate::sched) fn end_slice() {
    // The clock begins with the process, so a slice may not have passed yet.
    while clock::now() <= clock::nanos(SLICE) {
        std::thread::sleep(SLICE);
    }
    BUDGET.set(Budget { left: 1, began: 1, ..Budget::NONE });
}

/// A primitive that is ready: all of them check the budget first.
async fn ready_at_once() {
    poll_fn(|cx| {
        ready!(poll_proceed(cx));
        Poll::Ready(())
    })
    .await;
}

async fn endless() {
    loop {
        ready_at_once().await;
    }
}

#[test]
fn a_timeout_ends_a_future_that_never_waits() {
    assert!(block_on(timeout(Duration::from_millis(30), endless())).is_err());
    let checkpoints = async {
        loop {
            checkpoint().await;
        }
    };
    assert!(block_on(timeout(Duration::from_millis(30), checkpoints)).is_err());
}

#[test]
fn a_sibling_of_a_future_that_never_waits_runs() {
    let mut polls = 0;
    let counts = poll_fn(|cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
    });
    let both = join(endless(), counts);
    assert!(block_on(timeout(Duration::from_millis(100), both)).is_err());
    assert_eq!(polls, 3);
}

#[test]
fn a_short_future_is_not_refused() {
    let mut polls = 0;
    let mut many = pin!(async {
        for _ in 0..10 * SERVICE_OPS {
            ready_at_once().await;
        }
    });
    // The clock is read. Only a thread that the OS stops for a slice is refused.
    block_on(poll_fn(|cx| {
        polls += 1;
        many.as_mut().poll(cx)
    }));
    assert!(polls <= 11, "{polls} polls");
}

#[test]
fn all_checks_of_a_poll_are_refused_after_the_first() {
    let refused = |cx: &mut Context<'_>| (0..50).all(|_| poll_proceed(cx).is_pending());
    let mut poll = 0;
    block_on(poll_fn(|cx| {
        poll += 1;
        if poll == 1 {
            end_slice();
            assert!(refused(cx));
            return Poll::Pending;
        }
        assert!(poll_proceed(cx).is_ready(), "the next poll has a slice of its own");
        Poll::Ready(())
    }));
}

#[test]
fn a_poll_that_never_ends_is_not_refused_for_ever() {
    block_on(poll_fn(|cx| {
        end_slice();
        while poll_proceed(cx).is_pending() {}
        assert!(was_refused(), "a combinator has to poll once more before it decides");
        Poll::Ready(())
    }));
}

/// More futures than an executor inside the poll would poll before it gives up.
#[test]
fn the_ready_one_of_many_futures_wins_against_a_timer() {
    let never = || async {
        ready_at_once().await;
        std::future::pending::<()>().await;
    };
    let many = || {
        let futures = (0..200).map(|_| never().boxed());
        select_all(std::iter::once(ready_at_once().boxed()).chain(futures))
    };
    block_on(async {
        end_slice();
        assert!(matches!(timeout(Duration::ZERO, many()).await, Ok(((), 0, _))));
        end_slice();
        let first = select(many(), sleep(Duration::ZERO)).await;
        assert!(matches!(first, Either::Left((((), 0, _), _))));
    });
}

#[test]
fn a_nested_call_and_its_panic_keep_the_budget_of_the_outer_one() {
    block_on(poll_fn(|cx| {
        end_slice();
        block_on(ready_at_once());
        let panics = || block_on(async { panic!("expected by the test") });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(poll_proceed(cx).is_pending());
        Poll::<()>::Ready(())
    }));
}

#[test]
fn outside_of_block_on_nothing_is_refused() {
    let waker = futures::task::noop_waker();
    let mut cx = Context::from_waker(&waker);
    assert!((0..10 * SERVICE_OPS).all(|_| poll_proceed(&cx).is_ready()));
    drop(enter());
    assert_eq!(BUDGET.get().left, 0);
    cx = Context::from_waker(Waker::noop());
    assert!(poll_proceed(&cx).is_ready());
}
