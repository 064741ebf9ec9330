//! A program that does everything that a trace shows, all the time.

use gmp::sync::{Limit, Mutex, Notify, RateLimiter, broadcast, oneshot, watch};
use gmp::task::{JoinSet, TaskTracker};
use gmp::{Runtime, chan, trace};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The program.
pub(crate) struct Busy {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    stops: AtomicBool,
    /// Rounds of each part.
    rounds: [AtomicUsize; 5],
}

impl Busy {
    /// Starts it.
    pub(crate) fn start() -> Self {
        silence_panics();
        let shared = Arc::new(Shared { stops: AtomicBool::new(false), rounds: Default::default() });
        let parts: [fn(&Runtime); 5] = [storm, talk, block, abort, resize];
        let threads = parts.into_iter().enumerate().map(|(part, run)| {
            let shared = shared.clone();
            thread::spawn(move || {
                // Parts 0 and 1 keep their runtime, the others begin a new one each time.
                let mut kept = None;
                while !shared.stops.load(Relaxed) {
                    let runtime = kept.take().unwrap_or_else(|| build(part));
                    run(&runtime);
                    shared.rounds[part].fetch_add(1, Relaxed);
                    kept = (part < 2).then_some(runtime);
                }
            })
        });
        Self { threads: threads.collect(), shared }
    }

    /// Waits until each part has run that often.
    pub(crate) fn run(&self, rounds: usize) {
        let before = self.shared.rounds.each_ref().map(|count| count.load(Relaxed));
        for (count, before) in self.shared.rounds.iter().zip(before) {
            while count.load(Relaxed) < before + rounds {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Ends it.
    pub(crate) fn stop(self) {
        self.shared.stops.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn build(part: usize) -> Runtime {
    gmp::runtime::Builder::new()
        .max_procs(1 + part % 3)
        .name(format!("busy{part}"))
        .build()
        .unwrap()
}

/// Panics of the program are part of it.
fn silence_panics() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"expected") {
            hook(info);
        }
    }));
}

async fn all<F: Future<Output: Send + 'static> + Send + 'static>(
    futures: impl IntoIterator<Item = F>,
) {
    let handles: Vec<_> = futures.into_iter().map(gmp::spawn).collect();
    for handle in handles {
        assert!(handle.await.is_ok());
    }
}

/// Goroutines that start goroutines.
fn storm(runtime: &Runtime) {
    runtime
        .block_on(gmp::spawn(all((0..20).map(|_| {
            all((0..20).map(|n| async move {
                if n % 5 == 0 {
                    gmp::yield_now().await;
                }
            }))
        }))))
        .unwrap();
}

/// Channels, sockets, locks, timers, and what the program says about itself.
fn talk(runtime: &Runtime) {
    runtime
        .block_on(gmp::spawn(async {
            let lock = Arc::new(Mutex::new(0));
            let (tx, rx) = chan::<usize>(2);
            let (odd_tx, odd_rx) = chan::<usize>(0);
            let receiver = gmp::spawn(async move {
                loop {
                    gmp::select! {
                        n = rx.recv() => if n.is_err() { break },
                        n = odd_rx.recv() => if n.is_err() { break },
                    }
                }
            });
            let only = gmp::spawn(async {
                let (tx, rx) = chan::<()>(0);
                gmp::spawn(async move {
                    gmp::sleep(Duration::from_micros(200)).await;
                    let _ = tx.send(()).await;
                });
                rx.recv().await.unwrap();
            });
            all((0..10).map(|n| {
                let (lock, tx, odd_tx) = (lock.clone(), tx.clone(), odd_tx.clone());
                async move {
                    let task = trace::task("talk");
                    let outer = task.region("outer");
                    for k in 0..5 {
                        let inner = task.region("inner");
                        let sent = if n % 2 == 0 { tx.send(k).await } else { odd_tx.send(k).await };
                        sent.unwrap();
                        let mut locked = lock.lock().await;
                        *locked += 1;
                        gmp::yield_now().await;
                        drop(locked);
                        task.log("sent", k);
                        drop(inner);
                    }
                    drop(outer);
                    gmp::sleep(Duration::from_micros(100 * n)).await;
                }
            }))
            .await;
            only.await.unwrap();
            drop((tx, odd_tx));
            receiver.await.unwrap();
            primitives().await;
            sockets().await;
        }))
        .unwrap();
}

