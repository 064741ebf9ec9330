//! The pool of sleeping Ms. Behind the lock of the idle lists.
//!
//! The Ms are in a list in the order in which they went to sleep. A wake-up takes the M that went
//! to sleep last: its data is still in a cache, and the others reach their keep-alive time. An M
//! also leaves the list from any place: because it ran the P to be granted last, or by itself. So
//! each M knows its place, and every operation takes constant time.
//!
//! Two Ms may have a [role](Roles). The *timer sleeper* sleeps until the next timer on behalf of
//! all. The *poller* waits in the netpoller. They are taken last, because another M would have to
//! replace them.

use crate::m::{M, MId};
use std::sync::Arc;

/// The M that sleeps until the next timer.
#[derive(Clone, Debug)]
pub(crate) struct TimerSleeper {
    pub(crate) m: Arc<M>,
    pub(crate) until: u64,
}

/// The sleeping Ms. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// The entries, in no order. Entries without an M are free.
    entries: Vec<PoolEntry>,
    /// The first free entry.
    free: Option<usize>,
    /// The entry of the M that went to sleep last.
    last: Option<usize>,
    len: usize,
    pub(crate) roles: Roles,
}

/// The Ms that wait on behalf of all.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// The M that sleeps until the next timer.
    pub(crate) timer_sleeper: Option<TimerSleeper>,
    /// The M that waits in the netpoller, is about to, or is coming back. It gives up the role
    /// itself, so that there are never two.
    pub(crate) poller: Option<MId>,
}

impl Roles {
    /// Whether `m` sleeps until the next timer.
    pub(crate) fn is_timer_sleeper(&self, m: &M) -> bool {
        self.timer_sleeper.as_ref().is_some_and(|sleeper| sleeper.m.id == m.id)
    }

    /// Notes that `m` does not sleep until a timer any more.
    pub(crate) fn forget_timer_sleeper(&mut self, m: &M) {
        if self.is_timer_sleeper(m) {
            self.timer_sleeper = None;
        }
    }

    /// Whether `m` has the role of the poller.
    fn is_poller(&self, m: &M) -> bool {
        self.poller == Some(m.id)
    }
}

#[derive(Debug)]
struct PoolEntry {
    m: Option<Arc<M>>,
    /// The entry of the M that went to sleep before, or the next free entry.
    before: Option<usize>,
    /// The entry of the M that went to sleep after.
    after: Option<usize>,
}

impl Pool {
    /// Returns the number of Ms.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the pool is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over the Ms. The first one went to sleep last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<M>> {
        let entries = std::iter::successors(self.last, |at| self.entries[*at].before);
        entries.filter_map(|at| self.entries[at].m.as_ref())
    }

    /// Whether `m` is in the pool.
    pub(crate) fn contains(&self, m: &M) -> bool {
        m.pool_place().is_some()
    }

    /// Adds an M that goes to sleep.
    pub(crate) fn push(&mut self, m: Arc<M>) {
        debug_assert!(!self.contains(&m), "an M is in the pool twice");
        let at = self.free.unwrap_or(self.entries.len());
        m.set_pool_place(Some(at));
        let entry = PoolEntry { m: Some(m), before: self.last, after: None };
        match self.entries.get_mut(at) {
            Some(free) => {
                self.free = free.before;
                *free = entry;
            }
            None => self.entries.push(entry),
        }
        if let Some(last) = self.last {
            self.entries[last].after = Some(at);
        }
        self.last = Some(at);
        self.len += 1;
    }

    /// Takes an M out to wake it: `preferred` if it is there, else the one that went to sleep last.
    /// The timer sleeper is taken only if no other M is left, and the poller after that.
    pub(crate) fn take(&mut self, preferred: Option<&Arc<M>>) -> Option<Arc<M>> {
        let roles = &self.roles;
        let has_no_role = |m: &Arc<M>| !roles.is_timer_sleeper(m) && !roles.is_poller(m);
        let preferred = preferred.filter(|m| self.contains(m) && has_no_role(m));
        // Each search passes over at most two Ms.
        let m = preferred
            .or_else(|| self.iter().find(|m| has_no_role(m)))
            .or_else(|| self.iter().find(|m| !roles.is_poller(m)))
            .or_else(|| self.iter().next())?
            .clone();
        self.leave(&m);
        Some(m)
    }

    /// Takes `m` out. Returns `false` if another thread took it before.
    pub(crate) fn leave(&mut self, m: &M) -> bool {
        let Some(at) = m.pool_place() else { return false };
        m.set_pool_place(None);
        let free = PoolEntry { m: None, before: self.free, after: None };
        let left = std::mem::replace(&mut self.entries[at], free);
        self.free = Some(at);
        self.len -= 1;
        match left.after {
            Some(after) => self.entries[after].before = left.before,
            None => self.last = left.before,
        }
        if let Some(before) = left.before {
            self.entries[before].after = left.after;
        }
        self.roles.forget_timer_sleeper(m);
        true
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::util::rand::Rand;

    fn ms(n: usize) -> Vec<Arc<M>> {
        (0..n).map(|id| Arc::new(M::for_this_thread(id))).collect()
    }

    fn ids(pool: &Pool) -> Vec<MId> {
        pool.iter().map(|m| m.id).collect()
    }

    #[test]
    fn the_last_m_is_taken_first_and_roles_are_taken_last() {
        let (mut pool, ms) = (Pool::default(), ms(4));
        ms.iter().for_each(|m| pool.push(m.clone()));
        pool.roles.timer_sleeper = Some(TimerSleeper { m: ms[3].clone(), until: 7 });
        pool.roles.poller = Some(2);
        assert_eq!(pool.take(Some(&ms[0])).map(|m| m.id), Some(0), "the preferred one");
        assert_eq!(pool.take(Some(&ms[2])).map(|m| m.id), Some(1), "the poller is not preferred");
        assert_eq!(pool.take(Some(&ms[0])).map(|m| m.id), Some(3), "it is not in the pool");
        assert!(pool.roles.timer_sleeper.is_none(), "the sleeper has left");
        assert_eq!(pool.take(None).map(|m| m.id), Some(2));
        assert!(pool.take(None).is_none() && pool.is_empty());
    }

    /// Random operations, compared with a plain list.
    #[test]
    fn ms_leave_from_any_place_and_the_order_stays() {
        let (mut pool, ms, rand) = (Pool::default(), ms(12), Rand::new(5));
        let mut list: Vec<MId> = Vec::new();
        for _ in 0..10_000 {
            let m = &ms[rand.next_u32() as usize % ms.len()];
            let place = list.iter().position(|id| *id == m.id);
            assert_eq!(pool.contains(m), place.is_some());
            match (rand.next_u32() % 3, place) {
                (0, _) => assert_eq!(pool.take(None).map(|m| m.id), list.pop()),
                (_, Some(at)) => {
                    assert!(pool.leave(m));
                    list.remove(at);
                }
                (_, None) => {
                    assert!(!pool.leave(m));
                    pool.push(m.clone());
                    list.push(m.id);
                }
            }
            assert_eq!(ids(&pool), list.iter().rev().copied().collect::<Vec<_>>());
            assert_eq!(pool.len(), list.len());
        }
    }
}
