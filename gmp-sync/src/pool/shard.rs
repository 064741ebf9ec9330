//! `Shard`: the items that one P has put back.
//!
//! In two generations. Items are put among the fresh ones; ageing drops the *victims* and makes the
//! fresh ones victims. So an item is dropped when it was not used from one ageing to the next but one.

use super::try_cell::TryCell;
use gmp_rt::prim::{AtomicUsize, Ordering};

pub(super) struct Shard<T> {
    items: TryCell<Items<T>>,
    /// How many there are. Written inside the cell; read outside as a hint.
    count: AtomicUsize,
}

struct Items<T> {
    /// The last one put back is the first to go: it is in the cache still.
    fresh: Vec<T>,
    victims: Vec<T>,
}

/// Which items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Fresh,
    Victim,
}

/// Whether a shard has items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Items,
    None,
}

impl<T> Shard<T> {
    pub(super) fn new() -> Self {
        let items = Items { fresh: Vec::new(), victims: Vec::new() };
        Self { items: TryCell::new(items), count: AtomicUsize::new(0) }
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Items<T>) -> R) -> Option<R> {
        self.items.try_with(|items| {
            let result = f(items);
            // Relaxed: a hint.
            self.count.store(items.fresh.len() + items.victims.len(), Ordering::Relaxed);
            result
        })
    }

    /// How many items there are, or were just now.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) // Relaxed: a hint
    }

    /// Takes an item; `None` if there is none, or another is at it.
    #[inline]
    pub(super) fn take(&self, age: Age) -> Option<T> {
        self.with(|items| match age {
            Age::Fresh => items.fresh.pop(),
            Age::Victim => items.victims.pop(),
        })?
    }

    /// Puts an item; gives it back if another is at it.
    #[inline]
    pub(super) fn put(&self, item: T) -> Result<(), T> {
        let mut item = Some(item);
        self.with(|items| items.fresh.extend(item.take()));
        item.map_or(Ok(()), Err)
    }

    /// Ages the items; those too old are to be dropped by the caller. One that others are at is in
    /// use, and not aged.
    pub(super) fn age(&self) -> (Rest, Vec<T>) {
        let aged = self.with(|items| {
            let old = std::mem::replace(&mut items.victims, std::mem::take(&mut items.fresh));
            (if items.victims.is_empty() { Rest::None } else { Rest::Items }, old)
        });
        aged.unwrap_or((Rest::Items, Vec::new()))
    }
}
