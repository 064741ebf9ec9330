//! Patterns of `select!` that may not match, `else` and `biased;`, without a warning.
#![deny(warnings)]

use gmp::chan::{Receiver, SendError, Sender, chan};
use gmp::select;

#[derive(Debug, PartialEq)]
struct Point {
    x: i32,
    y: i32,
}

const LIMIT: i32 = 7;

async fn patterns(rx: &Receiver<i32>, tx: &Sender<i32>, text: Option<String>) -> i32 {
    select! {
        // Never fails, so the compiler could warn of the comparison.
        Point { x, mut y } = async { Point { x: 1, y: 2 } }, if rx.is_empty() => { y += x; y }
        (Some(a), ref _b) = async { (text, 5) } => a.len() as i32,
        Ok(LIMIT) | Err(_) = rx.recv() => LIMIT,
        Ok(()) = tx.send(1) => 10,
        Err(SendError(returned @ 1..=3)) = tx.send(2) => returned,
        [first, ..] = std::future::ready([1, 2]) => first,
        None = std::future::ready(Some(3)) => 0,
        else => -1,
    }
}

async fn forms(rx: &Receiver<i32>) {
    select! { Ok(_) = rx.recv() => {} else => {} }
    select! { else => {} _ = rx.recv(), if false => {} }
    select! { biased; Ok(1) = rx.recv() => (), default => () }
    select! { biased; else => () }
    select! { default => {} }
    let biased = select! { biased = std::future::ready(1) => biased };
    let default = select! { default = std::future::ready(biased) => default };
    assert_eq!(default, 1);
}

/// No comma where `match` needs none.
async fn commas(rx: &Receiver<i32>, tx: &Sender<i32>) {
    loop {
        select! {
            v = rx.recv() => match v { Ok(_) | Err(_) => {} }
            r = tx.send(1), if true => if r.is_ok() {} else { return }
            _ = tx.send(3), if false => for _ in 0..3 {}
            _ = tx.send(4), if false => while rx.is_closed() {}
            _ = tx.send(5), if false => loop { break }
            _ = tx.send(6), if false => const {}
            _ = tx.send(7), if false => {}
            _ = tx.send(8), if false => if let Ok(_) = rx.try_recv() {}
            default => {}
        }
        let block = select! {
            _ = rx.recv(), if false => unreachable!(),
            _ = std::future::ready(()) => async {}
            default => panic!("a ready future")
        };
        return block.await;
    }
}

fn main() {
    let (tx, rx) = chan(1);
    let (full, _kept) = chan(0);
    let (closed, ended) = chan(0);
    drop(closed);
    let done = gmp::block_on(async {
        forms(&ended).await;
        commas(&ended, &tx).await;
        patterns(&rx, &full, None).await
    });
    assert!([3, LIMIT, 1].contains(&done), "{done}");
}
