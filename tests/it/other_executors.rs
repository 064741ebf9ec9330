//! The primitives on foreign executors, where they are ordinary futures.

use gmp::chan::{Receiver, Sender};
use gmp::select;
use gmp::sync::{Barrier, Cond, Lazy, Mutex, Once, OnceCell, RwLock, Semaphore, WaitGroup};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const N: usize = 8;
const ROUNDS: usize = 100;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// State that the tasks share.
struct Shared {
    mutex: Mutex<usize>,
    lock: RwLock<usize>,
    cond: Cond,
    once: Once,
    cell: OnceCell<usize>,
    lazy: Lazy<usize>,
    semaphore: Semaphore,
    barrier: Barrier,
    begun: AtomicUsize,
    rendezvous: (Sender<usize>, Receiver<usize>),
    buffered: (Sender<usize>, Receiver<usize>),
    /// Sent minus received.
    under_way: AtomicUsize,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mutex: Mutex::new(0),
            lock: RwLock::new(0),
            cond: Cond::new(),
            once: Once::new(),
            cell: OnceCell::new(),
            lazy: Lazy::new(async { 42 }),
            semaphore: Semaphore::new(2),
            barrier: Barrier::new(N),
            begun: AtomicUsize::new(0),
            rendezvous: gmp::chan(0),
            buffered: gmp::chan(2),
            under_way: AtomicUsize::new(0),
        })
    }

    async fn work(&self) {
        self.once.call(|| async { _ = self.begun.fetch_add(1, Ordering::Relaxed) }).await;
        assert_eq!(*self.cell.get_or_init(|| async { 7 }).await + *self.lazy.force().await, 49);
        for _ in 0..ROUNDS {
            *self.mutex.lock().await += 1;
            *self.lock.write().await += 1;
            assert!(*self.lock.read().await > 0);
            drop(self.semaphore.acquire(2).await);
            self.exchange().await;
        }
        self.barrier.wait().await;
        let mut guard = self.mutex.lock().await;
        *guard += 1;
        self.cond.broadcast();
        while *guard < N * (ROUNDS + 1) {
            guard = self.cond.wait(guard).await;
        }
    }

    /// Sends or receives, on whichever channel is ready.
    async fn exchange(&self) {
        let (zero, two) = (&self.rendezvous, &self.buffered);
        let change = select! {
            sent = zero.0.send(1) => { sent.unwrap(); 1 },
            sent = two.0.send(1) => { sent.unwrap(); 1 },
            got = zero.1.recv() => usize::MAX * got.unwrap(),
            got = two.1.recv() => usize::MAX * got.unwrap(),
        };
        // Minus one for a receive: the addition wraps.
        self.under_way.fetch_add(change, Ordering::Relaxed);
    }

    fn check(&self) {
        assert_eq!(*self.mutex.lock_blocking(), N * (ROUNDS + 1));
        assert_eq!(*self.lock.read_blocking(), N * ROUNDS);
        assert_eq!(self.begun.load(Ordering::Relaxed), 1);
        assert_eq!(self.semaphore.available_permits(), 2);
        let left = self.rendezvous.1.try_iter().count() + self.buffered.1.try_iter().count();
        assert_eq!(self.under_way.load(Ordering::Relaxed), left);
    }
}

/// Runs the tasks with `spawn`. The returned future ends when all tasks have ended.
fn drive(shared: &Arc<Shared>, spawn: impl Fn(Task)) -> gmp::sync::futures::WaitGroupWait {
    let group = WaitGroup::new();
    for _ in 0..N {
        let (shared, group) = (shared.clone(), group.clone());
        group.add(1);
        spawn(Box::pin(async move {
            shared.work().await;
            group.done();
        }));
    }
    group.wait()
}

#[test]
fn primitives_work_under_tokio() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let shared = Shared::new();
    let wait = drive(&shared, |task| drop(runtime.spawn(task)));
    runtime.block_on(wait);
    shared.check();
    // On one thread.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let shared = Shared::new();
    let wait = drive(&shared, |task| drop(runtime.spawn(task)));
    runtime.block_on(wait);
    shared.check();
}

#[test]
fn primitives_work_under_smol() {
    let shared = Shared::new();
    let wait = drive(&shared, |task| smol::spawn(task).detach());
    smol::block_on(wait);
    shared.check();
}

/// Tasks of three executors and a thread share the same primitives.
#[test]
fn primitives_connect_tasks_of_all_executors() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let shared = Shared::new();
    let turn = AtomicUsize::new(0);
    let wait = drive(&shared, |task| match turn.fetch_add(1, Ordering::Relaxed) % 4 {
        0 => drop(tokio.spawn(task)),
        1 => smol::spawn(task).detach(),
        2 => drop(std::thread::spawn(|| gmp::block_on(task))),
        _ => drop(gmp::spawn(task)),
    });
    gmp::block_on(wait);
    shared.check();
}
