//! Reports of the members of a set that may have something for the goroutine that waits for the
//! set.
//!
//! Each member has a waker of its own. It appends the key of the member to a list and wakes the
//! goroutine. So the goroutine polls only members that were reported, however many there are.

use gmp_rt::prim::{AtomicBool, Mutex, Ordering};
use gmp_rt::task::park::{StorableWaker, StoredWaker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// The reported members of a set, in the order of the reports.
#[derive(Debug)]
pub(crate) struct Reports {
    reported: Mutex<Reported>,
    /// Whether there are keys. Written under the lock. A reader without the lock may see an old
    /// value.
    has_keys: AtomicBool,
}

#[derive(Debug, Default)]
struct Reported {
    /// Keys of reported members. A key may be outdated: its member is gone, or has nothing.
    keys: VecDeque<usize>,
    waiting: Option<StoredWaker>,
}

/// What the waker of a member does.
struct Report {
    reports: Arc<Reports>,
    key: usize,
}

impl Wake for Report {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.reports.report(self.key);
    }
}

impl Default for Reports {
    fn default() -> Self {
        let reported = Mutex::new(Reported::default());
        Self { reported, has_keys: AtomicBool::new(false) }
    }
}

impl Reports {
    /// Returns a waker that reports the member `key`.
    pub(crate) fn waker(reports: &Arc<Self>, key: usize) -> Waker {
        Arc::new(Report { reports: reports.clone(), key }).into()
    }

    /// Appends a member, and wakes the goroutine that waits.
    pub(crate) fn report(&self, key: usize) {
        let mut reported = self.reported.lock();
        reported.keys.push_back(key);
        self.note_keys(true);
        let waiting = reported.waiting.take();
        drop(reported);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Takes the first reported member. Takes no lock if there is none.
    #[inline]
    pub(crate) fn take(&self) -> Option<usize> {
        // Relaxed: the keys are read under the lock, and `wait` checks again under the lock.
        if self.has_keys.load(Ordering::Relaxed) { self.take_first() } else { None }
    }

    fn take_first(&self) -> Option<usize> {
        let mut reported = self.reported.lock();
        let key = reported.keys.pop_front();
        self.note_keys(!reported.keys.is_empty());
        key
    }

    /// Notes whether there are keys. The caller holds the lock.
    fn note_keys(&self, has_keys: bool) {
        // Relaxed: see `take`.
        self.has_keys.store(has_keys, Ordering::Relaxed);
    }

    /// Stores the waker. Is ready if a member was reported meanwhile.
    pub(crate) fn wait(&self, waker: &mut StorableWaker<'_>) -> Poll<()> {
        let mut reported = self.reported.lock();
        if !reported.keys.is_empty() {
            return Poll::Ready(());
        }
        let old = match &reported.waiting {
            Some(old) if old.will_wake(waker.waker()) => None,
            _ => reported.waiting.replace(waker.store()),
        };
        drop(reported);
        // Dropped after the lock is released.
        drop(old);
        Poll::Pending
    }

    /// Returns the number of reports.
    pub(crate) fn len(&self) -> usize {
        self.reported.lock().keys.len()
    }

    /// Forgets the waker.
    pub(crate) fn forget(&self) {
        let old = self.reported.lock().waiting.take();
        drop(old);
    }

    /// Forgets all reports.
    pub(crate) fn clear(&self) {
        let mut reported = self.reported.lock();
        reported.keys.clear();
        self.note_keys(false);
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "reports_loom.rs"]
mod loom;
