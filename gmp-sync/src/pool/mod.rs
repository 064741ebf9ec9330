//! `Pool`: a cache of items for reuse.
//!
//! Each P has a shard, chosen by its index. It takes its own items first, the last one put first,
//! and items of other shards only if its own has none. An external thread has a shard by a hash of
//! an address. No thread waits for a shard. A thread that finds a shard in use tries the next one.
//! If all are in use, the pool counts as empty or as full.
//!
//! Go's pool is per P too, and its fast path needs no atomic read-modify-write, because a goroutine
//! cannot lose its P during the access. Here sysmon may hand off the P of a blocked thread, and
//! several runtimes may share a pool. So a thread claims a shard by one uncontended
//! read-modify-write.
//!
//! Items age by time: see [aging]. Only puts from goroutines set that timer. While it is set, the
//! runtime does not report that all goroutines are asleep.

mod aging;
mod guard;
mod shard;
#[expect(unsafe_code, reason = "a cell that threads take turns at")]
mod try_cell;

pub use self::guard::PoolGuard;

use self::aging::{Aging, Alarm};
use self::shard::{Age, Rest, Shard};
use gmp_rt::prim::{AtomicBool, CachePadded, Ordering, drop_payload};
use gmp_rt::task::park::p_index;
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Default time from one ageing of a pool's items to the next. Chosen. Go ages its pools at each
/// garbage collection, at least every two minutes.
const IDLE: Duration = Duration::from_secs(10);

/// A cache of items that are used again instead of created (Go: `sync.Pool`).
///
/// Use it for buffers and other interchangeable items that are costly to create. It works on any
/// thread and is fastest in goroutines. Clones share one pool.
///
/// An item may be dropped at any time. Go drops unused items at garbage collections. Here an item
/// is dropped after 10 to 20 seconds without use; [`with_idle_timeout`](Self::with_idle_timeout)
/// sets another time. If only external threads put items into a pool, it keeps them until
/// [`drop_idle`](Self::drop_idle) is called.
///
/// The pool does not change items. Clear an item before you put it back, or after you get it.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::Pool;
///
/// let buffers = Pool::new(|| Vec::with_capacity(4096));
/// {
///     let mut buffer = buffers.get_guard();
///     buffer.clear();
///     buffer.extend_from_slice(b"hello");
/// } // goes back
/// let buffer: Vec<u8> = buffers.get();
/// assert_eq!(buffer, b"hello");
/// buffers.put(buffer);
/// ```
#[doc(alias("sync.Pool", "object_pool"))]
pub struct Pool<T: Send + 'static> {
    shared: Arc<PoolShared<T>>,
}

struct PoolShared<T> {
    /// The number of shards is a power of two.
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
    /// Creates an empty pool. `make` creates an item when the pool has none.
    #[must_use]
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::with_idle_timeout(make, IDLE)
    }

    /// As [`new`](Self::new), with another time after which items age.
    ///
    /// An item is dropped when it was not taken for one to two times `timeout`.
    #[must_use]
    pub fn with_idle_timeout(
        make: impl Fn() -> T + Send + Sync + 'static,
        timeout: Duration,
    ) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = (0..cpus.next_power_of_two()).map(|_| CachePadded(Shard::new())).collect();
        let (make, aging) = (Box::new(make), Aging::new());
        Self { shared: Arc::new(PoolShared { shards, make, aging, idle: timeout }) }
    }

    /// Returns an item from the pool, or a new one.
    #[inline]
    pub fn get(&self) -> T {
        self.try_get().unwrap_or_else(|| (self.shared.make)())
    }

    /// Returns an item from the pool. Returns `None` if it finds none.
    #[inline]
    pub fn try_get(&self) -> Option<T> {
        self.shared.take(home())
    }

    /// Returns an item in a guard that puts it back on drop.
    #[inline]
    pub fn get_guard(&self) -> PoolGuard<'_, T> {
        PoolGuard::new(self, self.get())
    }

    /// Puts an item into the pool.
    #[inline]
    pub fn put(&self, item: T) {
        if self.shared.put(home(), item) == Alarm::Wanted {
            self.shared.set_alarm();
        }
    }

    /// Ages all items: drops those that were put before the last ageing.
    ///
    /// Go does this at each garbage collection. A timer does it here after some idle time.
    ///
    /// # Panics
    ///
    /// If the drop of an item panics. All other items have aged then.
    pub fn drop_idle(&self) {
        self.shared.age().finish();
    }
}

/// The first shard that a thread uses, and whether the thread holds a P.
#[derive(Clone, Copy, Debug)]
enum ShardHome {
    P(usize),
    Outside(usize),
}

/// Returns the place of this thread.
#[inline]
fn home() -> ShardHome {
    p_index().map_or_else(outside, ShardHome::P)
}

/// Returns a place by the address of a thread-local variable.
fn outside() -> ShardHome {
    thread_local! {
        static HERE: Cell<u8> = const { Cell::new(0) };
    }
    let address = HERE.try_with(|here| ptr::from_ref(here).addr()).unwrap_or(0);
    // Multiplies by the golden ratio: the upper bits depend on all bits of the address.
    ShardHome::Outside(((address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize)
}

impl ShardHome {
    #[inline]
    fn index(self) -> usize {
        let (Self::P(n) | Self::Outside(n)) = self;
        n
    }
}

impl<T> PoolShared<T> {
    #[inline]
    fn shard(&self, n: usize) -> &Shard<T> {
        &self.shards[n & (self.shards.len() - 1)]
    }

    #[inline]
    fn take(&self, place: ShardHome) -> Option<T> {
        let home = place.index();
        self.shard(home).take(Age::Fresh).or_else(|| self.take_anywhere(home))
    }

    /// Tries the fresh items of all shards first, so that unused victims age.
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
    fn put(&self, place: ShardHome, item: T) -> Alarm {
        let mut item = item;
        for n in 0..self.shards.len() {
            match self.shard(place.index() + n).put(item) {
                Ok(()) => {
                    return match place {
                        ShardHome::P(_) => self.aging.want(),
                        // A timer would start the default runtime, on a thread that may not want
                        // one.
                        ShardHome::Outside(_) => Alarm::No,
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
            // Dropped one by one: a second panic inside the drop of a list would abort the process.
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

    /// Handles the end of the timer: ages all items. Returns whether another timer is needed.
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

impl<T: Send + 'static> PoolShared<T> {
    #[cold]
    fn set_alarm(self: &Arc<Self>) {
        let tick = Tick { pool: Arc::downgrade(self), ran: AtomicBool::new(false) };
        gmp_rt::after_func(self.idle, move || tick.run());
    }
}

/// Result of ageing all items.
#[must_use = "to be finished: the drop of an item may have panicked"]
struct Aged {
    rest: Rest,
    /// The first panic of an item's drop.
    panic: Option<Box<dyn Any + Send>>,
}

impl Aged {
    /// Resumes the panic, if there was one.
    fn finish(self) {
        if let Some(payload) = self.panic {
            resume_unwind(payload);
        }
    }
}

/// The callback of a pool's timer.
struct Tick<T: Send + 'static> {
    pool: Weak<PoolShared<T>>,
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
    /// Marks the timer as not set if its runtime shut down before it fired. The next put on another
    /// runtime sets a new one.
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
