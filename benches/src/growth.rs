//! The cost per item with many items: goroutines and timers by the thousand and by the million. It
//! must not grow with their number.

use crate::contestant::Contestant;
use crate::locks::Locks;
use crate::workload::{Countdown, per_op};
use futures::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Runs a workload and returns its figure.
pub(crate) fn run<C: Locks>(name: &str) -> Option<f64> {
    Some(match name {
        "grow_1k" => C::run(per_op(1_000, || grow::<C>(1_000))),
        "grow_1m" => C::run(per_op(1_000_000, || grow::<C>(1_000_000))),
        "timers_1m" => C::run(timers::<C>()),
        "join_all" => C::run(per_op(10_000, join_deep::<C>)),
        _ => return None,
    })
}

/// Counts arrivals. `all` yields until all have arrived.
#[derive(Clone, Default)]
struct Arrivals(Arc<AtomicUsize>);

impl Arrivals {
    fn arrive(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    async fn all<C: Contestant>(&self, n: usize) {
        while self.0.load(Ordering::Relaxed) < n {
            C::yield_now().await;
        }
    }
}

/// Spawns `n` tasks that wait at one gate. Opens it when all have arrived, and waits for their end.
async fn grow<C: Locks>(n: usize) {
    let gate = Arc::new(C::Gate::default());
    let (countdown, done) = Countdown::new(n);
    let arrivals = Arrivals::default();
    for _ in 0..n {
        let (gate, countdown, arrivals) = (gate.clone(), countdown.clone(), arrivals.clone());
        C::go(async move {
            arrivals.arrive();
            C::wait(&gate).await;
            countdown.count();
        });
    }
    arrivals.all::<C>(n).await;
    C::open(&gate);
    done.await.unwrap();
}

/// Sets and cancels a timeout while a million others are pending.
async fn timers<C: Contestant>() -> f64 {
    const PENDING: usize = 1_000_000;
    let arrivals = Arrivals::default();
    for n in 0..PENDING as u64 {
        let arrivals = arrivals.clone();
        C::go(async move {
            arrivals.arrive();
            // An hour and more, all different, so that no two end together.
            C::sleep(Duration::from_micros(3_600_000_000 + n * 7919)).await;
        });
    }
    arrivals.all::<C>(PENDING).await;
    per_op(1_000, || async {
        for _ in 0..1_000 {
            assert!(C::timeout(Duration::from_secs(5), C::yield_now()).await);
        }
    })
    .await
}

/// A hundred tasks spawn and join a hundred tasks each. Then all are joined.
async fn join_deep<C: Contestant>() {
    let groups = (0..100u64).map(|group| {
        C::spawn(async move {
            let parts = (0..100).map(|n| C::spawn(async move { group * 100 + n }));
            join_all(parts).await.into_iter().sum::<u64>()
        })
    });
    let sum: u64 = join_all(groups).await.into_iter().sum();
    assert_eq!(sum, 9_999 * 5_000);
}
