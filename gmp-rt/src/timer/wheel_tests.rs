//! The wheel compared with the simplest model: a sorted list.

use super::super::entries::{CHUNK, KEEP_CHUNKS};
use super::*;
use crate::util::rand::Rand;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;

/// A waker with a number.
struct Numbered(u64, Arc<AtomicU64>);

impl Wake for Numbered {
    fn wake(self: Arc<Self>) {
        self.1.store(self.0, Ordering::Relaxed);
    }
}

struct Bench {
    wheel: Wheel,
    woken: Arc<AtomicU64>,
}

impl Bench {
    fn new() -> Self {
        Self { wheel: Wheel::new(), woken: Arc::default() }
    }

    fn insert(&mut self, now: u64, when: u64, number: u64) -> Key {
        let waker = Waker::from(Arc::new(Numbered(number, self.woken.clone())));
        self.wheel.insert(now, when, waker.into())
    }

    /// Returns the numbers of the timers due at `now`, sorted.
    fn expire(&mut self, now: u64) -> Vec<u64> {
        let mut numbers = self.expire_in_order(now);
        numbers.sort_unstable();
        numbers
    }

    /// Returns the numbers of the timers due at `now`, in the order in which they fire.
    fn expire_in_order(&mut self, now: u64) -> Vec<u64> {
        let mut wakers = Vec::new();
        self.wheel.expire(now, &mut wakers, usize::MAX);
        let number = |waker: StoredWaker| {
            waker.wake();
            self.woken.load(Ordering::Relaxed)
        };
        wakers.into_iter().map(number).collect()
    }
}

#[test]
fn a_timer_fires_at_its_nanosecond() {
    let mut bench = Bench::new();
    let when = 1_234_567;
    bench.insert(0, when, 7);
    assert_eq!(bench.wheel.next_when(), when);
    assert_eq!(bench.expire(when - 1), []);
    assert_eq!(bench.wheel.next_when(), when);
    assert_eq!(bench.expire(when), [7]);
    assert_eq!(bench.wheel.next_when(), u64::MAX);
}

#[test]
fn far_and_overdue_timers_fire() {
    let mut bench = Bench::new();
    bench.insert(1 << 40, 5, 1);
    let far = bench.insert(1 << 40, u64::MAX, 2);
    assert_eq!(bench.expire(1 << 40), [1]);
    assert_eq!(bench.expire(u64::MAX - 1), []);
    assert!(bench.wheel.reset(far, u64::MAX - 1));
    assert_eq!(bench.expire(u64::MAX - 1), [2]);
    assert!(!bench.wheel.reset(far, 0), "fired: the key names nothing");
}

#[test]
fn a_removed_timer_does_not_fire_and_its_key_is_stale() {
    let mut bench = Bench::new();
    let key = bench.insert(0, 100, 1);
    assert!(bench.wheel.remove(key).is_some());
    assert!(bench.wheel.remove(key).is_none());
    let other = bench.insert(0, 100, 2);
    assert!(!bench.wheel.contains(key), "the entry was reused");
    assert!(bench.wheel.contains(other));
    assert_eq!(bench.expire(100), [2]);
}

/// From any slots, and however late the call is.
#[test]
fn timers_fire_in_their_order() {
    let mut bench = Bench::new();
    let rand = Rand::new(7);
    for _ in 0..1000 {
        let when = u64::from(rand.next_u32()) % 10_000_000;
        bench.insert(0, when, when);
    }
    for now in [1_000, 70_000, 5_000_000, 20_000_000] {
        assert!(bench.expire_in_order(now).is_sorted());
    }
    assert_eq!(bench.wheel.len(), 0);
}

/// Timers of the current tick that are moved and removed repeatedly leave few stale heap items.
#[test]
fn moved_timers_do_not_pile_up() {
    let mut bench = Bench::new();
    let first = bench.insert(0, 1, 1);
    let moved = bench.insert(0, 2, 2);
    for n in 0..10_000 {
        assert!(bench.wheel.reset(moved, 2 + n % 1000));
    }
    assert!(bench.wheel.near.len() <= 2 * 2 + STALE, "{}", bench.wheel.near.len());
    for _ in 0..10_000 {
        let removed = bench.insert(0, 3, 3);
        assert!(bench.wheel.remove(removed).is_some());
    }
    assert!(bench.wheel.near.len() <= 2 * 3 + STALE, "{}", bench.wheel.near.len());
    assert!(bench.wheel.remove(first).is_some());
    assert_eq!(bench.wheel.next_when(), 2 + 9_999 % 1000, "a removed timer is on top");
    assert_eq!(bench.expire(5_000), [2]);
    assert_eq!(bench.wheel.next_when(), u64::MAX);
}

