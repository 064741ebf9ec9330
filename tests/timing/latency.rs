//! Latency of a goroutine that becomes ready.

use crate::alone;
use crate::support::runtime;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The best of a hundred sleeps: the OS may delay some, but a millisecond clock delays all.
#[test]
fn sub_millisecond_sleeps_are_honoured() {
    let _alone = alone();
    let sleep = || async {
        let start = Instant::now();
        gmp::sleep(Duration::from_micros(100)).await;
        start.elapsed()
    };
    let runtime = runtime(2);
    let best = (0..100).map(|_| gmp::block_on(runtime.spawn(sleep())).unwrap()).min().unwrap();
    assert!(best < Duration::from_micros(900), "100 us took at best {best:?}");
}

/// Computes for three milliseconds at a time, counts these chunks, and yields after each.
async fn compute_in_chunks(chunks: Arc<AtomicU64>) {
    loop {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(3) {
            std::hint::spin_loop();
        }
        chunks.fetch_add(1, Ordering::Relaxed);
        gmp::yield_now().await;
    }
}

/// A goroutine that an external thread, a timer or a socket wakes does not wait for the global
/// check, which comes every 61 polls.
#[test]
fn external_events_run_before_long_polls() {
    let _alone = alone();
    let runtime = runtime(1);
    let chunks = Arc::new(AtomicU64::new(0));
    for _ in 0..4 {
        drop(runtime.spawn(compute_in_chunks(chunks.clone())));
    }
    let (ask, asked) = gmp::chan::<u64>(0);
    let (tell, told) = gmp::chan(1);
    let seen = chunks.clone();
    drop(runtime.spawn(async move {
        while let Ok(before) = asked.recv().await {
            tell.send(seen.load(Ordering::Relaxed) - before).await.unwrap();
        }
    }));
    let from_outside = (0..15).map(|_| {
        ask.send_blocking(chunks.load(Ordering::Relaxed)).unwrap();
        told.recv_blocking().unwrap()
    });
    let from_outside = median(from_outside.collect());
    let by_others = gmp::block_on(runtime.spawn(async move {
        let (mut timers, mut sockets) = (Vec::new(), Vec::new());
        let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().await.unwrap();
        for _ in 0..15 {
            let before = chunks.load(Ordering::Relaxed);
            gmp::sleep(Duration::from_millis(1)).await;
            timers.push(chunks.load(Ordering::Relaxed) - before);
            // The first poll finds nothing and waits.
            let mut buf = [0; 1];
            let mut wait = std::pin::pin!(server.read_exact(&mut buf));
            let first = std::future::poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx))).await;
            assert!(first.is_pending());
            client.write_all(b"x").unwrap();
            let before = chunks.load(Ordering::Relaxed);
            wait.await.unwrap();
            sockets.push(chunks.load(Ordering::Relaxed) - before);
        }
        (median(timers), median(sockets))
    }));
    let (by_timer, by_socket) = by_others.unwrap();
    let all = [from_outside, by_timer, by_socket];
    // None or one if sysmon is on time. With the global check alone it is 30 on average.
    assert!(all.iter().all(|chunks| *chunks <= 10), "waited for {all:?} polls of others");
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// External events do not starve the goroutines that compute.
#[test]
fn long_polls_run_beside_external_events() {
    let _alone = alone();
    let runtime = runtime(1);
    let (chunks, served) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    drop(runtime.spawn(compute_in_chunks(chunks.clone())));
    let (ask, asked) = gmp::chan::<()>(0);
    for _ in 0..8 {
        let (asked, served) = (asked.clone(), served.clone());
        drop(runtime.spawn(async move {
            while let Ok(()) = asked.recv().await {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(2) {
                    std::hint::spin_loop();
                }
                served.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    // A receiver that waits is woken at once, all the time.
    let (before, waited_before) = (chunks.load(Ordering::Relaxed), waited());
    while chunks.load(Ordering::Relaxed) < before + 5 {
        let _ = ask.try_send(());
        let served = served.load(Ordering::Relaxed);
        // All eight may run before each chunk; some run before the first one. They also run while
        // the thread of a chunk waits for a CPU.
        let is_fair = || served <= 150 + (waited() - waited_before).as_millis() as u64 / 2;
        assert!(served <= 150 || is_fair(), "{served} wake-ups were served before five chunks");
    }
}

/// Returns the time for which worker threads were runnable without a CPU.
fn waited() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use crate::idle::{cpu_and_wait, threads};
        cpu_and_wait(&threads(|name| name.starts_with("gmp-m"))).1
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}
