//! Pools, after Go's `pool_test.go`.

use super::support::{runtime, until};
use gmp::sync::{Pool, PoolGuard, WaitGroup};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// `TestPool`: an item that was put can be taken. It survives one ageing, not two.
#[gmp::test(max_procs = 1)]
async fn get_returns_an_item_that_was_put() {
    let pool = Pool::<&'static str>::default();
    assert_eq!(pool.try_get(), None);
    pool.put("a");
    pool.put("b");
    let mut both = [pool.try_get(), pool.try_get()];
    both.sort_unstable();
    assert_eq!(both, [Some("a"), Some("b")]);
    assert_eq!(pool.try_get(), None);
    for _ in 0..100 {
        pool.put("c");
    }
    pool.drop_idle();
    assert_eq!(pool.try_get(), Some("c"));
    pool.drop_idle();
    assert_eq!(pool.try_get(), None);
}

/// `TestPoolNew`: an empty pool makes a new item.
#[gmp::test(max_procs = 1)]
async fn get_makes_an_item_if_the_pool_is_empty() {
    let made = AtomicUsize::new(0);
    let pool = Pool::new(move || made.fetch_add(1, Ordering::Relaxed) + 1);
    assert_eq!((pool.get(), pool.get()), (1, 2));
    pool.put(42);
    assert_eq!((pool.get(), pool.get()), (42, 3));
}

/// Counts the living items.
#[derive(Debug)]
struct Counted {
    alive: Arc<AtomicUsize>,
    holders: AtomicUsize,
}

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { alive: alive.clone(), holders: AtomicUsize::new(0) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counting(idle: Duration) -> (Pool<Counted>, Arc<AtomicUsize>) {
    let alive = Arc::new(AtomicUsize::new(0));
    let counter = alive.clone();
    (Pool::with_idle_timeout(move || Counted::new(&counter), idle), alive)
}

/// `TestPoolGC`: the pool keeps nothing of an item that was taken out.
#[gmp::test(max_procs = 1)]
async fn the_pool_keeps_nothing_of_a_taken_item() {
    let (pool, alive) = counting(Duration::MAX);
    for _ in 0..3 {
        let items: Vec<_> = (0..100).map(|_| pool.get()).collect();
        items.into_iter().for_each(|item| pool.put(item));
        assert_eq!(alive.load(Ordering::Relaxed), 100);
        for _ in 0..100 {
            drop(pool.try_get().expect("was put"));
        }
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

/// `TestPoolRelease`: the pool drops idle items by itself, repeatedly, and on another runtime after
/// the first one has ended.
#[test]
fn idle_items_are_dropped() {
    let (pool, alive) = counting(Duration::from_millis(2));
    for round in 0..3 {
        let runtime = runtime(2);
        runtime.block_on(async {
            let pool = pool.clone();
            gmp::spawn(async move {
                let items: Vec<_> = (0..100).map(|_| pool.get()).collect();
                items.into_iter().for_each(|item| pool.put(item));
            })
            .await
            .unwrap();
        });
        if round == 1 {
            // The timer has fired or ended with the runtime. The next round works in both cases.
            continue;
        }
        until(|| alive.load(Ordering::Relaxed) == 0);
    }
}

/// Dropping the pool drops its items.
#[gmp::test]
async fn a_dropped_pool_drops_its_items() {
    let (pool, alive) = counting(Duration::MAX);
    pool.put(pool.get());
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    drop(pool);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// `TestPoolStress`, and no item is in use twice at once: goroutines and threads, while the pool
/// ages.
#[test]
fn no_item_is_in_use_twice() {
    const ROUNDS: usize = 20_000;
    let (pool, alive) = counting(Duration::from_millis(1));
    fn churn(pool: &Pool<Counted>) {
        for _ in 0..ROUNDS {
            let item = pool.get();
            assert_eq!(item.holders.fetch_add(1, Ordering::Relaxed), 0, "another has it");
            item.holders.fetch_sub(1, Ordering::Relaxed);
            pool.put(item);
        }
    }
    let runtime = runtime(2);
    let group = WaitGroup::new();
    runtime.block_on(async {
        for _ in 0..10 {
            let pool = pool.clone();
            group.go(async move { churn(&pool) });
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| churn(&pool));
        }
        scope.spawn(|| (0..1000).for_each(|_| pool.drop_idle()));
    });
    gmp::block_on(group.wait());
    // The timer may age the pool at the same time. Then it has some items in hand, or uses a shard,
    // which this call skips. An item that is lost or dropped twice keeps the count from zero.
    until(|| {
        pool.drop_idle();
        alive.load(Ordering::Relaxed) == 0
    });
}

/// `TestPoolDequeue`, `TestPoolChain`: many threads move many items, and each item is taken once.
#[test]
fn each_item_is_taken_once() {
    const ITEMS: usize = 20_000;
    let pool = Pool::with_idle_timeout(|| usize::MAX, Duration::MAX);
    let taken: Vec<AtomicUsize> = (0..ITEMS).map(|_| AtomicUsize::new(0)).collect();
    let missed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for n in 0..2 {
            let (pool, taken, missed) = (&pool, &taken, &missed);
            scope.spawn(move || {
                for item in (n..ITEMS).step_by(2) {
                    pool.put(item);
                    match pool.try_get() {
                        Some(item) => taken[item].fetch_add(1, Ordering::Relaxed),
                        None => missed.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
    });
    while let Some(item) = pool.try_get() {
        taken[item].fetch_add(1, Ordering::Relaxed);
    }
    let once = taken.iter().filter(|n| n.load(Ordering::Relaxed) == 1).count();
    assert!(taken.iter().all(|n| n.load(Ordering::Relaxed) <= 1));
    // A put that finds all shards in use drops its item. Then a take has missed as well.
    assert!(once + missed.load(Ordering::Relaxed) >= ITEMS, "{once} of {ITEMS}");
}

/// A guard puts its item back, also on an external thread and after a panic. `into_inner` does not.
#[test]
fn a_guard_puts_its_item_back() {
    let pool = Pool::new(String::new);
    pool.get_guard().push_str("kept");
    assert_eq!(&*pool.get_guard(), "kept");
    assert_eq!(format!("{pool:?} {:?}", pool.get_guard()), "Pool { items: 0, .. } \"kept\"");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = pool.get_guard();
        panic!("expected by the test");
    }));
    assert!(panicked.is_err());
    assert_eq!(PoolGuard::into_inner(pool.get_guard()), "kept");
    assert_eq!(pool.try_get(), None);
}
