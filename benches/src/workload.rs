//! The workloads. Each checks its own result, so that a wrong answer cannot be fast.

use crate::contestant::Contestant;
use crate::row::{Row, median};
use futures::channel::oneshot;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time for which a repeatable workload is repeated.
pub(crate) const SPAN: Duration = Duration::from_millis(400);

/// One figure of a workload: a row of the table.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The suffix of the row's name after the name of the workload.
    suffix: &'static str,
    pub(crate) unit: &'static str,
    /// The description in the table.
    pub(crate) about: &'static str,
}

/// The number of threads that do the work of a workload at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// One goroutine runs at a time. Instruction counts decide whether such a row became worse.
    One,
    /// Several.
    Many,
}

/// A workload.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) figures: &'static [Figure],
    pub(crate) threads: Threads,
    /// Approximate time of one cell. Only the progress line uses it.
    pub(crate) seconds: f64,
}

impl Workload {
    /// The rows of this workload, without figures.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row =
            |figure: &Figure| Row::new(format!("{}{}", self.name, figure.suffix), figure.unit);
        self.figures.iter().map(row).collect()
    }
}

/// The workload with this name.
pub(crate) fn find(name: &str) -> Option<&'static Workload> {
    ALL.iter().find(|workload| workload.name == name)
}

/// The names of all rows of the table, in its order.
pub(crate) fn row_names() -> impl Iterator<Item = String> {
    let names = |workload: &'static Workload| {
        workload.figures.iter().map(|figure| format!("{}{}", workload.name, figure.suffix))
    };
    ALL.iter().flat_map(names)
}

/// The place of a row in the table.
pub(crate) fn position(row: &str) -> Option<usize> {
    row_names().position(|name| name == row)
}

/// The description of a row.
pub(crate) fn describe(row: &str) -> Option<&'static str> {
    let mut figures = ALL.iter().flat_map(|workload| workload.figures);
    position(row).and_then(|at| figures.nth(at)).map(|figure| figure.about)
}

/// Defines the rows of a workload. The fields after `;` have defaults: several threads, 0.6 s.
macro_rules! workloads {
    ($($name:literal: [$($suffix:literal $unit:literal $about:literal),+]
        $(; $threads:ident)? $(; $seconds:literal s)?)*) => {
        &[$(Workload {
            name: $name,
            figures: &[$(Figure { suffix: $suffix, unit: $unit, about: $about }),+],
            threads: workloads!(@threads $($threads)?),
            seconds: workloads!(@seconds $($seconds)?),
        }),*]
    };
    (@threads) => { Threads::Many };
    (@threads $threads:ident) => { Threads::$threads };
    (@seconds) => { 0.6 };
    (@seconds $seconds:literal) => { $seconds };
}

