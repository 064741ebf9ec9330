//! Channels: senders and receivers of one channel, some of which are aborted.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::home::{Child, Lifetime};
use crate::ledger::{Ledger, Origin, Token};
use crate::ops::forms::{Blocking, Forms, Got, Sent, receive, send};
use crate::violation::{expected_panic, fault, violation};
use gmp::chan::{Receiver, Sender};
use std::collections::HashMap;
use std::sync::Arc;

/// Creates a channel of a random capacity.
fn channel(cx: &mut Cx) -> (Sender<Token>, Receiver<Token>) {
    match cx.rand.below(5) {
        4 => {
            did("chan::unbounded", End::Ok);
            gmp::chan::unbounded()
        }
        cap => {
            did("chan", End::Ok);
            gmp::chan(cap as usize)
        }
    }
}

/// Whether the values of one sender arrive at one receiver in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Promised,
    Unknown,
}

/// Several senders and receivers with random forms; some are aborted or panic; the channel may be
/// closed early. At the end the ledger must balance.
pub(crate) async fn traffic(mut cx: Cx) {
    let (tx, rx) = channel(&mut cx);
    let (senders, receivers) = (1 + cx.rand.size(4), 1 + cx.rand.size(4));
    let count = 1 + cx.rand.size(30);
    let ledger = Ledger::new(senders, count, fault);
    let cancels = cx.rand.once_in(2);
    // The end of a guest cancels receivers as well. A cancelled receive returns its value, perhaps
    // after another receiver has received a later one: see `Receiver::recv`.
    let may_cancel = cancels || cx.home.lifetime == Lifetime::Guest;
    let order = match may_cancel && receivers > 1 {
        true => Order::Unknown,
        false => Order::Promised,
    };
    let forms = if cancels { Forms::All } else { Forms::Uncancelled };
    let mut sending: Vec<Child<()>> = Vec::new();
    for sender in 0..senders {
        let (tx, ledger) = (tx.clone(), ledger.clone());
        sending.push(cx.spawn_anywhere(|cx| send_all(cx, tx, ledger, sender, count)));
    }
    let mut receiving: Vec<Child<()>> = Vec::new();
    for _ in 0..receivers {
        let (rx, ledger) = (rx.clone(), ledger.clone());
        receiving.push(cx.spawn_anywhere(|cx| receive_all(cx, rx, ledger, forms, order)));
    }
    if cx.rand.once_in(4) {
        cx.pause().await;
        let closed = tx.close();
        did("Sender::close", if closed { End::Ok } else { End::Not });
    }
    drop(tx);
    if cancels {
        disturb(&mut cx, &sending, &receiving).await;
    }
    for child in sending {
        join(child).await;
    }
    // The last senders are gone, so all receivers end. Values that aborted receivers returned
    // remain.
    for child in receiving {
        join(child).await;
    }
    drain(&rx, &ledger);
    drop(rx);
    if let Err(faults) = ledger.judge() {
        violation(faults);
    }
}

/// Receives the remaining values of a channel that no other goroutine uses.
pub(crate) fn drain(rx: &Receiver<Token>, ledger: &Ledger) {
    while let Ok(token) = rx.try_recv() {
        ledger.received(&token);
    }
}

async fn disturb(cx: &mut Cx, sending: &[Child<()>], receiving: &[Child<()>]) {
    for _ in 0..cx.rand.below(3) {
        cx.pause().await;
        abort(cx.rand.pick(sending));
    }
    // One receiver remains, or the senders would wait forever.
    if receiving.len() > 1 && cx.rand.once_in(2) {
        cx.pause().await;
        abort(cx.rand.pick(receiving));
    }
}

async fn send_all(mut cx: Cx, mut tx: Sender<Token>, ledger: Arc<Ledger>, id: usize, count: usize) {
    for number in 0..count {
        let mut token = ledger.make(Origin { sender: id, number });
        loop {
            let blocking = if cx.rand.once_in(8) { Blocking::Allowed } else { Blocking::No };
            match send(&mut tx, token, &ledger, &mut cx.rand, blocking).await {
                Sent::Yes | Sent::Dropped => break,
                Sent::Closed(_) => return,
                Sent::Back(back) => token = back,
            }
            gmp::yield_now().await;
        }
        if cx.rand.once_in(400) {
            expected_panic();
        }
    }
}

