//! Cases of `select!` that are disabled: by a pattern that does not match, or by a guard.

use super::support::{Mutex, waiting};
use gmp::chan::{Receiver, RecvError, SendError, TryRecvError};
use gmp::{chan, go, select};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Counts its drops.
struct Counted<'a>(&'a AtomicUsize, u32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a future once.
fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A receive whose value does not match takes exactly one value. The other cases continue.
#[gmp::test]
async fn a_disabled_receive_stays_disabled() {
    let (tx, rx) = chan(3);
    let (other, others) = chan(0);
    [5, 1, 1].into_iter().for_each(|n| tx.try_send(n).unwrap());
    let watched = rx.clone();
    go!({
        while watched.len() == 3 {
            gmp::yield_now().await;
        }
        other.send("other").await.unwrap();
    });
    let got = select! {
        Ok(1) = rx.recv() => "one",
        v = others.recv() => v.unwrap(),
    };
    assert_eq!(got, "other");
    assert_eq!(rx.len(), 2);
}

/// A case that does not match is disabled for one execution of the `select!` only.
#[gmp::test]
async fn each_select_begins_with_all_cases() {
    let (tx, rx) = chan(4);
    (1..=4).for_each(|n| tx.try_send(n).unwrap());
    let mut seen = Vec::new();
    for _ in 0..4 {
        select! {
            Ok(n @ (2 | 4)) = rx.recv() => seen.push(n),
            else => seen.push(0),
        }
    }
    assert_eq!(seen, [0, 2, 0, 4]);
}

#[gmp::test]
async fn else_runs_when_all_cases_are_disabled() {
    let (tx, rx) = chan::<u32>(1);
    let by_guards = select! {
        _ = rx.recv(), if false => "received",
        () = ready(()), if false => "ready",
        else => "else",
    };
    assert_eq!(by_guards, "else");
    tx.try_send(1).unwrap();
    let by_both = select! {
        Ok(2) = rx.recv() => "received",
        Some(()) = ready(None) => "ready",
        _ = rx.recv(), if false => "guarded",
        else => "else",
    };
    assert_eq!(by_both, "else");
    assert!(rx.is_empty());
    drop(tx);
    let by_patterns = select! {
        else => "closed",
        Ok(_) = rx.recv() => "received",
    };
    assert_eq!(by_patterns, "closed");
}

/// As long as one case is enabled, `else` does not run, even if no case is ready.
#[gmp::test(max_procs = 1)]
async fn else_does_not_run_while_a_case_waits() {
    let (tx, rx) = chan(0);
    let select = go!({
        select! {
            Some(()) = ready(None::<()>) => 0,
            v = rx.recv() => v.unwrap(),
            else => 1,
        }
    });
    waiting("select", 1).await;
    tx.send(7).await.unwrap();
    assert_eq!(select.await.unwrap(), 7);
}

/// Without `else`, a select whose cases are all disabled waits forever. The dump shows it.
#[gmp::test(max_procs = 1)]
async fn without_else_it_waits_forever() {
    let select = go!({
        select! { Some(()) = ready(None) => {} }
    });
    waiting("select (no cases)", 1).await;
    assert!(!select.is_finished());
    select.abort();
}

#[gmp::test]
async fn default_runs_after_a_case_that_does_not_match() {
    let (tx, rx) = chan(2);
    (1..=2).for_each(|n| tx.try_send(n).unwrap());
    let got = select! {
        Ok(2) = rx.recv() => "received",
        _ = pending::<()>() => "never",
        default => "default",
    };
    assert_eq!((got, rx.try_recv()), ("default", Ok(2)));
}

