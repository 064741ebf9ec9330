//! Forms of `go!` that compile without a warning, each with the value that it gives.
#![deny(warnings, unused_braces, unused_must_use, unreachable_code)]

use gmp::{JoinHandle, go};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

async fn double(n: u32) -> u32 {
    2 * n
}

fn plain(n: u32) -> u32 {
    n + 1
}

fn value_is(n: u32) -> bool {
    std::hint::black_box(n) == 1
}

async fn value<T>(handle: JoinHandle<T>) -> T {
    handle.await.unwrap()
}

/// Bodies that never return are no futures.
fn endless(flag: bool) -> [JoinHandle<()>; 3] {
    let server = go!({
        loop {
            gmp::yield_now().await;
        }
    });
    let statements = go! {
        if flag {
            return;
        }
        loop {
            gmp::yield_now().await;
        }
    };
    let bare = go! { loop { gmp::yield_now().await; if flag { break; } } };
    // An inner loop ends, the outer one does not.
    go!({
        loop {
            while flag {
                break;
            }
            gmp::yield_now().await;
        }
    })
    .detach();
    [server, statements, bare]
}

/// Compiled and not run: bodies whose last expression diverges.
fn diverging(flag: bool) {
    go!({ panic!("never") });
    go!({ if flag { unreachable!() } else { std::process::exit(1) } });
    go!(|| loop { std::thread::yield_now() });
    go!({ loop { if flag { break 5; } } }).detach();
}

macro_rules! started {
    ($what:expr) => {
        go!($what)
    };
}

#[gmp::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Expressions.
    assert_eq!(value(go!(double(1))).await, 2);
    assert_eq!(value(go!(double(1),)).await, 2);
    assert_eq!(value(go!(async { 1 })).await, 1);
    assert_eq!(value(go!(if true { double(2) } else { double(3) })).await, 4);
    assert_eq!(value(started!(double(4))).await, 8);
    // Blocks, and blocks whose value is a future.
    assert_eq!(value(go!({ plain(1) })).await, 2);
    assert_eq!(value(go!({ plain(1) },)).await, 2);
    assert_eq!(value(go!({ double(1).await })).await, 2);
    assert_eq!(value(go!({ async { 7 } })).await, 7);
    assert_eq!(value(go!({ double(5) })).await, 10);
    assert_eq!(value(started!({ double(5) })).await, 10);
    // A future that is returned, and a function with the name of one that never returns.
    async fn abort(n: u32) -> u32 {
        n
    }
    assert_eq!(value(go!({ if value_is(1) { return double(6); } return double(7); })).await, 12);
    assert_eq!(value(go!({ abort(8) })).await, 8);
    // Statements.
    let ran = Arc::new(AtomicU32::new(0));
    let counter = ran.clone();
    go! { let n = double(2).await; counter.fetch_add(n, Relaxed); }.await?;
    let counter = ran.clone();
    go! { for n in 1..=3 { counter.fetch_add(double(n).await, Relaxed); } }.await?;
    assert_eq!(ran.load(Relaxed), 16);
    assert_eq!(value(go! { let n = 4; double(n) }).await, 8);
    let mut last = 0;
    assert_eq!(value(go! { last += 1; last }).await, 1);
    // Closures, and closures whose value is a future.
    assert_eq!(value(go!(move || plain(1))).await, 2);
    assert_eq!(value(go!(|| plain(1))).await, 2);
    assert_eq!(value(go!(move || -> u32 { 5 })).await, 5);
    assert_eq!(value(go!(|| -> u32 { 5 },)).await, 5);
    assert_eq!(value(go!(move || async move { 6 })).await, 6);
    assert_eq!(value(go!(|| double(3))).await, 6);
    assert_eq!(value(go!(async move || { double(4).await })).await, 8);
    assert_eq!(value(go!(async || double(4).await)).await, 8);
    assert_eq!(value(go!(async move || -> u32 { double(4).await })).await, 8);
    assert_eq!(value(go!(async move || double(4))).await, 8);
    // Options.
    assert_eq!(value(go!(name = "a", double(1))).await, 2);
    assert_eq!(value(go!(name = format!("{}", 1), { double(1) })).await, 2);
    assert_eq!(value(go!(name = "c", move || double(1),)).await, 2);
    let name = "a variable";
    assert_eq!(value(go!(name = name, async move { name.len() })).await, 10);
    // `?` and `return` leave the goroutine.
    let parsed: Result<u32, std::num::ParseIntError> = value(go!({ Ok("5".parse::<u32>()? + 1) })).await;
    assert_eq!(parsed, Ok(6));
    assert_eq!(value(go!({ if last == 0 { return 1; } 2 })).await, 1);
    let _ = diverging;
    for handle in endless(true) {
        handle.abort();
    }
    Ok(())
}
