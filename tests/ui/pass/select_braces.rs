//! Bodies of `select!` in braces, without a warning of unused braces.
#![deny(warnings, unused_braces)]

use gmp::{chan, select};
use std::time::Duration;

#[gmp::main]
async fn main() {
    let (tx, rx) = chan(1);
    tx.send(1).await.unwrap();
    select! {
        v = rx.recv() => { assert_eq!(v, Ok(1)) }
        _ = gmp::sleep(Duration::from_secs(60)) => { gmp::yield_now().await }
    }
    select! {
        v = rx.recv() => { assert!(v.is_ok()) }
        default => { gmp::yield_now().await }
    }
    let got = select! {
        sent = tx.send(2) => { sent.is_ok() }
        default => { false }
    };
    assert!(got);
    let got = select! {
        v = { rx.recv() } => { v.unwrap() },
        v = async { 3 }, if rx.is_empty() => { v }
    };
    assert_eq!(got, 2);
}
