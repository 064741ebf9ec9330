//! All forms of sending and receiving one value.

use crate::coverage::{End, did};
use crate::ledger::{Ledger, Token};
use crate::rand::Rand;
use crate::violation::violation;
use futures::{SinkExt, StreamExt};
use gmp::chan::{
    Receiver, RecvTimeoutError, SelectCase, SendError, SendTimeoutError, Sender, TryRecvError,
    TrySendError, recv_any, select_cases,
};
use gmp::select;
use std::time::Duration;

/// The result of an attempt to send.
#[derive(Debug)]
pub(crate) enum Sent {
    Yes,
    /// Not possible now. The value is returned.
    Back(Token),
    /// Closed. The value is returned.
    Closed(Token),
    /// The value was dropped, with a future at its limit or with an error of a sink.
    Dropped,
}

/// The result of an attempt to receive.
#[derive(Debug)]
pub(crate) enum Got {
    Value(Token),
    Nothing,
    Closed,
}

/// Whether an attempt may block the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    Allowed,
    No,
}

fn after_send(
    call: &'static str,
    ledger: &Ledger,
    sent: Sent,
    origin: crate::ledger::Origin,
) -> Sent {
    match &sent {
        Sent::Yes => {
            ledger.sent(origin);
            did(call, End::Ok);
        }
        Sent::Back(token) => {
            ledger.returned(token, origin);
            did(call, End::Not);
        }
        Sent::Closed(token) => {
            ledger.returned(token, origin);
            did(call, End::Closed);
        }
        Sent::Dropped => did(call, End::Timeout),
    }
    sent
}

fn plain(result: Result<(), SendError<Token>>) -> Sent {
    match result {
        Ok(()) => Sent::Yes,
        Err(SendError(token)) => Sent::Closed(token),
    }
}

/// Sends `token` in a random form. Every form ends, also without a receiver.
pub(crate) async fn send(
    tx: &mut Sender<Token>,
    token: Token,
    ledger: &Ledger,
    rand: &mut Rand,
    blocking: Blocking,
) -> Sent {
    let origin = token.origin();
    let limit = rand.micros(300);
    let (call, sent) = match rand.below(10) {
        0 | 1 => ("Sender::send", plain(Sender::send(tx, token).await)),
        2 => ("Sender::try_send", try_send(tx, token)),
        3 => ("Sender::send_timeout", send_timeout(tx, token, limit).await),
        4 if blocking == Blocking::Allowed => {
            ("Sender::send_blocking", plain(tx.send_blocking(token)))
        }
        5 => ("select! send", select_send(tx, token, limit).await),
        6 => ("select! send default", select_send_default(tx, token).await),
        7 => ("select_cases send", cases_send(tx, token, limit).await),
        8 => ("Sink::send", sink_send(tx, token).await),
        _ => match gmp::timeout(limit, Sender::send(tx, token)).await {
            Ok(result) => ("timeout of Sender::send", plain(result)),
            Err(_) => ("timeout of Sender::send", Sent::Dropped),
        },
    };
    after_send(call, ledger, sent, origin)
}

fn try_send(tx: &Sender<Token>, token: Token) -> Sent {
    match tx.try_send(token) {
        Ok(()) => Sent::Yes,
        Err(TrySendError::Full(token)) => Sent::Back(token),
        Err(TrySendError::Closed(token)) => Sent::Closed(token),
    }
}

async fn send_timeout(tx: &Sender<Token>, token: Token, limit: Duration) -> Sent {
    match tx.send_timeout(token, limit).await {
        Ok(()) => Sent::Yes,
        Err(SendTimeoutError::Timeout(token)) => Sent::Back(token),
        Err(SendTimeoutError::Closed(token)) => Sent::Closed(token),
    }
}

/// Takes the value of a send case that was chosen.
fn taken(slot: &mut Option<Token>) -> Token {
    slot.take().unwrap_or_else(|| violation("select! evaluated the value of a send twice"))
}

/// Takes the value back after another case was chosen.
fn kept(slot: &mut Option<Token>) -> Sent {
    match slot.take() {
        Some(token) => Sent::Back(token),
        None => violation("select! evaluated the value of a send that it did not choose"),
    }
}

async fn select_send(tx: &Sender<Token>, token: Token, limit: Duration) -> Sent {
    let mut slot = Some(token);
    select! {
        sent = tx.send(taken(&mut slot)) => plain(sent),
        () = gmp::sleep(limit) => kept(&mut slot),
    }
}

async fn select_send_default(tx: &Sender<Token>, token: Token) -> Sent {
    let mut slot = Some(token);
    select! {
        sent = tx.send(taken(&mut slot)) => plain(sent),
        default => kept(&mut slot),
    }
}

