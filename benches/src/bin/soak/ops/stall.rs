//! Goroutines that block or hog their thread.

use crate::context::{Cx, join};
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use std::time::{Duration, Instant};

/// Blocks the thread in one of several ways.
pub(crate) async fn block(mut cx: Cx) {
    let span = cx.rand.micros(3000);
    let start = Instant::now();
    match cx.rand.below(6) {
        0 => {
            std::thread::sleep(span);
            did("an unmarked blocking call", End::Ok);
        }
        1 => {
            gmp::block_in_place(|| std::thread::sleep(span));
            did("block_in_place", End::Ok);
        }
        2 => {
            gmp::block_on(gmp::sleep(span));
            did("block_on in a goroutine", End::Ok);
        }
        3 => {
            // Waits on a lock, which the OS reports as another kind of sleep.
            let (_tx, rx) = std::sync::mpsc::channel::<()>();
            let _ = rx.recv_timeout(span);
            did("an unmarked wait for a lock", End::Ok);
        }
        4 => {
            let inner = cx.home.handle.block_on(async {
                gmp::sleep(span).await;
                5
            });
            if inner != 5 {
                violation("Handle::block_on returned another value");
            }
            did("Handle::block_on", End::Ok);
        }
        _ => {
            let home = cx.rand.pick(&crate::world::the_world().homes);
            home.handle.block_on(gmp::sleep(span));
            did("Handle::block_on of another runtime", End::Ok);
        }
    }
    if start.elapsed() < span {
        violation(format!("a call that blocks for {span:?} ended after {:?}", start.elapsed()));
    }
}

/// Uses the CPU for longer than a slice, with and without checkpoints.
pub(crate) async fn hog(mut cx: Cx) {
    let span = Duration::from_micros(cx.rand.below(15_000));
    let start = Instant::now();
    let polite = cx.rand.once_in(2);
    while start.elapsed() < span {
        for _ in 0..200 {
            std::hint::spin_loop();
        }
        if polite {
            gmp::checkpoint().await;
            did("checkpoint", End::Ok);
        }
    }
    did("a goroutine that computes", End::Ok);
}

/// Runs closures by `spawn_blocking`: some panic, some are aborted before they begin.
pub(crate) async fn spawn_blocking(mut cx: Cx) {
    let mut calls = Vec::new();
    for n in 0..1 + cx.rand.below(6) {
        let (span, panics) = (cx.rand.micros(2000), cx.rand.once_in(8));
        let call = gmp::spawn_blocking(move || {
            std::thread::sleep(span);
            if panics {
                expected_panic();
            }
            n
        });
        if cx.rand.once_in(4) {
            call.abort();
        }
        calls.push((n, call));
    }
    for (n, call) in calls {
        match call.await {
            Ok(m) if m == n => did("spawn_blocking", End::Ok),
            Ok(m) => violation(format!("spawn_blocking {n} returned {m}")),
            Err(error) if error.is_panic() => did("spawn_blocking", End::Panicked),
            Err(_) => did("spawn_blocking", End::Cancelled),
        }
    }
}

/// Ready goroutines run while another one blocks in an unmarked call.
pub(crate) async fn block_beside_work(mut cx: Cx) {
    let span = cx.rand.micros(20_000);
    let blocker = cx.spawn(async move { std::thread::sleep(span) });
    let others: Vec<_> = (0..8).map(|n| cx.spawn(async move { n })).collect();
    for child in others {
        join(child).await;
    }
    join(blocker).await;
}

/// Blocks more goroutines than `max_blocking_threads` on a runtime of its own.
pub(crate) async fn block_past_max_blocking_threads(cx: Cx) {
    drop(cx);
    let done = gmp::spawn_blocking(|| {
        let runtime = gmp::runtime::Builder::new().max_procs(2).max_blocking_threads(8).build();
        let Ok(runtime) = runtime else {
            violation("a runtime with 8 blocking threads is not built")
        };
        let (tx, rx) = gmp::chan::<u64>(0);
        let receivers: Vec<_> = (0..16)
            .map(|_| {
                let rx = rx.clone();
                runtime.spawn(async move { rx.iter_blocking().sum::<u64>() })
            })
            .collect();
        let sender = runtime.spawn(async move {
            for n in 0..100 {
                let _ = tx.send(n).await;
            }
        });
        let sum: u64 = gmp::block_on(async {
            let _ = sender.await;
            let mut sum = 0;
            for receiver in receivers {
                sum += receiver.await.unwrap_or_default();
            }
            sum
        });
        if sum != 4950 {
            violation(format!("blocked receivers got {sum}"));
        }
    });
    let _ = done.await;
    did("Builder::max_blocking_threads exceeded", End::Ok);
}

/// A loop of ready operations under `timeout` ends in `block_on` as well.
pub(crate) async fn busy_timeout_in_block_on(cx: Cx) {
    let handle = cx.home.handle.clone();
    let ended = gmp::spawn_blocking(move || {
        handle.block_on(gmp::timeout(Duration::from_millis(2), async {
            let (tx, rx) = gmp::chan(1);
            loop {
                let _ = (tx.send(1).await, rx.recv().await);
            }
        }))
    });
    let ended: Result<Result<(), _>, _> = ended.await;
    if let Ok(Ok(())) = ended {
        violation("an endless loop returned");
    }
    did("timeout of a busy loop in block_on", End::Timeout);
}
