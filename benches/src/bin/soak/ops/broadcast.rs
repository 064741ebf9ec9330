//! Broadcast channels: each receiver gets each value, or the number of those it has missed.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use futures::StreamExt;
use gmp::sync::broadcast;
use gmp::sync::broadcast::{Lagged, Receiver, RecvError, TryRecvError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The number of the value that a receiver gets next.
struct Expected(u64);

impl Expected {
    fn got(&mut self, value: u64) {
        if value != self.0 {
            violation(format!("a broadcast receiver got {value}, but {} is next", self.0));
        }
        self.0 += 1;
    }

    fn missed(&mut self, values: u64) {
        if values == 0 {
            violation("a broadcast receiver missed 0 values");
        }
        did("broadcast: lagged", End::Ok);
        self.0 += values;
    }
}

async fn receive(mut cx: Cx, mut rx: Receiver<u64>, sent: Arc<AtomicU64>) {
    let (mut expected, form) = (Expected(0), cx.rand.below(4));
    loop {
        let received = match form {
            0 => match rx.next().await {
                Some(Ok(value)) => Ok(value),
                Some(Err(Lagged(missed))) => Err(RecvError::Lagged(missed)),
                None => Err(RecvError::Closed),
            },
            1 => match rx.try_recv() {
                Ok(value) => Ok(value),
                Err(TryRecvError::Closed) => Err(RecvError::Closed),
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                Err(TryRecvError::Empty) => {
                    gmp::yield_now().await;
                    continue;
                }
            },
            2 => rx.recv_blocking(),
            _ => match gmp::timeout(cx.rand.micros(300), rx.recv()).await {
                Ok(received) => received,
                Err(_) => continue,
            },
        };
        match received {
            Ok(value) => expected.got(value),
            Err(RecvError::Lagged(missed)) => expected.missed(missed),
            Err(RecvError::Closed) => break,
        }
        if cx.rand.once_in(4) {
            cx.pause().await;
        }
    }
    did(CALLS[form as usize], End::Closed);
    let sent = sent.load(SeqCst);
    if expected.0 != sent {
        violation(format!("{sent} values were broadcast, a receiver knows of {}", expected.0));
    }
}

/// By the form of the receive.
const CALLS: [&str; 4] = [
    "broadcast::Receiver stream",
    "broadcast::Receiver::try_recv",
    "broadcast::Receiver::recv_blocking",
    "broadcast::Receiver::recv",
];

/// All receivers account for all values.
pub(crate) async fn broadcast(mut cx: Cx) {
    let cap = 1 + cx.rand.size(8);
    let (tx, rx) = broadcast::channel(cap);
    let sent = Arc::new(AtomicU64::new(0));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        let (rx, sent) = (tx.subscribe(), sent.clone());
        children.push(cx.spawn_anywhere(|inner| receive(inner, rx, sent)));
    }
    drop(rx);
    for value in 0..cx.rand.below(24) {
        match tx.clone().send(value) {
            Ok(receivers) => {
                did("broadcast::Sender::send", End::Ok);
                if receivers == 0 || receivers > children.len() {
                    violation(format!("a broadcast to {} reached {receivers}", children.len()));
                }
            }
            // All receivers were dropped with their runtime.
            Err(error) => {
                if error.0 != value {
                    violation(format!("a broadcast of {value} returned {}", error.0));
                }
                did("broadcast::Sender::send", End::Closed);
                break;
            }
        }
        sent.store(value + 1, SeqCst);
        if tx.len() > cap {
            violation(format!("a broadcast channel of {cap} keeps {} values", tx.len()));
        }
        if cx.rand.once_in(4) {
            cx.pause().await;
        }
    }
    if cx.rand.once_in(6) {
        children.iter().for_each(abort);
        // An abort does not end a blocking wait.
        let closed = gmp::timeout(Duration::from_millis(5), tx.closed()).await;
        did("broadcast::Sender::closed", if closed.is_ok() { End::Ok } else { End::Timeout });
    }
    drop(tx);
    for child in children {
        join(child).await;
    }
}