#[test]
fn expire_respects_the_limit() {
    let mut bench = Bench::new();
    for n in 0..10 {
        bench.insert(0, 50, n);
    }
    let mut due = Vec::new();
    bench.wheel.expire(60, &mut due, 4);
    assert_eq!((due.len(), bench.wheel.len()), (4, 6));
    assert_eq!(bench.wheel.next_when(), 50);
    assert_eq!(bench.expire(60).len(), 6);
}

#[test]
fn a_burst_gives_its_memory_back() {
    let mut bench = Bench::new();
    let keys: Vec<Key> = (0..100_000).map(|n| bench.insert(0, n * 1000, n)).collect();
    assert!(bench.wheel.entries.chunks() > KEEP_CHUNKS);
    for key in &keys {
        assert!(bench.wheel.remove(*key).is_some());
    }
    assert!(bench.wheel.entries.chunks() <= KEEP_CHUNKS);
    assert!(keys.iter().all(|key| !bench.wheel.contains(*key)));
}

/// One in a hundred chunks has a timer that stays. The burst is of one tick, so it is in the heap
/// as well.
#[test]
fn a_burst_beside_far_timers_gives_its_memory_back() {
    const BURST: usize = 400 * CHUNK;
    let mut bench = Bench::new();
    let mut far = Vec::new();
    for n in 0..BURST as u64 {
        bench.insert(0, 1, n);
        if n % (100 * CHUNK as u64) == 500 {
            far.push(bench.insert(0, u64::MAX, n));
        }
    }
    assert!(bench.wheel.entries.chunks() >= 400 && bench.wheel.near.capacity() >= BURST);
    assert_eq!(bench.expire(1).len(), BURST);
    assert!(bench.wheel.entries.chunks() <= far.len() + KEEP_CHUNKS);
    assert!(bench.wheel.near.capacity() <= 4 * (STALE + CHUNK * (KEEP_CHUNKS + 1)));
    // The next timers use what is left.
    let kept = bench.wheel.entries.chunks();
    for n in 0..(kept * CHUNK - far.len()) as u64 {
        bench.insert(1, 2, n);
    }
    assert_eq!(bench.wheel.entries.chunks(), kept);
    assert!(far.iter().all(|key| bench.wheel.remove(*key).is_some()));
}

/// The heap has items of timers whose chunks are freed.
#[test]
fn a_removed_burst_of_the_current_tick_leaves_no_timer_in_the_heap() {
    let mut bench = Bench::new();
    let keys: Vec<Key> = (0..100 * CHUNK as u64).map(|n| bench.insert(0, 5 + n, n)).collect();
    for key in keys.iter().skip(1).rev() {
        assert!(bench.wheel.remove(*key).is_some());
    }
    assert!(bench.wheel.entries.chunks() <= KEEP_CHUNKS + 1);
    assert_eq!(bench.wheel.next_when(), 5);
    assert_eq!(bench.expire(1 << TICK_BITS), [0]);
    assert_eq!(bench.wheel.next_when(), u64::MAX);
}

/// Random adds, removals, moves and jumps in time, compared with a list.
#[test]
fn random_operations_agree_with_a_sorted_list() {
    for seed in 0..50 {
        let rand = Rand::new(seed);
        let mut bench = Bench::new();
        let mut model: Vec<(u64, u64, Key)> = Vec::new();
        let mut now = u64::from(rand.next_u32());
        for number in 0..2000 {
            let span = 1u64 << (rand.next_u32() % 45);
            let when = now + (u64::from(rand.next_u32()) << 16) % span;
            match rand.next_u32() % 10 {
                0..=4 => model.push((when, number, bench.insert(now, when, number))),
                5 if !model.is_empty() => {
                    let at = rand.next_u32() as usize % model.len();
                    assert!(bench.wheel.remove(model.swap_remove(at).2).is_some());
                }
                6 if !model.is_empty() => {
                    let at = rand.next_u32() as usize % model.len();
                    model[at].0 = when;
                    assert!(bench.wheel.reset(model[at].2, when));
                }
                _ => {
                    now += (u64::from(rand.next_u32()) << 12) % span;
                    let (due, rest): (Vec<_>, Vec<_>) =
                        model.iter().copied().partition(|t| t.0 <= now);
                    let mut due: Vec<u64> = due.iter().map(|t| t.1).collect();
                    due.sort_unstable();
                    assert_eq!(bench.expire(now), due, "seed {seed}, now {now}");
                    model = rest;
                }
            }
            let earliest = model.iter().map(|t| t.0).min().unwrap_or(u64::MAX);
            assert!(bench.wheel.next_when() <= earliest, "next_when is too late");
            assert_eq!(bench.wheel.len(), model.len());
        }
    }
}
