//! Properties of the scheduler, after Go's `proc_test.go`.

use super::support::runtime;
use gmp::go;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// `TestYieldProgress`: who spins and yields lets others come.
#[gmp::test(procs = 1)]
async fn yield_makes_progress() {
    let flag = Arc::new(AtomicBool::new(false));
    let setter = flag.clone();
    let spinner = go!({
        while !flag.load(Ordering::Relaxed) {
            gmp::yield_now().await;
        }
    });
    go!({ setter.store(true, Ordering::Relaxed) }).await.unwrap();
    spinner.await.unwrap();
}

/// `TestGoroutineParallelism`: as many goroutines as Ps, each busy-waiting for the one before,
/// without an await in between: only if all run at once does it end.
#[test]
fn goroutines_run_in_parallel() {
    let procs = 4;
    let runtime = runtime(procs);
    for _ in 0..20 {
        let turn = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..procs)
            .map(|n| {
                let turn = turn.clone();
                runtime.spawn(async move {
                    for round in 0..10 {
                        while turn.load(Ordering::Acquire) != round * procs + n {
                            std::thread::yield_now();
                        }
                        turn.fetch_add(1, Ordering::AcqRel);
                    }
                })
            })
            .collect();
        for handle in handles {
            gmp::block_on(handle).unwrap();
        }
    }
}

