//! The workloads over locks, and over many tasks that wait for one event.

use crate::contestant::{Contestant, Gmp, Smol, Tokio};
use crate::row::median;
use crate::workload::{Countdown, per_op, resident};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A contestant's own locks.
pub(crate) trait Locks: Contestant {
    /// A mutex around a number.
    type Mutex: Default + Send + Sync + 'static;
    /// A semaphore.
    type Semaphore: Send + Sync + 'static;
    /// A gate at which many tasks wait and which releases all at once.
    type Gate: Default + Send + Sync + 'static;

    /// Locks, adds one and unlocks. Returns the previous value.
    fn bump(mutex: &Self::Mutex) -> impl Future<Output = u64> + Send;
    /// Creates a semaphore without permits.
    fn semaphore() -> Self::Semaphore;
    /// Waits for a permit.
    fn acquire(semaphore: &Self::Semaphore) -> impl Future<Output = ()> + Send;
    /// Waits at the gate.
    fn wait(gate: &Self::Gate) -> impl Future<Output = ()> + Send;
    /// Opens the gate.
    fn open(gate: &Self::Gate);
}

/// A channel without values. Closing it releases all receivers, as in Go.
pub(crate) struct GmpGate(gmp_sync::chan::Sender<()>, gmp_sync::chan::Receiver<()>);

impl Default for GmpGate {
    fn default() -> Self {
        let (tx, rx) = gmp_sync::chan(0);
        Self(tx, rx)
    }
}

impl Locks for Gmp {
    type Mutex = gmp_sync::Mutex<u64>;
    type Semaphore = gmp_sync::Semaphore;
    type Gate = GmpGate;

    async fn bump(mutex: &Self::Mutex) -> u64 {
        let mut guard = mutex.lock().await;
        *guard += 1;
        *guard - 1
    }
    fn semaphore() -> Self::Semaphore {
        gmp_sync::Semaphore::new(0)
    }
    async fn acquire(semaphore: &Self::Semaphore) {
        drop(semaphore.acquire(1).await);
    }
    async fn wait(gate: &GmpGate) {
        let _ = gate.1.recv().await;
    }
    fn open(gate: &GmpGate) {
        gate.0.close();
    }
}

impl Locks for Tokio {
    type Mutex = tokio::sync::Mutex<u64>;
    type Semaphore = tokio::sync::Semaphore;
    type Gate = TokioGate;

    async fn bump(mutex: &Self::Mutex) -> u64 {
        let mut guard = mutex.lock().await;
        *guard += 1;
        *guard - 1
    }
    fn semaphore() -> Self::Semaphore {
        tokio::sync::Semaphore::new(0)
    }
    async fn acquire(semaphore: &Self::Semaphore) {
        drop(semaphore.acquire().await.unwrap());
    }
    async fn wait(gate: &TokioGate) {
        // Created before the check, so that it receives an opening from here on.
        let opened = gate.opened.notified();
        if !gate.is_open.load(Ordering::Acquire) {
            opened.await;
        }
    }
    fn open(gate: &TokioGate) {
        gate.is_open.store(true, Ordering::Release);
        gate.opened.notify_waiters();
    }
}

/// A flag and its waiters.
#[derive(Default)]
pub(crate) struct TokioGate {
    is_open: AtomicBool,
    opened: tokio::sync::Notify,
}

impl Locks for Smol {
    type Mutex = smol::lock::Mutex<u64>;
    type Semaphore = smol::lock::Semaphore;
    type Gate = SmolGate;

    async fn bump(mutex: &Self::Mutex) -> u64 {
        let mut guard = mutex.lock().await;
        *guard += 1;
        *guard - 1
    }
    fn semaphore() -> Self::Semaphore {
        smol::lock::Semaphore::new(0)
    }
    async fn acquire(semaphore: &Self::Semaphore) {
        drop(semaphore.acquire().await);
    }
    async fn wait(gate: &SmolGate) {
        let _ = gate.1.recv().await;
    }
    fn open(gate: &SmolGate) {
        gate.0.close();
    }
}

/// async-channel. Closing it releases all receivers.
pub(crate) struct SmolGate(smol::channel::Sender<()>, smol::channel::Receiver<()>);

impl Default for SmolGate {
    fn default() -> Self {
        let (tx, rx) = smol::channel::bounded(1);
        Self(tx, rx)
    }
}

/// Runs a workload over locks and returns its figure.
pub(crate) fn run<C: Locks>(name: &str) -> Option<f64> {
    Some(match name {
        "mutex" => C::run(per_op(32_000, mutex::<C>)),
        "memory" => C::run(memory::<C>()),
        "broadcast" => C::run(broadcast::<C>()),
        _ => return None,
    })
}

/// 32 tasks that lock one mutex a thousand times each.
async fn mutex<C: Locks>() {
    let mutex = Arc::new(C::Mutex::default());
    let (countdown, done) = Countdown::new(32);
    for _ in 0..32 {
        let (mutex, countdown) = (mutex.clone(), countdown.clone());
        C::go(async move {
            for _ in 0..1_000 {
                C::bump(&mutex).await;
            }
            countdown.count();
        });
    }
    done.await.unwrap();
    assert_eq!(C::bump(&mutex).await, 32_000);
}

/// Returns the bytes per task of a million tasks that wait for a permit.
async fn memory<C: Locks>() -> f64 {
    const N: usize = 1_000_000;
    let semaphore = Arc::new(C::semaphore());
    let parked = Arc::new(AtomicUsize::new(0));
    let before = resident();
    for _ in 0..N {
        let (semaphore, parked) = (semaphore.clone(), parked.clone());
        C::go(async move {
            parked.fetch_add(1, Ordering::Relaxed);
            C::acquire(&semaphore).await;
        });
    }
    while parked.load(Ordering::Relaxed) < N {
        C::sleep(Duration::from_millis(20)).await;
    }
    (resident() - before) / N as f64
}

/// Ten thousand tasks wait for one event. Returns the nanoseconds per task from the event until all
/// have run.
async fn broadcast<C: Locks>() -> f64 {
    const N: usize = 10_000;
    let mut times = Vec::new();
    for _ in 0..20 {
        let gate = Arc::new(C::Gate::default());
        let (countdown, done) = Countdown::new(N);
        let waiting = Arc::new(AtomicUsize::new(0));
        for _ in 0..N {
            let (gate, countdown, waiting) = (gate.clone(), countdown.clone(), waiting.clone());
            C::go(async move {
                waiting.fetch_add(1, Ordering::Relaxed);
                C::wait(&gate).await;
                countdown.count();
            });
        }
        while waiting.load(Ordering::Relaxed) < N {
            C::sleep(Duration::from_millis(1)).await;
        }
        // The last task may not wait yet.
        C::sleep(Duration::from_millis(1)).await;
        let start = Instant::now();
        C::open(&gate);
        done.await.unwrap();
        times.push(start.elapsed().as_nanos() as f64 / N as f64);
    }
    median(&times).expect("at least one round")
}