async fn receive_all(
    mut cx: Cx,
    mut rx: Receiver<Token>,
    ledger: Arc<Ledger>,
    forms: Forms,
    order: Order,
) {
    let mut last: HashMap<usize, usize> = HashMap::new();
    loop {
        match receive(&mut rx, &ledger, &mut cx.rand, forms).await {
            Got::Value(token) => {
                let Origin { sender, number } = token.origin();
                let before = last.insert(sender, number);
                if order == Order::Promised && before.is_some_and(|before| before >= number) {
                    violation(format!("value {sender}/{number} arrived after {before:?}"));
                }
            }
            Got::Nothing => gmp::yield_now().await,
            Got::Closed => return,
        }
    }
}

/// External threads send and receive by the blocking calls.
pub(crate) async fn threads(mut cx: Cx) {
    let (tx, rx) = channel(&mut cx);
    let count = 1 + cx.rand.size(40);
    let ledger = Ledger::new(1, count, fault);
    let book = ledger.clone();
    let home = cx.home.handle.clone();
    let sender = std::thread::spawn(move || {
        for number in 0..count {
            let origin = Origin { sender: 0, number };
            let token = book.make(origin);
            match home.block_on(async { tx.send_blocking(token) }) {
                Ok(()) => {
                    book.sent(origin);
                    did("Sender::send_blocking", End::Ok);
                }
                Err(error) => {
                    book.returned(&error.into_inner(), origin);
                    did("Sender::send_blocking", End::Closed);
                    return;
                }
            }
        }
    });
    let (book, form) = (ledger.clone(), cx.rand.below(2));
    let give_up = cx.rand.once_in(4).then(|| cx.rand.size(count));
    let receiver = std::thread::spawn(move || {
        let (mut next, rest) = (0, rx.clone());
        for token in receiving(rx, form).take(give_up.unwrap_or(usize::MAX)) {
            book.received(&token);
            if token.origin().number != next {
                violation(format!("a thread got value {} for {next}", token.origin().number));
            }
            next += 1;
        }
        // Closing first, so that every value whose send succeeded is in the buffer.
        rest.close();
        drain(&rest, &book);
    });
    let joined = gmp::spawn_blocking(move || (sender.join().is_ok(), receiver.join().is_ok()));
    if let Ok((true, true)) = joined.await
        && let Err(faults) = ledger.judge()
    {
        violation(faults);
    }
}

/// The blocking ways to receive all values.
fn receiving(rx: Receiver<Token>, form: u64) -> Box<dyn Iterator<Item = Token>> {
    match form {
        0 => Box::new(std::iter::from_fn(move || {
            let got = rx.recv_blocking();
            did("Receiver::recv_blocking", if got.is_ok() { End::Ok } else { End::Closed });
            got.ok()
        })),
        _ => {
            did("Receiver::iter_blocking", End::Ok);
            Box::new(std::iter::from_fn(move || {
                let mut values = rx.iter_blocking();
                values.next()
            }))
        }
    }
}

/// The calls that inspect a channel agree with the operations on it.
pub(crate) async fn inspect(mut cx: Cx) {
    let cap = cx.rand.size(4);
    let (tx, rx) = gmp::chan::<u64>(cap);
    let (other, more) = (gmp::chan::<u64>(cap).0, tx.clone());
    let filled = (0..=cap as u64).take_while(|n| tx.try_send(*n).is_ok()).count();
    let counts = (tx.sender_count(), tx.receiver_count(), rx.sender_count(), rx.receiver_count());
    let same = (tx.same_channel(&more), tx.same_channel(&other));
    let state = (filled, tx.len(), rx.is_full(), rx.is_empty(), tx.cap());
    if state != (cap, cap, true, cap == 0, Some(cap)) || counts != (2, 1, 2, 1) {
        violation(format!("a channel of {cap}: {state:?}, {counts:?}"));
    }
    if same != (true, false) || tx.is_closed() || !rx.close() || !tx.is_closed() || tx.close() {
        violation(format!("a channel of {cap}: {same:?} or its close is wrong"));
    }
    did("Receiver::close", End::Ok);
    did("Sender::len, cap, counts, same_channel", End::Ok);
    let rest: Vec<u64> = rx.iter_blocking().collect();
    if rest != (0..cap as u64).collect::<Vec<_>>() {
        violation(format!("a closed channel of {cap} had {rest:?}"));
    }
    let (tx, rx) = gmp::chan(cap);
    drop((rx.clone(), rx));
    if tx.receiver_count() != 0 || tx.try_send(1).is_ok() {
        violation("a channel counts receivers that are gone");
    }
}
