//! All operations at random.
//!
//! External threads and goroutines spawn, wake, abort, join, sleep and resize. The test checks that
//! every goroutine ends, that no two threads poll one goroutine at once, and that no future and no
//! output leaks. `GMP_STRESS_SECONDS=60` makes it run for a minute. CONTRIBUTING describes the
//! sanitizers.

use super::support::{Mutex, child, is_child, stress_seconds, test_seed, until};
use gmp::go;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The counters of the test.
#[derive(Default)]
struct Counts {
    /// Living probes, in futures and outputs.
    alive: AtomicI64,
    spawned: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
    panicked: AtomicU64,
    /// Number of times a goroutine blocked its thread or computed.
    stopped: AtomicU64,
    /// Number of resizes.
    resized: AtomicU64,
}

/// Counts itself. Each future and each output holds one.
struct Probe(Arc<Counts>);

impl Probe {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.alive.fetch_add(1, Ordering::Relaxed);
        Self(counts.clone())
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Wakers of waiting goroutines. Any thread may wake them.
type Board = Arc<Mutex<Vec<Waker>>>;

/// A future that waits for several random events in turn and detects concurrent polls.
struct Work {
    _probe: Probe,
    counts: Arc<Counts>,
    polling: AtomicBool,
    board: Board,
    steps: u32,
    random: u64,
    sleep: Option<gmp::time::Sleep>,
    posted: Option<u32>,
}

/// How a goroutine continues after it occupied its thread.
#[derive(PartialEq, Eq)]
enum AfterHandOff {
    Goes,
    Ends,
}

impl Work {
    /// Returns `true` once in `n` times, independently of earlier choices.
    fn once_in(&mut self, n: u64) -> bool {
        // The low bits were used for the choice.
        (self.next() >> 16).is_multiple_of(n)
    }

    /// Occupies the thread in a random way. Its P is handed off if it is wanted.
    fn stop_thread(&mut self) {
        self.counts.stopped.fetch_add(1, Ordering::Relaxed);
        let span = Duration::from_micros((self.next() >> 16) % 3000);
        match (self.next() >> 16) % 8 {
            0..=2 => std::thread::sleep(span),
            3 => gmp::block_in_place(|| std::thread::sleep(span)),
            4 => {
                // A wait on a lock, which the OS reports as another kind of sleep.
                let (_tx, rx) = std::sync::mpsc::channel::<()>();
                let _ = rx.recv_timeout(span);
            }
            5 => gmp::block_on(gmp::sleep(span)),
            _ => {
                // Computes, sometimes for longer than a slice.
                let span = if self.once_in(4) { Duration::from_millis(15) } else { span };
                let start = Instant::now();
                while start.elapsed() < span {
                    std::hint::spin_loop();
                }
            }
        }
    }

    /// Continues in the same poll, so without an active P if the P was handed off.
    fn go_on_handed_off(&mut self, cx: &mut Context<'_>) -> AfterHandOff {
        match (self.next() >> 16) % 8 {
            0 => panic!("{EXPECTED}"),
            1 => drop(spawn(&self.counts, &self.board, self.random, 2)),
            2 => spawn(&self.counts, &self.board, self.random, 2).abort(),
            3 => wake_some(&self.board, 8),
            4 => cx.waker().wake_by_ref(),
            5 => {
                // Sends through a channel to a goroutine that may or may not wait yet.
                let (tx, rx) = futures::channel::oneshot::channel();
                let received = go!(async move { rx.await.is_ok() });
                std::thread::sleep(Duration::from_micros(500));
                let _ = tx.send(());
                drop(received);
            }
            6 => return AfterHandOff::Ends,
            _ => self.sleep = Some(gmp::sleep(Duration::from_micros(100))),
        }
        AfterHandOff::Goes
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Future for Work {
    type Output = Probe;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Probe> {
        assert!(!self.polling.swap(true, Ordering::Acquire), "polled by two threads at once");
        let poll = self.step(cx);
        self.polling.store(false, Ordering::Release);
        poll
    }
}

impl Work {
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Probe> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if Pin::new(sleep).poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            // Waits on the board until its waker is taken. Gives up after three polls.
            if let Some(polls) = &mut self.posted {
                *polls += 1;
                if *polls < 3 {
                    self.board.lock().unwrap().push(cx.waker().clone());
                    return Poll::Pending;
                }
                self.posted = None;
            }
            if self.steps == 0 {
                return Poll::Ready(Probe::new(&self.counts));
            }
            self.steps -= 1;
            match self.next() % 16 {
                0..=2 => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                3 | 4 => self.sleep = Some(gmp::sleep(Duration::from_micros(self.next() % 2000))),
                5..=7 => self.posted = Some(0),
                8 => drop(spawn(&self.counts, &self.board, self.random, 2)),
                9 => spawn(&self.counts, &self.board, self.random, 2).abort(),
                10 if self.once_in(64) => panic!("{EXPECTED}"),
                11 if self.once_in(32) => {
                    gmp::block_on(gmp::sleep(Duration::from_micros(50)));
                }
                12 if self.once_in(64) => {
                    self.stop_thread();
                    if self.go_on_handed_off(cx) == AfterHandOff::Ends {
                        return Poll::Ready(Probe::new(&self.counts));
                    }
                }
                13 if self.once_in(32) => {
                    drop(gmp::spawn_blocking(|| std::thread::sleep(Duration::from_micros(200))));
                }
                _ => {}
            }
        }
    }
}

/// Counts the end of a goroutine in its destructor, however the goroutine ends.
struct Ended(Arc<Counts>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.finished.fetch_add(1, Ordering::Relaxed);
    }
}