/// The workloads.
pub(crate) const ALL: &[Workload] = workloads! {
    "spawn_many": ["" "ns" "10k goroutines from one, wait for all, each"]
    "spawn_join": ["" "ns" "spawn one and join it, again and again"]; One
    "yield": ["" "ns" "200 goroutines yield 1000 times, each"]
    "chain": ["" "ns" "a goroutine spawns the next, 1000 times, each"]; One
    "skynet": ["" "ns" "a tree of 1.1M goroutines, each"]; 2.5 s
    "sleeps": ["" "ns" "200k goroutines sleep 1 to 50 ms, each (250 is the floor)"]; 0.8 s
    "timeout": ["" "ns" "set a timeout, yield, cancel it"]; One
    "memory": ["" "B" "resident bytes per goroutine, 1M parked on a semaphore"]; 1.0 s
    "wake": ["" "ns" "an external thread wakes a parked goroutine, median"]
    "idle": ["" "us/s" "CPU time while 10k goroutines sleep"]; 3.4 s
    "file": ["" "ns" "read 4 KiB of a cached file, 8 goroutines"]
    "blocked": ["" "us" "worst lateness of a 1 ms sleep beside 4 blocked threads"]
    "hogs2": ["" "us" "worst lateness of a 1 ms sleep beside 2 hogs of 800 ms"]; 0.9 s
    "hogs4": ["" "us" "worst lateness of a 1 ms sleep beside 4 hogs of 800 ms"]; 1.7 s
    "block1ms": ["" "ms" "4 goroutines block 1 ms, unmarked (Tokio, smol: in the pool), join all"]
    "fsync": ["" "us" "write 4 KiB and fsync, unmarked, 4 goroutines, per call"]; 1.0 s
    "small_files": ["" "ns" "write and read a file of 1 KiB, 4 goroutines, per file"]
    "file_1m": ["" "us" "write and read a file of 1 MiB"]
    "walk": ["" "ns" "visit a tree of 1000 files and read their metadata, per file"]
    "process": ["" "us" "start `true` and wait for its end, 4 goroutines, per process"]
    "fork2": ["" "us" "spawn one, both compute 1 ms, join"]
    "bursts": ["_p99" "us" "4 goroutines compute 50 us after 1 ms of rest, 99th percentile",
        "_cpu" "us" "CPU time per burst"]
    "pairs": ["" "ns" "1000 pairs spawn, ping, pong, each"]
    "ping_pong": ["" "ns" "two channels with room for one, there and back"]; One
    "fan_in": ["" "ns" "4 senders, 1 receiver, room for 128, per value"]
    "many": ["" "ns" "4 senders, 4 receivers, room for 128, per value"]
    "rendezvous": ["" "ns" "4 senders, 4 receivers, no buffer, per value"]
    "select": ["" "ns" "select over two channels, per value"]
    "select10": ["" "ns" "select over ten busy channels, per value"]
    "select100": ["" "ns" "select over a hundred busy channels, per value"]; 0.7 s
    "workers": ["" "ns" "8 workers, jobs in, results out, per job"]
    "pipeline": ["" "ns" "ten stages, per value and stage"]
    "pipeline2": ["" "us" "two stages that compute 20 us, room for 16, per item"]
    "oversubscribed": ["" "us" "4 threads and workers per CPU, jobs of 20 us, per job"]
    "mutex": ["" "ns" "32 goroutines on one mutex, per lock"]
    "mutex_compute": ["" "us" "4 goroutines compute 20 us beside 8 on one mutex, per item",
        "_lock" "ns" "the mutex beside computing goroutines, per lock"]
    "broadcast": ["" "ns" "10k goroutines wait for one event, each"]
    "outside": ["" "ns" "10k goroutines from an external thread, each"]
    "join_all": ["" "ns" "100 goroutines that join 100 each, each"]
    "grow_1k": ["" "ns" "1k goroutines spawned, parked, woken, ended, each"]
    "grow_1m": ["" "ns" "1M goroutines spawned, parked, woken, ended, each"]; 3.0 s
    "timers_1m": ["" "ns" "`timeout` beside 1M pending timers"]; 1.8 s
    "echo": ["" "ns" "TCP, 100 connections, 64 bytes there and back"]; 1.4 s
    "bulk": ["" "ms" "TCP, one connection, writes of 64 KiB, per GiB"]; 0.8 s
    "churn": ["" "ns" "TCP: connect, one byte there and back, close; 32 at a time"]; 0.7 s
    "mixed": ["_p50" "us" "echo beside goroutines that compute 5 ms at a time, median",
        "_p99" "us" "echo beside computing goroutines, 99th percentile",
        "_p999" "us" "echo beside computing goroutines, 99.9th percentile"]; 4.1 s
    "http64": ["" "ns" "hyper (Go: net/http) under `wrk`, 64 connections, per request",
        "_p99" "us" "latency under `wrk`, 64 connections, 99th percentile"]; 5.2 s
    "http512": ["" "ns" "hyper (Go: net/http) under `wrk`, 512 connections, per request",
        "_p99" "us" "latency under `wrk`, 512 connections, 99th percentile"]; 5.2 s
    "redis": ["" "ns" "a small Redis under `redis-benchmark`, 50 clients, per GET",
        "_p99" "us" "latency under `redis-benchmark`, 99th percentile"]; 3.6 s
    "redis16": ["" "ns" "a small Redis, 50 clients, 16 requests at once, per GET",
        "_p99" "us" "latency with 16 requests at once, 99th percentile"]; 2.0 s
};

