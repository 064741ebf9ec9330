//! `join!` and `try_join!`.

use super::support::Mutex;
use gmp::task::park::poll_proceed;
use gmp::{go, join, try_join};
use std::convert::Infallible;
use std::future::{IntoFuture, Ready, pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Is turned into a future.
struct Five;

impl IntoFuture for Five {
    type Output = u32;
    type IntoFuture = Ready<u32>;

    fn into_future(self) -> Ready<u32> {
        ready(5)
    }
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[gmp::test]
async fn any_number_and_kind_of_futures() {
    let text = String::from("borrowed");
    join!();
    assert_eq!(join!(Five), (5,));
    let (len, five, owned) = join!(async { text.len() }, Five, async {
        gmp::yield_now().await;
        text.clone()
    },);
    assert_eq!((len, five, owned.as_str()), (8, 5, "borrowed"));
    let many = join!(Five, Five, Five, Five, Five, Five, Five, Five, Five, Five);
    assert_eq!((many.0, many.9), (5, 5));
    assert_eq!(try_join!(), Ok::<(), Infallible>(()));
    let values = try_join!(ready(Ok::<u32, String>(1)), async { Ok(text.len()) });
    assert_eq!(values, Ok((1, 8)));
}

/// The futures run concurrently: each waits for the others.
#[gmp::test]
async fn futures_run_by_turns() {
    let steps = AtomicUsize::new(0);
    let turn = async |mine: usize| {
        while steps.load(Ordering::Relaxed) < mine {
            gmp::yield_now().await;
        }
        steps.fetch_add(1, Ordering::Relaxed)
    };
    assert_eq!(join!(turn(2), turn(1), turn(0)), (2, 1, 0));
}

/// Each poll begins with another future.
#[gmp::test]
async fn the_first_turn_rotates() {
    let log = Mutex::new(Vec::new());
    let noting = |n: u32| {
        let log = &log;
        poll_fn(move |_| {
            log.lock().unwrap().push(n);
            Poll::<()>::Pending
        })
    };
    let mut joined = pin!(async { join!(noting(0), noting(1), noting(2)) });
    for _ in 0..4 {
        assert!(joined.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let log = log.lock().unwrap();
    assert_eq!(log[..], [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
}

/// A future whose operations are always ready does not starve the other ones, although it gives the
/// goroutine no other reason to yield.
#[gmp::test(max_procs = 1)]
async fn a_busy_future_starves_none() {
    let done = AtomicBool::new(false);
    let busy = async {
        while !done.load(Ordering::Relaxed) {
            gmp::checkpoint().await;
        }
    };
    let other = async {
        for _ in 0..3 {
            gmp::yield_now().await;
        }
        done.store(true, Ordering::Relaxed);
    };
    join!(busy, other);
}

/// When the runtime requests a yield, `join!` returns between two futures. The future that had no
/// turn gets one soon.
#[gmp::test(max_procs = 1)]
async fn it_yields_between_two_futures() {
    let (poll, rounds) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let log = Mutex::new(Vec::new());
    let note = |who| log.lock().unwrap().push((poll.load(Ordering::Relaxed), who));
    let is_done = || rounds.load(Ordering::Relaxed) == 3;
    let hog = poll_fn(|cx| {
        if is_done() {
            return Poll::Ready(());
        }
        while poll_proceed(cx).is_ready() {}
        note("hog");
        rounds.fetch_add(1, Ordering::Relaxed);
        Poll::Pending
    });
    let other = poll_fn(|cx| {
        note("other");
        cx.waker().wake_by_ref();
        if is_done() { Poll::Ready(()) } else { Poll::Pending }
    });
    let mut joined = pin!(async { join!(hog, other) });
    poll_fn(|cx| {
        poll.fetch_add(1, Ordering::Relaxed);
        joined.as_mut().poll(cx)
    })
    .await;
    let log = log.into_inner().unwrap();
    for pair in log.windows(2) {
        let ((poll, who), (next_poll, _)) = (pair[0], pair[1]);
        assert!(who == "other" || poll < next_poll, "polled after the refusal: {log:?}");
    }
    let is_hog = |(_, who): &(usize, &str)| *who == "hog";
    assert!(!log.windows(3).any(|three| three.iter().all(is_hog)), "starved: {log:?}");
}

/// A future is not polled after it was ready, and it is dropped at once.
#[gmp::test]
async fn a_future_that_is_ready_is_dropped() {
    let drops: Arc<AtomicUsize> = Arc::default();
    let counted = Counted(drops.clone());
    let first = async move {
        let _counted = &counted;
        gmp::yield_now().await;
        1
    };
    let second = async {
        while drops.load(Ordering::Relaxed) == 0 {
            gmp::yield_now().await;
        }
        2
    };
    assert_eq!(join!(first, second), (1, 2));
}

/// The first error ends `try_join!`. The other futures, and the values of those that were ready,
/// are dropped.
#[gmp::test]
async fn the_first_error_ends_it() {
    let drops: Arc<AtomicUsize> = Arc::default();
    let (value, never) = (Counted(drops.clone()), Counted(drops.clone()));
    let result = try_join!(
        async move { Ok(value) },
        async move {
            pending::<()>().await;
            Ok(never)
        },
        async {
            gmp::yield_now().await;
            Err::<(), &str>("wrong")
        },
    );
    assert_eq!(result.map(drop), Err("wrong"));
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

/// A panic in one future drops the others.
#[gmp::test]
async fn a_panic_drops_the_others() {
    let drops: Arc<AtomicUsize> = Arc::default();
    let counted = Counted(drops.clone());
    let joined = go!({
        let waits = async move {
            pending::<()>().await;
            drop(counted);
        };
        let panics = async {
            gmp::yield_now().await;
            panic!("in one of them");
        };
        let ((), ()) = join!(waits, panics);
    });
    assert!(joined.await.unwrap_err().is_panic());
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}
