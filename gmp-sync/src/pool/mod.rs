//! `Pool`.
//!
//! A shard for each P, which that P has to itself: it takes its own items, last in first out,
//! and from others only if it has none. Threads outside of gmp have a shard by their address. A shard
//! is never waited for: who finds one in use goes to the next, and if all are in use the pool counts
//! as empty, or full.
//!
//! Go's pool is per P too, and needs no atomic at all, since a goroutine cannot lose its P while
//! it looks. Here a P whose thread is stuck passes its right on, and several runtimes may share a
//! pool: so the shard of a P is claimed, at one uncontended read-modify-write.
//!
//! Items age by time: see [aging]. That timer is only set by puts from goroutines; it also puts
//! the report that all goroutines are asleep off, while a pool has items.

mod aging;
mod guard;
mod shard;
#[expect(unsafe_code, reason = "a cell that threads take turns at")]
mod try_cell;

pub use self::guard::PoolGuard;

use self::aging::{Aging, Alarm};
use self::shard::{Age, Rest, Shard};
use gmp_rt::park::p_index;
use gmp_rt::prim::{AtomicBool, CachePadded, Ordering, drop_payload};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// From one ageing of a pool's items to the next, unless told otherwise. Go's are collected at
/// least every two minutes, in a busy program several times a second.
const IDLE: Duration = Duration::from_secs(10);

/// Things to be used again rather than made anew (Go: `sync.Pool`).
///
/// For buffers and the like, which are costly to make and of which no particular one is wanted.
/// Works from goroutines, where it is fastest, and from any thread. Clones are the same pool.
///
/// An item may be dropped at any time. In place of Go's garbage collection, time decides: an item
/// that nobody takes for ten seconds ([`with_idle`](Self::with_idle)), twice over, is dropped. A
/// pool that only threads outside of gmp put to keeps its items, unless [`age`](Self::age) is called.
///
/// Items come back as they were put: clear what is to be cleared before putting.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Pool;
///
/// let buffers = Pool::new(|| Vec::with_capacity(4096));
/// {
///     let mut buffer = buffers.guard();
///     buffer.clear();
///     buffer.extend_from_slice(b"hello");
/// } // goes back
/// let buffer: Vec<u8> = buffers.get();
/// assert_eq!(buffer, b"hello");
/// buffers.put(buffer);
/// ```
pub struct Pool<T: Send + 'static> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    /// As many as a power of two.
    shards: Box<[CachePadded<Shard<T>>]>,
    make: Box<dyn Fn() -> T + Send + Sync>,
    aging: Aging,
    idle: Duration,
}

impl<T: Send + 'static> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Default + Send + 'static> Default for Pool<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: Send + 'static> Pool<T> {
    /// An empty pool that makes what it has not.
    #[must_use]
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::with_idle(make, IDLE)
    }

    /// [`new`](Self::new) with another time after which items age. An item is dropped when it was
    /// not taken for one to two times that long.
    #[must_use]
    pub fn with_idle(make: impl Fn() -> T + Send + Sync + 'static, idle: Duration) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = (0..cpus.next_power_of_two()).map(|_| CachePadded(Shard::new())).collect();
        let (make, aging) = (Box::new(make), Aging::new());
        Self { shared: Arc::new(Shared { shards, make, aging, idle }) }
    }

    /// An item: one that was put, or a new one.
    #[inline]
    pub fn get(&self) -> T {
        self.try_get().unwrap_or_else(|| (self.shared.make)())
    }

    /// An item that was put, if there is one at hand.
    #[inline]
    pub fn try_get(&self) -> Option<T> {
        self.shared.take(home())
    }

    /// An item that goes back when the guard is dropped.
    #[inline]
    pub fn guard(&self) -> PoolGuard<'_, T> {
        PoolGuard::new(self, self.get())
    }

    /// Puts an item, to be used again.
    #[inline]
    pub fn put(&self, item: T) {
        if self.shared.put(home(), item) == Alarm::Wanted {
            self.shared.set_alarm();
        }
    }

    /// Ages all items: those that were put before the last ageing are dropped. This is what Go does at
    /// each garbage collection, and what happens here by itself after some idle time.
    ///
    /// # Panics
    ///
    /// If the drop of an item does. All other items have aged then.
    pub fn age(&self) {
        self.shared.age().finish();
    }
}

/// Where a thread's items are, and whether it runs goroutines.
#[derive(Clone, Copy, Debug)]
enum Place {
    P(usize),
    Outside(usize),
}

/// Where this thread's items are.
#[inline]
fn home() -> Place {
    p_index().map_or_else(outside, Place::P)
}