/// The same started from inside a goroutine: the wake-ups come from local pushes.
#[test]
fn goroutines_spawned_inside_run_in_parallel() {
    let procs = 3;
    let runtime = runtime(procs);
    for _ in 0..20 {
        let handle = runtime.spawn(async move {
            let arrived = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = (0..procs)
                .map(|_| {
                    let arrived = arrived.clone();
                    go!({
                        arrived.fetch_add(1, Ordering::AcqRel);
                        while arrived.load(Ordering::Acquire) < procs {
                            std::thread::yield_now();
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.await.unwrap();
            }
        });
        gmp::block_on(handle).unwrap();
    }
}

/// `TestPingPongHog`: with one P, a pair that keeps waking each other through `runnext` shares
/// one slice, so a pair of yielders beside it gets its turns.
#[gmp::test(procs = 1)]
async fn a_runnext_pair_does_not_starve_the_ring() {
    use futures::channel::mpsc;
    use futures::{SinkExt, StreamExt};
    let stop = Arc::new(AtomicBool::new(false));
    let (mut ping, mut ping_rx) = mpsc::channel::<()>(1);
    let (mut pong, mut pong_rx) = mpsc::channel::<()>(1);
    let stopped = stop.clone();
    let hog = go!({
        let mut rounds = 0u64;
        while !stopped.load(Ordering::Relaxed) {
            ping.send(()).await.unwrap();
            pong_rx.next().await;
            rounds += 1;
        }
        rounds
    });
    let echo = go!({
        while ping_rx.next().await.is_some() {
            if pong.send(()).await.is_err() {
                break;
            }
        }
    });
    let light = go!({
        for _ in 0..20 {
            gmp::yield_now().await;
        }
    });
    light.await.unwrap();
    stop.store(true, Ordering::Relaxed);
    assert!(hog.await.unwrap() > 0);
    echo.await.unwrap();
}

/// The same with a pair that does nothing but wake each other: `runnext` is never empty, so only
/// the end of their common slice lets the third come.
#[gmp::test(procs = 1)]
async fn a_pair_that_only_wakes_each_other_gives_way() {
    use std::sync::Mutex;
    use std::task::{Poll, Waker};
    let stop = Arc::new(AtomicBool::new(false));
    let wakers: Arc<Mutex<[Option<Waker>; 2]>> = Arc::default();
    let player = |me: usize| {
        let (stop, wakers) = (stop.clone(), wakers.clone());
        std::future::poll_fn(move |cx| {
            let partner = {
                let mut wakers = wakers.lock().unwrap();
                wakers[me] = Some(cx.waker().clone());
                wakers[1 - me].take()
            };
            if let Some(partner) = partner {
                partner.wake();
            }
            if stop.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    let start = Instant::now();
    let pair = [go!(player(0)), go!(player(1))];
    let third = stop.clone();
    let third = go!({
        // Behind the pair, on the ring.
        gmp::yield_now().await;
        third.store(true, Ordering::Relaxed);
    });
    third.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "took {:?}", start.elapsed());
    for player in pair {
        player.await.unwrap();
    }
}

/// A goroutine from outside gets its turn although the local queue is never empty.
#[test]
fn the_inbox_is_not_starved() {
    let runtime = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let hogs: Vec<_> = (0..10)
        .map(|_| {
            let stop = stop.clone();
            runtime.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    gmp::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..100 {
        gmp::block_on(runtime.spawn(async {})).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for hog in hogs {
        gmp::block_on(hog).unwrap();
    }
}

/// Timers fire although goroutines keep the P busy.
#[gmp::test(procs = 1)]
async fn timers_fire_under_load() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let hog = go!({
        while !stopped.load(Ordering::Relaxed) {
            gmp::yield_now().await;
        }
    });
    let start = Instant::now();
    for _ in 0..10 {
        gmp::sleep(Duration::from_millis(1)).await;
    }
    assert!(start.elapsed() >= Duration::from_millis(10));
    stop.store(true, Ordering::Relaxed);
    hog.await.unwrap();
}

/// A burst that overflows the ring loses nothing.
#[test]
fn overflow_loses_nothing() {
    for procs in [1, 2, 4] {
        let runtime = runtime(procs);
        let sum = Arc::new(AtomicU64::new(0));
        let total = sum.clone();
        runtime.block_on(async move {
            let burst = go!({
                let handles: Vec<_> = (0..5000u64)
                    .map(|n| {
                        let sum = sum.clone();
                        go!({ sum.fetch_add(n, Ordering::Relaxed) })
                    })
                    .collect();
                for handle in handles {
                    handle.await.unwrap();
                }
            });
            burst.await.unwrap();
        });
        assert_eq!(total.load(Ordering::Relaxed), 4999 * 2500);
        assert!(procs > 1 || runtime.handle().stats().overflows > 0, "the ring did not overflow");
    }
}

/// `TestBigGOMAXPROCS`: as many Ps as there may be.
#[test]
fn a_thousand_procs() {
    let runtime = gmp::Builder::new().max_procs(1024).max_threads(1024).build().expect("a runtime");
    let handles: Vec<_> = (0..2000).map(|n| runtime.spawn(async move { n })).collect();
    let sum: u64 = handles.into_iter().map(|handle| gmp::block_on(handle).unwrap()).sum();
    assert_eq!(sum, 1999 * 1000);
}

/// A tree of goroutines on every number of Ps.
#[test]
fn skynet_in_small() {
    fn node(base: u64, size: u64) -> futures::future::BoxFuture<'static, u64> {
        Box::pin(async move {
            if size == 1 {
                return base;
            }
            let step = size / 10;
            let children: Vec<_> = (0..10).map(|n| go!(node(base + n * step, step))).collect();
            let mut sum = 0;
            for child in children {
                sum += child.await.unwrap();
            }
            sum
        })
    }
    for procs in 1..=4 {
        let runtime = runtime(procs);
        let sum = gmp::block_on(runtime.spawn(node(0, 10_000))).unwrap();
        assert_eq!(sum, 9999 * 5000);
        assert_eq!(runtime.handle().num_goroutine(), 0);
    }
}

/// Computes for a few milliseconds again and again, and counts; gives way between.
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

/// 61 polls are a long time if each is. Who is woken from outside, by a timer or by a socket does not wait for
/// so many.
#[test]
fn long_polls_let_others_in() {
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
            // Nothing is there, so it waits; then there is.
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
    // One or none, but on a busy machine sysmon comes late too. By counting to 61 it would be some 30.
    assert!(all.iter().all(|chunks| *chunks <= 10), "waited for {all:?} polls of others");
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Nor do those wait for long who computed, however much comes from outside.
#[test]
fn who_computes_goes_on_beside_those_let_in() {
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
    // Whoever waits is woken at once, all the time.
    let before = chunks.load(Ordering::Relaxed);
    while chunks.load(Ordering::Relaxed) < before + 5 {
        let _ = ask.try_send(());
        let served = served.load(Ordering::Relaxed);
        // All eight may come first each time; some were served before the first chunk.
        assert!(served <= 150, "{served} were served first");
    }
}

/// One alone on its P gives way to those on the global queue, at once and not every 61st time.
#[test]
fn yield_gives_way_to_all() {
    const N: usize = 2_000;
    let runtime = runtime(1);
    let yields = gmp::block_on(runtime.spawn(async {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..N {
            let ran = ran.clone();
            go!(async move { ran.fetch_add(1, Ordering::Relaxed) });
        }
        let mut yields = 0;
        while ran.load(Ordering::Relaxed) < N {
            gmp::yield_now().await;
            yields += 1;
        }
        yields
    }));
    let yields = yields.unwrap();
    assert!(yields <= N / 10, "{yields} yields for {N} goroutines");
}

/// Who has had a whole slice comes behind those on the ring, each time.
#[test]
fn who_computed_for_a_slice_does_not_come_first() {
    let runtime = runtime(1);
    for _ in 0..5 {
        let hog = runtime.spawn(async move {
            // The first waits on the ring, the second before it.
            let others = [gmp::spawn(async {}), gmp::spawn(async {})];
            let (start, mut slices) = (Instant::now(), 0);
            while !others.iter().all(gmp::JoinHandle::is_finished) && slices < 50 {
                // Ready at once: gives way only when the slice is over.
                gmp::sleep(Duration::ZERO).await;
                slices = start.elapsed().as_millis() / 10;
            }
            slices
        });
        let slices = gmp::block_on(hog).unwrap();
        assert!(slices < 20, "the others waited for {slices} slices");
    }
}