/// Waits for each primitive that has a wait reason of its own.
async fn primitives() {
    let (value_tx, value_rx) = oneshot::channel();
    let (mut unused_tx, unused_rx) = oneshot::channel::<()>();
    let (state_tx, mut state_rx) = watch::channel(0);
    let (news_tx, mut news_rx) = broadcast::channel(4);
    let notify = Arc::new(Notify::new());
    let (tracker, notified) = (TaskTracker::new(), notify.clone());
    let limiter = RateLimiter::new(Limit::every(Duration::from_micros(100)), 1);
    let waits = [
        gmp::spawn(async move { value_rx.await.unwrap() }),
        gmp::spawn(async move { unused_tx.closed().await }),
        gmp::spawn(async move { state_rx.changed().await.unwrap() }),
        gmp::spawn(async move { news_rx.recv().await.unwrap() }),
        gmp::spawn(async move { notified.notified().await }),
    ];
    // Until they wait.
    gmp::sleep(Duration::from_micros(100)).await;
    value_tx.send(()).unwrap();
    drop(unused_rx);
    state_tx.send(1).unwrap();
    news_tx.send(()).unwrap();
    notify.notify_one();
    for wait in waits {
        wait.await.unwrap();
    }
    state_tx.closed().await;
    news_tx.closed().await;
    limiter.wait_n(1).await.unwrap();
    limiter.wait_n(1).await.unwrap();
    let mut members = JoinSet::new();
    let pause = || gmp::sleep(Duration::from_micros(50));
    members.spawn(pause());
    members.join_next().await.unwrap().unwrap();
    drop(tracker.spawn(pause()).unwrap());
    tracker.close();
    tracker.wait().await;
}

async fn sockets() {
    let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = gmp::task::Builder::new().name("server").spawn(async move {
        for _ in 0..4 {
            let (stream, _) = listener.accept().await.unwrap();
            gmp::spawn(async move {
                let mut buffer = [0; 16];
                while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                    stream.write_all(&buffer[..n]).await.unwrap();
                }
            });
        }
    });
    all((0..4).map(|_| async move {
        let stream = gmp::net::TcpStream::connect(address).await.unwrap();
        let mut buffer = [0; 16];
        for _ in 0..5 {
            stream.write_all(b"hello").await.unwrap();
            assert!(stream.read(&mut buffer).await.unwrap() > 0);
        }
    }))
    .await;
    server.await.unwrap();
}

/// Blocks threads: marked, unmarked, and by computing; and hands Ps off.
fn block(runtime: &Runtime) {
    let handle = runtime.handle().clone();
    runtime
        .block_on(gmp::spawn(async move {
            let beside = gmp::spawn(async {
                for _ in 0..200 {
                    gmp::yield_now().await;
                    gmp::sleep(Duration::from_micros(20)).await;
                }
            });
            let pause = || thread::sleep(Duration::from_micros(700));
            let marked = gmp::spawn(async move {
                for n in 0..6 {
                    gmp::block_in_place(|| {
                        if n % 2 == 0 {
                            pause();
                            // Code in a call may start goroutines.
                            gmp::spawn(async {});
                        }
                    });
                    gmp::spawn_blocking(pause).await.unwrap();
                }
            });
            let unmarked = gmp::spawn(async move {
                for _ in 0..3 {
                    pause();
                    gmp::spawn(async {});
                    pause();
                    gmp::yield_now().await;
                }
                let until = Instant::now() + Duration::from_millis(25);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                gmp::spawn(async {}).await.unwrap();
            });
            let inside = gmp::spawn(async move {
                handle.block_on(async {
                    gmp::spawn(async {}).await.unwrap();
                    gmp::sleep(Duration::from_micros(100)).await;
                });
            });
            for part in [beside, marked, unmarked, inside] {
                part.await.unwrap();
            }
        }))
        .unwrap();
}

/// Goroutines that end by abort and panic, and with their runtime; outside threads.
fn abort(runtime: &Runtime) {
    let (tx, rx) = chan::<usize>(1);
    let sum = runtime.spawn(async move {
        let mut sum = 0;
        while let Ok(n) = rx.recv().await {
            sum += n;
        }
        sum
    });
    thread::scope(|scope| {
        for n in 0..3 {
            let tx = tx.clone();
            scope.spawn(move || {
                for _ in 0..20 {
                    tx.send_blocking(n).unwrap();
                    let _detached = runtime.spawn(async move {
                        gmp::sleep(Duration::from_micros(50)).await;
                    });
                }
            });
        }
    });
    drop(tx);
    assert_eq!(runtime.block_on(sum).unwrap(), 60);
    let forever = runtime.spawn(std::future::pending::<()>());
    let panics = runtime.spawn(async {
        gmp::yield_now().await;
        panic!("expected")
    });
    forever.abort();
    assert!(runtime.block_on(forever).is_err() && runtime.block_on(panics).is_err());
    // The end of the runtime drops these.
    for n in 0..20 {
        let _waits = runtime.spawn(async move {
            let _region = trace::region("until the end");
            gmp::sleep(Duration::from_secs(1000 + n)).await;
        });
    }
}

/// Changes the number of Ps while goroutines run.
fn resize(runtime: &Runtime) {
    runtime
        .block_on(gmp::spawn(async {
            let beside = gmp::spawn(all((0..8).map(|_| async {
                for _ in 0..50 {
                    gmp::yield_now().await;
                }
                gmp::block_in_place(|| thread::sleep(Duration::from_micros(300)));
            })));
            for procs in [4, 1, 3, 2, 1] {
                gmp::set_max_procs(procs).unwrap();
                gmp::sleep(Duration::from_micros(100)).await;
            }
            beside.await.unwrap();
        }))
        .unwrap();
}