/// A future whose output does not match is dropped before the others are polled again, and never
/// polled again.
#[gmp::test]
async fn a_disabled_future_is_dropped_at_once() {
    let drops = AtomicUsize::new(0);
    let counted = Counted(&drops, 0);
    let mut polls = 0;
    let wrong = poll_fn(|_| {
        assert_eq!((counted.1, polls), (0, 0), "polled again");
        polls += 1;
        Poll::Ready(None::<u32>)
    });
    let wrong = async {
        let counted = Counted(&drops, 1);
        let output = wrong.await;
        pending_once().await;
        drop(counted);
        output
    };
    let seen = select! {
        Some(_) = wrong => usize::MAX,
        () = poll_fn(|_| match drops.load(Ordering::Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }) => drops.load(Ordering::Relaxed),
    };
    assert_eq!((seen, polls), (1, 1));
}

/// Yields once.
async fn pending_once() {
    gmp::yield_now().await;
}

/// An output that does not match is dropped once, one that matches is moved.
#[gmp::test]
async fn an_output_is_dropped_or_moved_once() {
    let drops = AtomicUsize::new(0);
    let output = |n| ready(Some((Counted(&drops, n), String::from("text"))));
    select! {
        Some((Counted(_, 1), text)) = output(2) => drop(text),
        else => assert_eq!(drops.load(Ordering::Relaxed), 1),
    }
    let kept = select! {
        Some((counted @ Counted(_, 3), mut text)) = output(3) => {
            text.push('!');
            assert_eq!(text, "text!");
            counted
        }
        else => unreachable!(),
    };
    assert_eq!((kept.1, drops.load(Ordering::Relaxed)), (3, 1));
    drop(kept);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

/// A panic in the drop of an output that does not match drops the other cases.
#[gmp::test]
async fn a_panic_in_the_drop_of_an_output_drops_the_cases() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let drops: Arc<AtomicUsize> = Arc::default();
    let seen = drops.clone();
    let joined = go!({
        let counted = Counted(&seen, 0);
        let waits = async move {
            pending::<()>().await;
            drop(counted);
        };
        select! {
            (_, true) = ready((Bomb, false)) => {}
            () = waits => {}
        }
    })
    .await;
    assert!(joined.unwrap_err().is_panic());
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// With a pattern `Ok(…)`, the send to a closed channel is disabled. Its value is not evaluated, so
/// it can still be used.
#[gmp::test]
async fn a_send_to_a_closed_channel_is_disabled() {
    let (tx, rx) = chan::<String>(1);
    let text = String::from("text");
    select! {
        Ok(()) = tx.send(text) => {}
        else => unreachable!(),
    }
    assert_eq!(rx.recv().await.as_deref(), Ok("text"));
    drop(rx);
    let text = String::from("kept");
    let kept = select! {
        Ok(()) = tx.send({ assert_ne!(text, "kept", "evaluated"); text }) => None,
        else => Some(text),
    };
    assert_eq!(kept.as_deref(), Some("kept"));
}

/// A send that waits is disabled when the channel is closed. Other sends continue.
#[gmp::test(max_procs = 1)]
async fn a_waiting_send_is_disabled_by_a_close() {
    let (first, closing) = chan::<u32>(0);
    let (second, receiving) = chan::<u32>(0);
    let select = go!({
        select! {
            Ok(()) = first.send(1) => "first",
            Ok(()) = second.send(2) => "second",
            else => "else",
        }
    });
    waiting("select", 1).await;
    drop(closing);
    waiting("select", 1).await;
    assert_eq!(receiving.recv().await, Ok(2));
    assert_eq!(select.await.unwrap(), "second");
}

/// A channel that is closed while the value is made was open when the case was chosen. The value is
/// dropped as one in a buffer is.
#[gmp::test]
async fn a_close_after_the_choice_does_not_disable_a_send() {
    let drops = AtomicUsize::new(0);
    let (tx, rx) = chan(1);
    let sent = select! {
        Ok(()) = tx.send({ drop(rx); Counted(&drops, 0) }) => true,
        else => false,
    };
    assert!(sent);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// Whether any other pattern matches is known after the send only. Such a send is a future that has
/// its value from the beginning.
#[gmp::test]
async fn a_send_with_another_pattern_sends_first() {
    let (tx, rx) = chan(2);
    select! {
        Err(_) = tx.send(String::from("sent")) => unreachable!(),
        else => {}
    }
    assert_eq!(rx.recv().await.as_deref(), Ok("sent"));
    drop(rx);
    let returned = select! {
        Err(SendError(text)) = tx.send(String::from("returned")) => text,
        else => unreachable!(),
    };
    assert_eq!(returned, "returned");
}

/// `continue`, `break`, `return` and `?` in a body mean the code around the `select!`.
#[gmp::test]
async fn control_flow_in_bodies() {
    async fn sum(rx: Receiver<i32>, stop: Receiver<()>) -> Result<i32, RecvError> {
        let mut sum = 0;
        'rounds: loop {
            for _ in 0..1 {
                select! {
                    biased;
                    Ok(n @ 0..) = rx.recv() => {
                        if n == 0 {
                            continue;
                        }
                        sum += n;
                        continue 'rounds;
                    }
                    // The value below zero is gone.
                    Err(RecvError) = stop.recv() => break 'rounds,
                    else => return Ok(-sum),
                }
            }
            sum += 100;
        }
        rx.recv().await?;
        Ok(sum)
    }
    let (tx, rx) = chan(8);
    let (stop, stopping) = chan(1);
    for n in [1, 0, 2, -1, 50] {
        tx.try_send(n).unwrap();
    }
    drop(stop);
    assert_eq!(sum(rx.clone(), stopping.clone()).await, Ok(103));
    tx.try_send(-1).unwrap();
    drop(tx);
    assert_eq!(sum(rx, stopping).await, Err(RecvError));
    let (tx, rx) = chan(2);
    let (stop, stopping) = chan(1);
    tx.try_send(9).unwrap();
    tx.try_send(-1).unwrap();
    stop.try_send(()).unwrap();
    assert_eq!(sum(rx, stopping).await, Ok(-9));
}

/// A select that is dropped after a case was disabled leaves the other channels unchanged, also if
/// one of them has served it.
#[gmp::test(max_procs = 1)]
async fn a_dropped_select_with_a_disabled_case_leaves_no_trace() {
    for served in [false, true] {
        let (tx, rx) = chan::<u32>(1);
        let (tx2, rx2) = chan::<u32>(0);
        let (tx3, rx3) = chan::<u32>(0);
        tx.try_send(1).unwrap();
        let mut select = Box::pin(async {
            select! {
                Ok(2) = rx.recv() => {}
                _ = rx2.recv() => {}
                Ok(()) = tx3.send(3) => {}
                else => {}
            }
        });
        assert!(poll_once(select.as_mut()).is_pending());
        assert!(rx.is_empty(), "one value did not match");
        tx.try_send(4).unwrap();
        if served {
            tx2.try_send(5).unwrap();
        }
        drop(select);
        assert_eq!(rx.try_recv(), Ok(4));
        assert_eq!(rx2.try_recv(), if served { Ok(5) } else { Err(TryRecvError::Empty) });
        assert_eq!(rx3.try_recv(), Err(TryRecvError::Empty));
        assert!(tx2.try_send(6).is_err(), "nobody waits");
    }
}

/// A case that waits is chosen although other cases were disabled after it had waited.
#[gmp::test(max_procs = 1)]
async fn cases_wait_again_after_another_was_disabled() {
    let (tx, rx) = chan::<u32>(0);
    let (tx2, rx2) = chan::<u32>(0);
    let log = Mutex::new(Vec::new());
    let mut select = pin!(async {
        select! {
            Ok(1) = rx.recv() => unreachable!(),
            Ok(n) = rx2.recv() => n,
            else => 0,
        }
    });
    assert!(poll_once(select.as_mut()).is_pending());
    tx.try_send(9).unwrap();
    assert!(poll_once(select.as_mut()).is_pending());
    log.lock().unwrap().push(tx.try_send(1).is_err());
    tx2.try_send(7).unwrap();
    assert_eq!(poll_once(select.as_mut()), Poll::Ready(7));
    assert_eq!(*log.lock().unwrap(), [true], "the disabled case takes nothing");
}