/// Runs a workload and returns its figure.
pub(crate) fn run<C: Contestant>(name: &str) -> Option<f64> {
    Some(match name {
        "spawn_many" => C::run(per_op(10_000, spawn_many::<C>)),
        "spawn_join" => C::run(per_op(1_000, spawn_join::<C>)),
        "yield" => C::run(per_op(200_000, yields::<C>)),
        "chain" => C::run(per_op(1_000, chain::<C>)),
        "skynet" => C::run(per_op(1_111_111, skynet::<C>)),
        "sleeps" => C::run(sleeps::<C>()),
        "timeout" => C::run(per_op(1_000, timeouts::<C>)),
        "outside" => C::run(per_op(10_000, outside::<C>)),
        "wake" => C::run(wake::<C>()),
        "idle" => C::run(idle::<C>()),
        "file" => C::run(per_op(8 * 1_000, files::<C>)),
        "blocked" => C::run(lateness::<C>(4, || std::thread::sleep(Duration::from_millis(500)))),
        "hogs2" => C::run(lateness::<C>(2, || compute(Duration::from_millis(800)))),
        "hogs4" => C::run(lateness::<C>(4, || compute(Duration::from_millis(800)))),
        "echo" => C::run(echo::<C>()),
        _ => return None,
    })
}

/// The environment variable with the number of rounds of [`per_op`]. Without it rounds run for
/// [`SPAN`], at least three.
pub(crate) const ROUNDS: &str = "GMP_BENCH_ROUNDS";

/// Returns nanoseconds per operation of `round`, which does `ops` of them: the median of the
/// repetitions.
pub(crate) async fn per_op<F, Fut>(ops: u32, round: F) -> f64
where
    F: Fn() -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    round().await;
    let rounds = std::env::var(ROUNDS).ok().map(|rounds| rounds.parse().expect("a number"));
    let mut times = Vec::new();
    let start = Instant::now();
    let is_over = |done: usize| match rounds {
        Some(rounds) => done >= rounds,
        None => start.elapsed() >= SPAN && done >= 3,
    };
    while !is_over(times.len()) {
        let round_start = Instant::now();
        round().await;
        times.push(round_start.elapsed().as_nanos() as f64 / f64::from(ops));
    }
    median(&times).expect("at least one round")
}

/// Counts tasks down. The last one sends a notification.
pub(crate) struct Countdown {
    left: AtomicUsize,
    done: std::sync::Mutex<Option<oneshot::Sender<()>>>,
}

impl Countdown {
    pub(crate) fn new(n: usize) -> (Arc<Self>, oneshot::Receiver<()>) {
        let (tx, rx) = oneshot::channel();
        let done = std::sync::Mutex::new(Some(tx));
        (Arc::new(Self { left: AtomicUsize::new(n), done }), rx)
    }

    pub(crate) fn count(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let tx = self.done.lock().unwrap().take();
            tx.unwrap().send(()).unwrap();
        }
    }
}

/// Spawns 10k tasks from one task and waits for all.
async fn spawn_many<C: Contestant>() {
    let (countdown, done) = Countdown::new(10_000);
    for _ in 0..10_000 {
        let countdown = countdown.clone();
        C::go(async move { countdown.count() });
    }
    done.await.unwrap();
}

/// Spawns and joins one task at a time.
async fn spawn_join<C: Contestant>() {
    let mut sum = 0u64;
    for n in 0..1_000u64 {
        sum += C::spawn(async move { n }).await;
    }
    assert_eq!(sum, 999 * 500);
}

