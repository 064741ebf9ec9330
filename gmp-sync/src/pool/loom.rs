//! Models of the pool: exclusive access to a cell, and the timer against puts.

use super::aging::{Aging, Alarm};
use super::try_cell::TryCell;
use super::{PoolShared, Rest, Shard, ShardHome};
use ::loom::thread;
use gmp_rt::prim::CachePadded;
use std::sync::Arc;
use std::time::Duration;

/// Accesses are exclusive, and each sees the writes of the one before.
#[test]
fn loom_try_with_vs_try_with() {
    ::loom::model(|| {
        let cell = Arc::new(TryCell::new(0u32));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let cell = cell.clone();
                thread::spawn(move || u32::from(cell.try_with(|n| *n += 1).is_some()))
            })
            .collect();
        let done: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert!(done > 0);
        assert_eq!(cell.try_with(|n| *n), Some(done));
    });
}

fn pool(shards: usize) -> Arc<PoolShared<u8>> {
    let shards = (0..shards).map(|_| CachePadded(Shard::new())).collect();
    let (make, aging) = (Box::new(|| unreachable!("not in a model")), Aging::new());
    Arc::new(PoolShared { shards, make, aging, idle: Duration::MAX })
}

/// An item is put while the timer fires: one timer is set if it is left, and never two.
#[test]
fn loom_put_vs_tick() {
    ::loom::model(|| {
        let pool = pool(1);
        assert_eq!(pool.aging.want(), Alarm::Wanted);
        let putting = {
            let pool = pool.clone();
            thread::spawn(move || pool.put(ShardHome::P(0), 1))
        };
        let ticking = {
            let pool = pool.clone();
            thread::spawn(move || pool.tick().0)
        };
        let wanted = [putting.join().unwrap(), ticking.join().unwrap()];
        let timers = wanted.iter().filter(|alarm| **alarm == Alarm::Wanted).count();
        match pool.age().rest {
            // A put that drops its item because the shard is in use may leave a timer without
            // items.
            Rest::None => assert!(timers <= 1),
            Rest::Items => assert_eq!(timers, 1),
        }
    });
}

/// Two threads take from a pool with one item: it is taken once.
#[test]
fn loom_take_vs_take() {
    ::loom::model(|| {
        let pool = pool(2);
        let _ = pool.put(ShardHome::Outside(0), 1);
        let other = {
            let pool = pool.clone();
            thread::spawn(move || pool.take(ShardHome::Outside(1)))
        };
        let own = pool.take(ShardHome::Outside(0));
        let other = other.join().unwrap();
        let left = pool.take(ShardHome::Outside(0));
        assert_eq!([own, other, left].iter().flatten().count(), 1);
    });
}
