//! `select!` over several channels.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::ledger::{Ledger, Origin, Token};
use crate::ops::chan::drain;
use crate::violation::{fault, violation};
use gmp::chan::{Receiver, SelectCase, SendError, Sender, select_cases};
use gmp::select;
use std::sync::Arc;

type Ends = Vec<(Sender<Token>, Receiver<Token>)>;

/// Goroutines that each wait for all of several channels, to send and to receive at once.
pub(crate) async fn crossing(mut cx: Cx) {
    let channels: Arc<Ends> = Arc::new((0..3).map(|_| gmp::chan(cx.rand.size(2))).collect());
    let (workers, count) = (2 + cx.rand.size(4), 1 + cx.rand.size(12));
    let ledger = Ledger::new(workers, count, fault);
    let mut children = Vec::new();
    for id in 0..workers {
        let (channels, ledger) = (channels.clone(), ledger.clone());
        children.push(cx.spawn_anywhere(|cx| cross(cx, channels, ledger, id, count)));
    }
    if cx.rand.once_in(2) {
        cx.pause().await;
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
    for (_, rx) in channels.iter() {
        rx.close();
        drain(rx, &ledger);
    }
    if let Err(faults) = ledger.judge() {
        violation(faults);
    }
}

/// Sends `count` values to the first or second channel while it receives from any.
async fn cross(mut cx: Cx, channels: Arc<Ends>, ledger: Arc<Ledger>, id: usize, count: usize) {
    let [(t0, r0), (t1, r1), (_, r2)] = &channels[..] else { violation("three channels") };
    for number in 0..count {
        let origin = Origin { sender: id, number };
        let mut slot = Some(ledger.make(origin));
        for _ in 0..8 {
            let limit = cx.rand.micros(200);
            select! {
                sent = t0.send(take(&mut slot)) => note_sent(&ledger, origin, sent),
                sent = t1.send(take(&mut slot)) => note_sent(&ledger, origin, sent),
                got = r0.recv() => note_got(&ledger, got.ok()),
                got = r1.recv() => note_got(&ledger, got.ok()),
                got = r2.recv() => note_got(&ledger, got.ok()),
                () = gmp::sleep(limit) => did("select! of five", End::Timeout),
            }
            if slot.is_none() {
                break;
            }
        }
        if let Some(token) = slot {
            ledger.returned(&token, origin);
        }
        if cx.rand.once_in(2) {
            cases(&channels, &ledger, cx.rand.micros(200)).await;
        }
    }
}

fn take(slot: &mut Option<Token>) -> Token {
    slot.take().unwrap_or_else(|| violation("select! evaluated the value of a send twice"))
}

fn note_sent(ledger: &Ledger, origin: Origin, sent: Result<(), SendError<Token>>) {
    match sent {
        Ok(()) => {
            ledger.sent(origin);
            did("select! of five", End::Ok);
        }
        Err(SendError(token)) => {
            ledger.returned(&token, origin);
            did("select! of five", End::Closed);
        }
    }
}

fn note_got(ledger: &Ledger, got: Option<Token>) {
    if let Some(token) = got {
        ledger.received(&token);
    }
    did("select! of five", End::Ok);
}

async fn cases(channels: &Ends, ledger: &Ledger, limit: std::time::Duration) {
    let mut cases: Vec<SelectCase<'_, Option<Token>>> =
        channels.iter().map(|(_, rx)| SelectCase::recv(rx, Result::ok)).collect();
    if limit.as_micros().is_multiple_of(2) {
        cases.push(SelectCase::default(|| None));
    } else {
        cases.push(SelectCase::future(gmp::sleep(limit), |()| None));
    }
    let (place, got) = select_cases(cases).await;
    if let Some(token) = &got {
        ledger.received(token);
    }
    if place > channels.len() {
        violation(format!("select_cases chose case {place} of {}", channels.len() + 1));
    }
    did("select_cases of four", if got.is_some() { End::Ok } else { End::Not });
}

/// A case that is ready is chosen before `default`, also if several cases have one channel.
pub(crate) async fn default_last(mut cx: Cx) {
    let (tx, rx) = gmp::chan(1);
    let (empty_tx, empty) = gmp::chan::<u32>(0);
    for n in 0..1 + cx.rand.below(10) as u32 {
        if tx.send(n).await.is_err() {
            violation("a channel is closed although its receiver lives");
        }
        let got = select! {
            got = rx.recv() => got.ok(),
            got = rx.recv() => got.ok(),
            got = empty.recv() => got.ok(),
            _ = empty_tx.send(7) => None,
            default => None,
        };
        if got != Some(n) {
            violation(format!("select! chose {got:?} although {n} was ready"));
        }
        did("select! with a ready case and default", End::Ok);
    }
}
