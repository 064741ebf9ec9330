//! Models of select: which case wins, and that the other cases have no effect.
//!
//! Loom explores the interleavings. [`model`] explores the orders in which the selects try their
//! cases: it runs each model once for every script of random choices.

use crate::chan::{Receiver, Sender, TryRecvError, chan};
use ::loom::future::block_on;
use ::loom::thread;
use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Number of scripts: all sequences of four binary choices.
///
/// A model has at most two selects of two cases, and one more shuffle when one of them begins
/// again.
const SCRIPTS: u32 = 16;

std::thread_local! {
    /// The remaining choices. All threads of a model run on one OS thread.
    static SCRIPT: Cell<u32> = const { Cell::new(0) };
}

/// The choices of the script, instead of random ones.
#[derive(Debug)]
pub(super) struct Script;

impl Script {
    pub(super) fn new() -> Self {
        Self
    }

    /// Returns the next choice, below `bound`. Returns 0 after the end of the script.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let script = SCRIPT.get();
        SCRIPT.set(script / bound);
        script % bound
    }
}

/// Runs a model for each script. Few preemptions, because all interleavings are too many.
fn model(f: impl Fn() + Sync + Send + 'static) {
    let f = Arc::new(f);
    for script in 0..SCRIPTS {
        let f = f.clone();
        let mut builder = ::loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            SCRIPT.set(script);
            f();
        });
    }
}

/// Two channels, two senders, one select: it takes one value and leaves the other.
#[test]
fn loom_select_vs_two_senders() {
    model(|| {
        let (tx1, rx1) = chan(1);
        let (tx2, rx2) = chan(1);
        let first = thread::spawn(move || tx1.try_send(1).unwrap());
        let second = thread::spawn(move || tx2.try_send(2).unwrap());
        let got = block_on(async {
            select! {
                v = rx1.recv() => v,
                v = rx2.recv() => v,
            }
        });
        first.join().unwrap();
        second.join().unwrap();
        let left = rx1.try_recv().or(rx2.try_recv());
        assert_eq!(got.unwrap() + left.unwrap(), 3);
    });
}

/// Both sides select, each to send or to receive on the same channel: one sends, the other receives
/// its value.
#[test]
fn loom_select_vs_select() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let (tx2, rx2) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || {
            block_on(async {
                select! {
                    sent = tx2.send(2) => { sent.unwrap(); 0 },
                    v = rx2.recv() => v.unwrap(),
                }
            })
        });
        let here = block_on(async {
            select! {
                v = rx.recv() => v.unwrap(),
                sent = tx.send(1) => { sent.unwrap(); 0 },
            }
        });
        let there = other.join().unwrap();
        assert!((here, there) == (2, 0) || (here, there) == (0, 1), "{here} {there}");
    });
}

/// A send case against a dropped receive and a plain one: the value is received.
#[test]
fn loom_send_case_vs_dropped_recv() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let (_quit, quitting) = chan::<()>(0);
        let sender = thread::spawn(move || {
            block_on(async {
                select! {
                    sent = tx.send(7) => sent.is_ok(),
                    _ = quitting.recv() => false,
                }
            })
        });
        let first = {
            let mut recv = pin!(rx.recv());
            recv.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        if first.is_pending() {
            assert_eq!(block_on(rx.recv()), Ok(7));
        }
        assert!(sender.join().unwrap());
    });
}

/// A send case that is dropped at any time, possibly after it was summoned: the receiver gets the
/// other sender's value.
#[test]
fn loom_dropped_send_case_vs_recv() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let receiver = thread::spawn(move || block_on(rx.recv()));
        {
            let mut selecting = pin!(async {
                select! { sent = tx.send(1) => sent.unwrap() }
            });
            if selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                assert_eq!(receiver.join().unwrap(), Ok(1));
                return;
            }
        }
        assert!(block_on(tx.send(2)).is_ok());
        assert_eq!(receiver.join().unwrap(), Ok(2));
    });
}