async fn cases_send(tx: &Sender<Token>, token: Token, limit: Duration) -> Sent {
    let slot = parking_lot::Mutex::new(Some(token));
    let lock = || slot.lock();
    let send = SelectCase::send(tx, || taken(&mut lock()), |sent| Some(plain(sent)));
    let sleep = SelectCase::future(gmp::sleep(limit), |()| None);
    match select_cases([send, sleep]).await.1 {
        Some(sent) => sent,
        None => kept(&mut lock()),
    }
}

async fn sink_send(tx: &mut Sender<Token>, token: Token) -> Sent {
    match SinkExt::send(tx, token).await {
        Ok(()) => Sent::Yes,
        // The error of a sink has no value.
        Err(_) => Sent::Dropped,
    }
}

/// Receives in a random form.
pub(crate) async fn receive(
    rx: &mut Receiver<Token>,
    ledger: &Ledger,
    rand: &mut Rand,
    forms: Forms,
) -> Got {
    let limit = rand.micros(300);
    let bound = if forms == Forms::All { 12 } else { 6 };
    let (call, got) = match rand.below(bound) {
        0 | 1 => ("Receiver::recv", closed_or(rx.recv().await.ok())),
        2 => ("Receiver::try_recv", try_recv(rx)),
        3 => ("select! recv default", select_default(rx).await),
        4 => ("Stream::next", closed_or(rx.next().await)),
        5 => ("Receiver::try_iter", rx.try_iter().next().map_or(Got::Nothing, Got::Value)),
        6 => ("Receiver::recv_timeout", recv_timeout(rx, limit).await),
        7 => ("select! recv", select_recv(rx, limit).await),
        8 => ("select! recv, if", select_guarded(rx, limit, rand.once_in(2)).await),
        9 => ("select_cases recv", cases_recv(rx, limit).await),
        10 => ("recv_any", any_recv(rx, limit).await),
        _ => match gmp::timeout(limit, rx.recv()).await {
            Ok(result) => ("timeout of Receiver::recv", closed_or(result.ok())),
            Err(_) => ("timeout of Receiver::recv", Got::Nothing),
        },
    };
    match &got {
        Got::Value(token) => {
            ledger.received(token);
            did(call, End::Ok);
        }
        Got::Nothing => did(call, End::Not),
        Got::Closed => did(call, End::Closed),
    }
    got
}

/// The forms of receiving that [`receive`] draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forms {
    All,
    /// No form that can be cancelled after a value was handed to it.
    Uncancelled,
}

fn closed_or(value: Option<Token>) -> Got {
    value.map_or(Got::Closed, Got::Value)
}

fn try_recv(rx: &Receiver<Token>) -> Got {
    match rx.try_recv() {
        Ok(token) => Got::Value(token),
        Err(TryRecvError::Empty) => Got::Nothing,
        Err(TryRecvError::Closed) => Got::Closed,
    }
}

async fn recv_timeout(rx: &Receiver<Token>, limit: Duration) -> Got {
    match rx.recv_timeout(limit).await {
        Ok(token) => Got::Value(token),
        Err(RecvTimeoutError::Timeout) => Got::Nothing,
        Err(RecvTimeoutError::Closed) => Got::Closed,
    }
}

async fn select_default(rx: &Receiver<Token>) -> Got {
    select! {
        got = rx.recv() => closed_or(got.ok()),
        default => Got::Nothing,
    }
}

async fn select_recv(rx: &Receiver<Token>, limit: Duration) -> Got {
    select! {
        got = rx.recv() => closed_or(got.ok()),
        got = rx.recv() => closed_or(got.ok()),
        () = gmp::sleep(limit) => Got::Nothing,
    }
}

async fn select_guarded(rx: &Receiver<Token>, limit: Duration, open: bool) -> Got {
    select! {
        got = rx.recv(), if open => {
            if !open {
                violation("select! chose a case whose condition is false");
            }
            closed_or(got.ok())
        },
        () = gmp::sleep(limit) => Got::Nothing,
    }
}

async fn cases_recv(rx: &Receiver<Token>, limit: Duration) -> Got {
    let recv = SelectCase::recv(rx, |got: Result<Token, _>| closed_or(got.ok()));
    let sleep = SelectCase::future(gmp::sleep(limit), |()| Got::Nothing);
    select_cases([recv, sleep]).await.1
}

/// Receives beside a channel that stays empty.
async fn any_recv(rx: &Receiver<Token>, limit: Duration) -> Got {
    let (_tx, empty) = gmp::chan(1);
    match gmp::timeout(limit, recv_any(&[rx.clone(), empty])).await {
        Ok((0, result)) => closed_or(result.ok()),
        Ok((index, _)) => {
            violation(format_args!("recv_any chose channel {index}, which is open and empty"))
        }
        Err(_) => Got::Nothing,
    }
}