fn spawn(counts: &Arc<Counts>, board: &Board, seed: u64, steps: u32) -> gmp::JoinHandle<Probe> {
    counts.spawned.fetch_add(1, Ordering::Relaxed);
    let ended = Ended(counts.clone());
    let work = Work {
        _probe: Probe::new(counts),
        counts: counts.clone(),
        polling: AtomicBool::new(false),
        board: board.clone(),
        steps,
        random: seed | 1,
        sleep: None,
        posted: None,
    };
    go!({
        let _ended = ended;
        work.await
    })
}

/// Wakes some wakers of the board, by value or by reference.
fn wake_some(board: &Board, n: usize) {
    let wakers: Vec<Waker> = {
        let mut board = board.lock().unwrap();
        let keep = board.len().saturating_sub(n);
        board.split_off(keep)
    };
    for (n, waker) in wakers.into_iter().enumerate() {
        if n % 2 == 0 {
            waker.wake();
        } else {
            waker.wake_by_ref();
        }
    }
}

/// The work of an external thread until `end`.
fn outside(
    handle: &gmp::runtime::Handle,
    counts: &Arc<Counts>,
    board: &Board,
    seed: u64,
    end: Instant,
) {
    let mut random = seed | 1;
    let mut held = Vec::new();
    while Instant::now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match random % 12 {
            0..=4 => {
                // Inside `block_on`, so that `go!` uses this runtime.
                let spawn = async { Some(spawn(counts, board, random, 8)) };
                held.extend(handle.block_on(spawn));
            }
            5 => held.truncate(held.len() / 2),
            6 => held.iter().step_by(3).for_each(gmp::JoinHandle::abort),
            // Not the low bits, which made the choice.
            7 if (random >> 16).is_multiple_of(8) => {
                counts.resized.fetch_add(1, Ordering::Relaxed);
                let _ = handle.set_max_procs(1 + (random >> 24) as usize % 6);
            }
            8 => {
                if let Some(goroutine) = held.pop() {
                    goroutine.abort();
                    wake_some(board, 1000);
                    count_end(counts, handle.block_on(goroutine));
                }
            }
            _ => wake_some(board, 16),
        }
        // Bounds the number of goroutines: waits until enough have ended.
        while handle.num_goroutine() > 5000 {
            wake_some(board, 1000);
            std::thread::yield_now();
        }
        held.truncate(500);
    }
}

fn count_end(counts: &Counts, end: Result<Probe, gmp::JoinError>) {
    match end {
        Ok(_) => return,
        Err(error) if error.is_panic() => &counts.panicked,
        Err(_) => &counts.cancelled,
    }
    .fetch_add(1, Ordering::Relaxed);
}

/// Runs in its own process, because thousands of panics without a join are reported on stderr.
#[test]
fn random_operations_run_to_their_end() {
    if is_child() {
        return mix();
    }
    let output = child("stress::random_operations_run_to_their_end", &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    let expected = |line: &&str| line.contains(EXPECTED) || line.contains("tests/it/stress.rs:");
    let told: Vec<&str> = told.lines().filter(|line| !expected(line)).collect();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}: {}", output.status, told.join("\n"));
}

/// The message of the intended panics.
const EXPECTED: &str = "expected by the stress test";

fn mix() {
    let end = Instant::now() + stress_seconds(3.0);
    let first_seed = test_seed();
    // Suppresses the messages of the intended panics.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains(EXPECTED) {
            hook(info);
        }
    }));
    let runtime = gmp::runtime::Builder::new().max_procs(3).build().unwrap();
    let handle = runtime.handle().clone();
    let (counts, board) = (Arc::new(Counts::default()), Board::default());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (handle, counts, board) = (&handle, &counts, &board);
            let seed = first_seed.wrapping_add(1).wrapping_mul(0x9E37_79B9 * (thread + 1));
            scope.spawn(move || outside(handle, counts, board, seed, end));
        }
    });
    // Wakes the waiting goroutines until all have ended by themselves.
    until(|| {
        wake_some(&board, usize::MAX);
        handle.num_goroutine() == 0
    });
    board.lock().unwrap().clear();
    let spawned = counts.spawned.load(Ordering::Relaxed);
    assert_eq!(counts.finished.load(Ordering::Relaxed), spawned, "goroutines were lost");
    let stalls = handle.metrics().stalls.total();
    runtime.shutdown(Duration::from_secs(60)).unwrap();
    assert_eq!(counts.alive.load(Ordering::Relaxed), 0, "futures or outputs leaked");
    assert!(spawned > 100, "only {spawned} goroutines: nothing was stressed");
    let (stopped, resized) =
        (counts.stopped.load(Ordering::Relaxed), counts.resized.load(Ordering::Relaxed));
    assert!(stopped > 0 && resized > 0, "{stopped} stopped their thread, {resized} resizes");
    println!(
        "{spawned} goroutines, {} cancelled and {} panicked at a join, {stopped} stopped their thread, \
         {stalls} stalls, {resized} resizes",
        counts.cancelled.load(Ordering::Relaxed),
        counts.panicked.load(Ordering::Relaxed),
    );
}
