//! Watch channels: receivers see values in order, and the last one.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use futures::StreamExt;
use gmp::sync::watch;
use gmp::sync::watch::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Checks that `value` is newer than `last`, or the same if `may_repeat`.
fn newer(last: &mut u64, value: u64, may_repeat: bool) {
    if value < *last || (value == *last && !may_repeat) {
        violation(format!("a watch receiver saw {value} after {last}"));
    }
    *last = value;
}

async fn follow(mut cx: Cx, mut rx: Receiver<u64>, newest: Arc<AtomicU64>) {
    let mut last = *rx.get_and_update();
    match cx.rand.below(4) {
        0 => {
            let mut stream = rx.into_stream();
            while let Some(value) = stream.next().await {
                newer(&mut last, *value, false);
            }
            did("watch::Receiver::into_stream", End::Ok);
            rx = stream.into_inner();
        }
        1 => {
            let wanted = last + 1 + cx.rand.below(3);
            if let Ok(value) = rx.wait_for(|value| *value >= wanted).await {
                did("watch::Receiver::wait_for", End::Ok);
                if *value < wanted {
                    violation(format!("wait_for({wanted}) returned {value}"));
                }
                newer(&mut last, *value, false);
            } else {
                did("watch::Receiver::wait_for", End::Closed);
            }
            while rx.changed().await.is_ok() {}
        }
        2 => {
            while rx.changed_blocking().is_ok() {
                newer(&mut last, *rx.get_and_update(), false);
            }
            did("watch::Receiver::changed_blocking", End::Closed);
        }
        _ => {
            // `get` may return a value whose `changed` is still to come.
            while rx.changed().await.is_ok() {
                newer(&mut last, *rx.get(), true);
                cx.pause().await;
            }
            did("watch::Receiver::changed", End::Closed);
        }
    }
    let (value, newest) = (*rx.get(), newest.load(SeqCst));
    if value != newest {
        violation(format!("the last value of a watch channel is {newest}, a receiver has {value}"));
    }
    if rx.changed().await.is_ok() || rx.has_changed().is_ok() {
        violation("a watch channel without a sender is not closed");
    }
}

/// Sends the value after the newest in one of several ways.
fn send_next(cx: &mut Cx, tx: &Sender<u64>, newest: &AtomicU64) {
    let before = newest.load(SeqCst);
    match cx.rand.below(4) {
        // Fails if all receivers were aborted.
        0 => match tx.send(before + 1) {
            Ok(()) => did("watch::Sender::send", End::Ok),
            Err(error) => {
                if error.0 != before + 1 {
                    violation(format!("a watch send returned {} for {}", error.0, before + 1));
                }
                return did("watch::Sender::send", End::Closed);
            }
        },
        1 => {
            let old = *tx.send_replace(before + 1);
            if old != before {
                violation(format!("send_replace returned {old}, but {before} was sent last"));
            }
            did("watch::Sender::send_replace", End::Ok);
        }
        2 => {
            tx.send_modify(|value| *value += 1);
            did("watch::Sender::send_modify", End::Ok);
        }
        _ => {
            let add = |value: &mut u64| {
                *value += 1;
                true
            };
            if tx.send_if_modified(|_| false) || !tx.send_if_modified(add) {
                violation("send_if_modified does not return what the closure did");
            }
            did("watch::Sender::send_if_modified", End::Ok);
        }
    }
    newest.store(before + 1, SeqCst);
}

/// Receivers see each value at most once, in order, and the last one in any case.
pub(crate) async fn watch(mut cx: Cx) {
    let (tx, rx) = watch::channel(0u64);
    let newest = Arc::new(AtomicU64::new(0));
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        let (rx, newest) = (rx.clone(), newest.clone());
        children.push(cx.spawn_anywhere(|inner| follow(inner, rx, newest)));
    }
    drop(rx);
    for _ in 0..cx.rand.size(12) {
        send_next(&mut cx, &tx, &newest);
        if cx.rand.once_in(3) {
            cx.pause().await;
        }
    }
    if cx.rand.once_in(6) {
        children.iter().for_each(abort);
        // An abort does not end a blocking wait.
        match gmp::timeout(Duration::from_millis(5), tx.closed()).await {
            Ok(()) if tx.receiver_count() == 0 => did("watch::Sender::closed", End::Ok),
            Ok(()) => violation(format!("a closed watch channel: {tx:?}")),
            Err(_) => did("watch::Sender::closed", End::Timeout),
        }
    }
    drop(tx);
    for child in children {
        join(child).await;
    }
}
