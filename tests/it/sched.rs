//! Properties of the scheduler, after Go's `proc_test.go`.

use super::support::{Mutex, runtime, until};
use gmp::go;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// `TestYieldProgress`: a goroutine that spins and yields lets other goroutines run.
#[gmp::test(max_procs = 1)]
async fn a_goroutine_that_spins_and_yields_lets_others_run() {
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

/// `TestGoroutineParallelism`: as many goroutines as Ps, each busy-waiting for the previous one
/// without an await. The test ends only if all run at once.
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

/// The same, spawned inside a goroutine: the wake-ups come from local pushes.
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

/// `TestPingPongHog`: on one P a pair that wakes each other through `runnext` shares one slice. A
/// pair of yielding goroutines beside it still runs.
#[gmp::test(max_procs = 1)]
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

/// The same with a pair that only wakes each other. `runnext` is never empty, so the third
/// goroutine runs only when the shared slice is over.
#[gmp::test(max_procs = 1)]
async fn a_pair_that_only_wakes_each_other_yields_after_a_slice() {
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
    let pair = [go!(player(0)), go!(player(1))];
    let third = stop.clone();
    let third = go!({
        // Behind the pair, on the ring.
        gmp::yield_now().await;
        third.store(true, Ordering::Relaxed);
    });
    third.await.unwrap();
    for player in pair {
        player.await.unwrap();
    }
}

/// A goroutine from an external thread runs although the local queue is never empty.
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
#[gmp::test(max_procs = 1)]
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
fn an_overflow_of_the_ring_loses_nothing() {
    fn burst(runtime: &gmp::Runtime) {
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
    }
    for procs in [1, 2, 4] {
        let runtime = runtime(procs);
        burst(&runtime);
        // Sysmon may hand off the only P before its ring is full, if the thread waits for a lock.
        while procs == 1 && runtime.handle().metrics().total().overflows == 0 {
            burst(&runtime);
        }
    }
}

/// `TestBigGOMAXPROCS`: the maximum number of Ps.
#[test]
fn goroutines_run_on_1024_procs() {
    let runtime = gmp::runtime::Builder::new().max_procs(1024).build().expect("a runtime");
    let handles: Vec<_> = (0..2000).map(|n| runtime.spawn(async move { n })).collect();
    let sum: u64 = handles.into_iter().map(|handle| gmp::block_on(handle).unwrap()).sum();
    assert_eq!(sum, 1999 * 1000);
}

/// A tree of goroutines on every number of Ps.
#[test]
fn a_tree_of_goroutines_runs_on_every_number_of_ps() {
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

/// A goroutine alone on its P yields to the global queue at once, not only at the next global
/// check.
#[test]
fn a_lone_goroutine_yields_to_the_global_queue() {
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

/// A goroutine whose slice is over goes behind the goroutines on the ring.
///
/// On one P only the preempted goroutine is polled before the others have run, so the count of
/// polls is the number of its slices.
#[test]
fn a_preempted_goroutine_runs_after_the_ring() {
    let runtime = runtime(1);
    for _ in 0..5 {
        let handle = runtime.handle().clone();
        let hog = runtime.spawn(async move {
            // The first is on the ring, the second in `runnext`.
            let others = [gmp::spawn(async {}), gmp::spawn(async {})];
            let before = handle.metrics().total().polls;
            while !others.iter().all(gmp::JoinHandle::is_finished) {
                // Ready at once: yields only when the slice is over.
                gmp::sleep(Duration::ZERO).await;
            }
            handle.metrics().total().polls - before
        });
        let polls = gmp::block_on(hog).unwrap();
        assert!(polls <= 8, "the others ran after {polls} polls");
    }
}

/// The number of active Ps changes all the time. Every value arrives and every goroutine ends.
#[test]
fn changing_active_procs_loses_nothing() {
    let runtime = runtime(4);
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for round in 0..40u64 {
            let (tx, rx) = gmp::chan::<u64>(8);
            for n in 0..8 {
                let tx = tx.clone();
                go!(async move {
                    for i in 0..500 {
                        tx.send(n * 500 + i).await.unwrap();
                    }
                    if round % 8 == 0 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                });
            }
            drop(tx);
            while let Ok(value) = rx.recv().await {
                sum += value;
            }
        }
        sum
    });
    assert_eq!(sum, 40 * (4000 * 3999 / 2));
    until(|| runtime.handle().num_goroutine() == 0);
}

/// A thread wakes a goroutine while it runs. The goroutine does not wait for all others on its P.
#[test]
fn an_event_during_a_poll_makes_the_goroutine_a_newcomer() {
    const OTHERS: usize = 200;
    let runtime = runtime(1);
    let (stop, polls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..OTHERS {
        let (stop, polls) = (stop.clone(), polls.clone());
        runtime.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                polls.fetch_add(1, Ordering::Relaxed);
                // As long as the time between two services.
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(50) {
                    std::hint::spin_loop();
                }
                gmp::yield_now().await;
            }
        });
    }
    let (to_thread, wakers) = std::sync::mpsc::channel::<Waker>();
    let woken = Arc::new(AtomicUsize::new(0));
    let wakes = woken.clone();
    std::thread::spawn(move || {
        for waker in wakers {
            waker.wake();
            wakes.fetch_add(1, Ordering::Release);
        }
    });
    let waits = runtime.spawn(async move {
        let mut waits = Vec::new();
        for n in 1..=20 {
            let mut begun = None;
            let wait = poll_fn(|cx| {
                if let Some(before) = begun {
                    return Poll::Ready(polls.load(Ordering::Relaxed) - before);
                }
                to_thread.send(cx.waker().clone()).unwrap();
                while woken.load(Ordering::Acquire) < n {
                    std::hint::spin_loop();
                }
                begun = Some(polls.load(Ordering::Relaxed));
                Poll::Pending
            });
            waits.push(wait.await);
        }
        waits
    });
    let waits = gmp::block_on(waits).unwrap();
    stop.store(true, Ordering::Relaxed);
    // Some may wait for longer, because the thread was descheduled in its poll.
    assert!(waits.iter().any(|polls| *polls < OTHERS / 2), "{waits:?}");
}