/// 200 tasks that yield 1000 times each.
async fn yields<C: Contestant>() {
    let (countdown, done) = Countdown::new(200);
    for _ in 0..200 {
        let countdown = countdown.clone();
        C::go(async move {
            for _ in 0..1000 {
                C::yield_now().await;
            }
            countdown.count();
        });
    }
    done.await.unwrap();
}

/// A task spawns the next, 1000 times.
async fn chain<C: Contestant>() {
    fn link<C: Contestant>(left: u32, done: oneshot::Sender<u32>) {
        C::go(async move {
            if left == 0 {
                done.send(left).unwrap();
            } else {
                link::<C>(left - 1, done);
            }
        });
    }
    let (tx, rx) = oneshot::channel();
    link::<C>(999, tx);
    assert_eq!(rx.await, Ok(0));
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A tree of tasks with ten children each and a million leaves. The sum of the leaves is returned.
async fn skynet<C: Contestant>() {
    fn node<C: Contestant>(base: u64, size: u64) -> Boxed<u64> {
        Box::pin(async move {
            if size == 1 {
                return base;
            }
            let step = size / 10;
            let children: Vec<_> =
                (0..10).map(|n| C::spawn(node::<C>(base + n * step, step))).collect();
            let mut sum = 0;
            for child in children {
                sum += child.await;
            }
            sum
        })
    }
    assert_eq!(C::spawn(node::<C>(0, 1_000_000)).await, 499_999_500_000);
}

/// 200k tasks sleep for 1 to 50 ms. Returns the elapsed nanoseconds per task; the floor is 250.
async fn sleeps<C: Contestant>() -> f64 {
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        let (countdown, done) = Countdown::new(200_000);
        for n in 0..200_000u64 {
            let countdown = countdown.clone();
            C::go(async move {
                C::sleep(Duration::from_micros(1000 + n * 7919 % 49_000)).await;
                countdown.count();
            });
        }
        done.await.unwrap();
        times.push(start.elapsed().as_nanos() as f64 / 200_000.0);
    }
    median(&times).expect("at least one round")
}

/// Sets a timeout, yields, and cancels the timeout.
async fn timeouts<C: Contestant>() {
    for _ in 0..1_000 {
        assert!(C::timeout(Duration::from_secs(5), C::yield_now()).await);
    }
}

/// `spawn_many` from an external thread.
async fn outside<C: Contestant>() {
    let (countdown, done) = Countdown::new(10_000);
    let context = C::context();
    std::thread::spawn(move || {
        context.enter(|| {
            for _ in 0..10_000 {
                let countdown = countdown.clone();
                C::go(async move { countdown.count() });
            }
        });
    });
    done.await.unwrap();
}

/// Returns the resident memory of this process in bytes.
pub(crate) fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// An external thread wakes a sleeping task. Returns the median time until it runs.
async fn wake<C: Contestant>() -> f64 {
    let mut times = Vec::new();
    for _ in 0..300 {
        let (tx, rx) = oneshot::channel::<Instant>();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(1));
            tx.send(Instant::now()).unwrap();
        });
        let sent = rx.await.unwrap();
        times.push(sent.elapsed().as_nanos() as f64);
        thread.join().unwrap();
    }
    median(&times).expect("at least one round")
}

/// Returns the CPU time per second with 10k tasks that sleep for long.
async fn idle<C: Contestant>() -> f64 {
    for _ in 0..10_000 {
        C::go(async { C::sleep(Duration::from_secs(3600)).await });
    }
    C::sleep(Duration::from_millis(300)).await;
    let before = cpu_micros();
    C::sleep(Duration::from_secs(3)).await;
    (cpu_micros() - before) / 3.0
}

