//! `Shard`: the items of one place.
//!
//! It has two generations. A put adds to the fresh items. Ageing drops the *victims* and makes the
//! fresh items victims. So an item is dropped if it is not taken between two ageings.

use super::try_cell::TryCell;
use gmp_rt::prim::{AtomicUsize, Ordering};

pub(super) struct Shard<T> {
    items: TryCell<Items<T>>,
    /// Number of items. Written inside the cell; read outside as a hint.
    count: AtomicUsize,
}

struct Items<T> {
    /// The last item put is taken first, because it is probably still in the CPU's cache.
    fresh: Vec<T>,
    victims: Vec<T>,
}

/// A generation of items.
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

    /// Returns the number of items, which may be outdated.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) // Relaxed: a hint
    }

    /// Takes an item. Returns `None` if there is none, or another thread uses the shard.
    #[inline]
    pub(super) fn take(&self, age: Age) -> Option<T> {
        self.with(|items| match age {
            Age::Fresh => items.fresh.pop(),
            Age::Victim => items.victims.pop(),
        })?
    }

    /// Puts an item. Returns it as the error if another thread uses the shard.
    #[inline]
    pub(super) fn put(&self, item: T) -> Result<(), T> {
        let mut item = Some(item);
        self.with(|items| items.fresh.extend(item.take()));
        item.map_or(Ok(()), Err)
    }

    /// Ages the items and returns the old victims, which the caller drops. A shard that another
    /// thread uses is not aged.
    pub(super) fn age(&self) -> (Rest, Vec<T>) {
        let aged = self.with(|items| {
            let old = std::mem::replace(&mut items.victims, std::mem::take(&mut items.fresh));
            (if items.victims.is_empty() { Rest::None } else { Rest::Items }, old)
        });
        aged.unwrap_or((Rest::Items, Vec::new()))
    }
}