/// Returns a future that wakes its select a few times, and is never ready.
fn restless() -> impl Future<Output = u32> {
    let mut polls = 0;
    std::future::poll_fn(move |cx| {
        polls += 1;
        if polls < 3 {
            cx.waker().wake_by_ref();
        }
        std::task::Poll::Pending
    })
}

/// The select is away from its channels while it polls a future: it still receives a value that is
/// sent meanwhile.
#[test]
fn loom_select_that_polls_vs_send() {
    model(|| {
        let (tx, rx) = chan::<u32>(1);
        let sender = thread::spawn(move || tx.try_send(7).unwrap());
        let got = block_on(async {
            select! {
                v = rx.recv() => v.unwrap(),
                v = restless() => v,
            }
        });
        assert_eq!(got, 7);
        sender.join().unwrap();
    });
}

/// A sender that finds the select away and waits itself is still received.
#[test]
fn loom_select_that_polls_vs_waiting_send() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let sender = thread::spawn(move || {
            if tx.try_send(1).is_err() {
                block_on(tx.send(1)).unwrap();
            }
        });
        let got = block_on(async {
            select! {
                v = rx.recv() => v.unwrap(),
                v = restless() => v,
            }
        });
        assert_eq!(got, 1);
        sender.join().unwrap();
    });
}

/// A `try_recv`, which may give up at any time, against a send case: the sender has sent if and
/// only if the value was received.
#[test]
fn loom_try_recv_vs_send_case() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let (quit, quitting) = chan::<()>(0);
        let sender = thread::spawn(move || {
            block_on(async {
                select! {
                    sent = tx.send(7) => sent.is_ok(),
                    _ = quitting.recv() => false,
                }
            })
        });
        let received = rx.try_recv();
        assert!(matches!(received, Ok(7) | Err(TryRecvError::Empty)), "{received:?}");
        drop(quit);
        assert_eq!(sender.join().unwrap(), received.is_ok());
        assert_eq!(rx.len(), 0);
    });
}

/// A select with a default against a sender in a select: the sender has sent if and only if the
/// value was received.
#[test]
fn loom_default_vs_send_case() {
    model(|| {
        let (tx, rx) = chan::<u32>(0);
        let (quit, quitting) = chan::<()>(0);
        let sender = thread::spawn(move || {
            block_on(async {
                select! {
                    sent = tx.send(7) => sent.is_ok(),
                    _ = quitting.recv() => false,
                }
            })
        });
        let received = block_on(async {
            select! { v = rx.recv() => v.is_ok(), default => false }
        });
        drop(quit);
        assert_eq!(sender.join().unwrap(), received);
        assert_eq!(rx.len(), 0);
    });
}

/// On a channel with one slot either a receive or a send is possible at any time.
#[test]
fn loom_default_vs_both_ways_on_one_channel() {
    model(|| {
        let (tx, rx) = chan::<u32>(1);
        let (tx2, rx2) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || {
            tx2.try_send(1).unwrap_or(());
            let _ = rx2.try_recv();
        });
        let chosen = block_on(async {
            select! {
                v = rx.recv() => v.is_ok(),
                sent = tx.send(2) => sent.is_ok(),
                default => false,
            }
        });
        assert!(chosen);
        other.join().unwrap();
    });
}

/// Two threads each send on their own channel and then check the other's. At most one of them takes
/// the default, because the later check comes after both sends.
#[test]
fn loom_default_vs_crossing_sends() {
    fn send_and_check(tx: &Sender<u32>, rx: &Receiver<u32>) -> bool {
        block_on(async {
            tx.send(1).await.unwrap();
            select! { v = rx.recv() => v.is_ok(), default => false }
        })
    }
    model(|| {
        let (tx1, rx1) = chan(1);
        let (tx2, rx2) = chan(1);
        let (tx, rx) = (tx1.clone(), rx2.clone());
        let other = thread::spawn(move || send_and_check(&tx, &rx));
        let here = send_and_check(&tx2, &rx1);
        let there = other.join().unwrap();
        assert!(here || there, "neither has seen the other's value");
        drop((tx1, rx2));
    });
}