/// Returns the CPU time of this process in microseconds. One cheap call, so that reading it does
/// not distort the measurement.
pub(crate) fn cpu_micros() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Eight tasks that read 4 KiB of a cached file a thousand times each.
async fn files<C: Contestant>() {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let file = Arc::new(file);
    let (countdown, done) = Countdown::new(8);
    for _ in 0..8 {
        let (countdown, file) = (countdown.clone(), file.clone());
        C::go(async move {
            // Moved into the call and back: a thread pool cannot borrow.
            let (mut file, mut page) = (file, vec![0u8; 4096]);
            for n in 0..1_000 {
                let read;
                (file, page, read) = C::blocking(move || {
                    let read = file.read_at(&mut page, n % 16 * 4096).unwrap();
                    (file, page, read)
                })
                .await;
                assert_eq!(read, 4096);
            }
            countdown.count();
        });
    }
    done.await.unwrap();
}

/// Spins without an await.
fn compute(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Returns the worst lateness of a 1 ms sleep, in microseconds, while `n` tasks occupy their
/// threads.
async fn lateness<C: Contestant>(n: usize, work: fn()) -> f64 {
    // All threads are started and warm.
    C::sleep(Duration::from_millis(20)).await;
    let (countdown, mut done) = Countdown::new(n);
    let ticker = C::spawn(async move {
        let mut worst = Duration::ZERO;
        while let Ok(None) = done.try_recv() {
            let start = Instant::now();
            C::sleep(Duration::from_millis(1)).await;
            worst = worst.max(start.elapsed() - Duration::from_millis(1));
        }
        worst
    });
    for _ in 0..n {
        let countdown = countdown.clone();
        C::go(async move {
            work();
            countdown.count();
        });
    }
    ticker.await.as_secs_f64() * 1e6
}

/// 100 connections within this process exchange 64 bytes, one request at a time on each. Returns
/// nanoseconds per round trip, the median of five parts.
async fn echo<C: Contestant>() -> f64 {
    const CONNECTIONS: usize = 100;
    const ROUNDS: usize = 300;
    let (listener, addr) = C::listen().await;
    C::go(async move {
        loop {
            let mut stream = C::accept(&listener).await;
            C::go(async move {
                let mut buf = [0; 64];
                while let Ok(n @ 1..) = C::read(&mut stream, &mut buf).await {
                    C::write_all(&mut stream, &buf[..n]).await.unwrap();
                }
            });
        }
    });
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(C::connect(addr).await);
    }
    let mut times = Vec::new();
    for part in 0..6 {
        let start = Instant::now();
        let running: Vec<_> =
            clients.drain(..).map(|client| C::spawn(round_trips::<C>(client, ROUNDS))).collect();
        for client in running {
            clients.push(client.await);
        }
        // The first part warms up.
        if part > 0 {
            times.push(start.elapsed().as_nanos() as f64 / (CONNECTIONS * ROUNDS) as f64);
        }
    }
    median(&times).expect("at least one round")
}

async fn round_trips<C: Contestant>(mut stream: C::Stream, rounds: usize) -> C::Stream {
    let (ping, mut pong) = ([7; 64], [0; 64]);
    for _ in 0..rounds {
        C::write_all(&mut stream, &ping).await.unwrap();
        let mut got = 0;
        while got < pong.len() {
            let n = C::read(&mut stream, &mut pong[got..]).await.unwrap();
            assert!(n > 0, "the server hung up");
            got += n;
        }
        assert_eq!(pong, ping);
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_different_names_and_a_description() {
        let names: Vec<String> = row_names().collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(position(name), Some(at), "{name} occurs twice");
            assert!(describe(name).is_some_and(|about| !about.is_empty()), "{name}");
        }
        assert_eq!(describe("mixed_p99"), Some(find("mixed").unwrap().figures[1].about));
        assert_eq!(describe("churn"), Some(find("churn").unwrap().figures[0].about));
        assert_eq!(position("mixed"), None);
    }
}
