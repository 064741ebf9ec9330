//! Forms of `select!` that must compile, each on its own.
#![deny(warnings)]

use gmp::{chan, select};

async fn forms(tx: gmp::chan::Sender<String>, rx: gmp::chan::Receiver<u32>, done: bool) -> u32 {
    // No warning of unused results or variables; a block without a comma, an expression with one.
    select! { _ = rx.recv() => {} default => {} }
    select! { _ = rx.recv() => (), _ = std::future::ready(()), if !done => (), }
    // Attributes of a loop, labels, a value that is moved in one way only.
    let text = String::from("moved");
    'rounds: loop {
        select! {
            sent = tx.send(text) => {
                let _ = sent;
                break 'rounds;
            }
            v = rx.recv() => match v {
                Ok(0) => continue 'rounds,
                Ok(n) => return n,
                Err(_) => break,
            },
        }
    }
    // Of the type of its bodies, `!` included.
    select! {
        v = rx.recv() => v.unwrap_or(7),
        default => return 9,
    }
}

fn main() {
    let (tx, texts) = chan(1);
    let (numbers, rx) = chan(1);
    drop(numbers);
    assert_eq!(gmp::block_on(gmp::spawn(forms(tx, rx, false))).unwrap(), 7);
    drop(texts);
}