/// A place by the address of something that each thread has for itself.
fn outside() -> Place {
    thread_local! {
        static HERE: Cell<u8> = const { Cell::new(0) };
    }
    let address = HERE.try_with(|here| ptr::from_ref(here).addr()).unwrap_or(0);
    // The upper bits of a product with the golden ratio depend on all bits of the address.
    Place::Outside(((address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize)
}

impl Place {
    #[inline]
    fn index(self) -> usize {
        let (Self::P(n) | Self::Outside(n)) = self;
        n
    }
}

impl<T> Shared<T> {
    #[inline]
    fn shard(&self, n: usize) -> &Shard<T> {
        &self.shards[n & (self.shards.len() - 1)]
    }

    #[inline]
    fn take(&self, place: Place) -> Option<T> {
        let home = place.index();
        self.shard(home).take(Age::Fresh).or_else(|| self.take_anywhere(home))
    }

    /// First the fresh ones of all, so that victims that are not needed age.
    #[cold]
    fn take_anywhere(&self, home: usize) -> Option<T> {
        let shards = || (0..self.shards.len()).map(|n| self.shard(home + n));
        let mut filled = shards().filter(|shard| shard.count() > 0);
        let fresh = filled.find_map(|shard| shard.take(Age::Fresh));
        let mut filled = shards().filter(|shard| shard.count() > 0);
        fresh.or_else(|| filled.find_map(|shard| shard.take(Age::Victim)))
    }

    /// Puts an item, or drops it if all shards are in use.
    #[inline]
    fn put(&self, place: Place, item: T) -> Alarm {
        let mut item = item;
        for n in 0..self.shards.len() {
            match self.shard(place.index() + n).put(item) {
                Ok(()) => {
                    return match place {
                        Place::P(_) => self.aging.want(),
                        // A timer would start the default runtime, on a thread that may want none.
                        Place::Outside(_) => Alarm::No,
                    };
                }
                Err(back) => item = back,
            }
        }
        Alarm::No
    }

    /// Ages all items, also if the drop of one panics.
    fn age(&self) -> Aged {
        let mut aged = Aged { rest: Rest::None, panic: None };
        for shard in &self.shards {
            let (left, old) = shard.age();
            if left == Rest::Items {
                aged.rest = left;
            }
            // One by one: a second panic inside the drop of a list would abort the process.
            for item in old {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(item))) {
                    match aged.panic {
                        None => aged.panic = Some(payload),
                        Some(_) => drop_payload(payload),
                    }
                }
            }
        }
        aged
    }

    /// The timer is over: ages all items, and says whether another is wanted.
    fn tick(&self) -> (Alarm, Aged) {
        self.aging.over();
        let aged = self.age();
        let alarm = match aged.rest {
            Rest::Items => self.aging.want(),
            Rest::None => Alarm::No,
        };
        (alarm, aged)
    }
}

impl<T: Send + 'static> Shared<T> {
    #[cold]
    fn set_alarm(self: &Arc<Self>) {
        let tick = Tick { pool: Arc::downgrade(self), ran: AtomicBool::new(false) };
        gmp_rt::after_func(self.idle, move || tick.run());
    }
}

/// What came of ageing all items.
#[must_use = "to be finished: the drop of an item may have panicked"]
struct Aged {
    rest: Rest,
    /// The first panic of an item's drop.
    panic: Option<Box<dyn Any + Send>>,
}

impl Aged {
    /// Continues the panic, if there was one.
    fn finish(self) {
        if let Some(payload) = self.panic {
            resume_unwind(payload);
        }
    }
}

/// What the timer of a pool does.
struct Tick<T: Send + 'static> {
    pool: Weak<Shared<T>>,
    ran: AtomicBool,
}

impl<T: Send + 'static> Tick<T> {
    fn run(&self) {
        self.ran.store(true, Ordering::Relaxed); // Relaxed: dropped after it has run
        let Some(pool) = self.pool.upgrade() else { return };
        let (alarm, aged) = pool.tick();
        if alarm == Alarm::Wanted {
            pool.set_alarm();
        }
        aged.finish();
    }
}

impl<T: Send + 'static> Drop for Tick<T> {
    /// Its runtime went down before it was time: a put on another sets the next one.
    fn drop(&mut self) {
        if !self.ran.load(Ordering::Relaxed)
            && let Some(pool) = self.pool.upgrade()
        {
            pool.aging.over();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: usize = self.shared.shards.iter().map(|shard| shard.count()).sum();
        f.debug_struct("Pool").field("items", &items).finish_non_exhaustive()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
