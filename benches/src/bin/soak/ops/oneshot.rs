//! Channels for one value: it arrives, or comes back, or its receiver knows that it does not come.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::ledger::{Ledger, Origin, Token};
use crate::violation::{fault, violation};
use gmp::sync::oneshot;
use gmp::sync::oneshot::{Receiver, Sender, TryRecvError};
use std::sync::Arc;

const ORIGIN: Origin = Origin { sender: 0, number: 0 };

/// What the sender did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Yes,
    /// The receiver had gone.
    Back,
    /// The sender was dropped without a send.
    Never,
}

/// What the receiver did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    Yes,
    /// It waited, and its wait ended without a value.
    Refused,
    /// It closed the channel, and there was no value.
    Closed,
    /// It was dropped.
    Left,
}

async fn send(mut cx: Cx, mut tx: Sender<Token>, ledger: Arc<Ledger>) -> Sent {
    cx.pause().await;
    if cx.rand.once_in(4) {
        let _ = gmp::timeout(cx.rand.micros(300), tx.closed()).await;
    }
    if cx.rand.once_in(6) {
        did("oneshot::Sender drop", End::Ok);
        return Sent::Never;
    }
    match tx.send(ledger.make(ORIGIN)) {
        Ok(()) => {
            did("oneshot::Sender::send", End::Ok);
            Sent::Yes
        }
        Err(token) => {
            ledger.returned(&token, ORIGIN);
            did("oneshot::Sender::send", End::Closed);
            Sent::Back
        }
    }
}

async fn receive(mut cx: Cx, mut rx: Receiver<Token>, ledger: Arc<Ledger>) -> Received {
    let take = |token: Token| {
        ledger.received(&token);
        Received::Yes
    };
    match cx.rand.below(6) {
        0 => {
            cx.pause().await;
            did("oneshot::Receiver drop", End::Ok);
            Received::Left
        }
        1 => {
            cx.pause().await;
            rx.close();
            did("oneshot::Receiver::close", End::Ok);
            rx.try_recv().map_or(Received::Closed, take)
        }
        2 => loop {
            match rx.try_recv() {
                Ok(token) => {
                    did("oneshot::Receiver::try_recv", End::Ok);
                    break take(token);
                }
                Err(TryRecvError::Empty) => gmp::yield_now().await,
                Err(TryRecvError::Closed) => break Received::Refused,
            }
        },
        3 => {
            let result = rx.recv_blocking();
            did("oneshot::Receiver::recv_blocking", End::Ok);
            result.map_or(Received::Refused, take)
        }
        _ => {
            // A wait that is dropped loses nothing.
            let first = gmp::timeout(cx.rand.micros(200), rx.recv()).await;
            let result = match first {
                Ok(result) => result,
                Err(_) => rx.await,
            };
            did("oneshot::Receiver::recv", End::Ok);
            result.map_or(Received::Refused, take)
        }
    }
}

/// The two ends agree on what happened to the value.
pub(crate) async fn oneshot(mut cx: Cx) {
    let (tx, rx) = oneshot::channel();
    let ledger = Ledger::new(1, 1, fault);
    let (made, got) = (ledger.clone(), ledger.clone());
    let sender = cx.spawn_anywhere(|inner| send(inner, tx, made));
    let receiver = cx.spawn_anywhere(|inner| receive(inner, rx, got));
    if cx.rand.once_in(6) {
        abort(&sender);
    }
    let (sent, received) = (join(sender).await, join(receiver).await);
    let fits = match (sent, received) {
        // One was aborted.
        (None, _) | (_, None) => true,
        (Some(Sent::Yes), Some(received)) => matches!(received, Received::Yes | Received::Left),
        (Some(Sent::Back), Some(received)) => {
            matches!(received, Received::Closed | Received::Left)
        }
        (Some(Sent::Never), Some(received)) => received != Received::Yes,
    };
    if !fits {
        violation(format!("a oneshot value: {sent:?}, but {received:?}"));
    }
    if let Err(faults) = ledger.judge() {
        violation(format!("a oneshot channel: {faults}"));
    }
}
