//! The ends of members that were not joined yet, in order, and the waker of the goroutine that
//! waits for one.

use gmp_rt::prim::Mutex;
use gmp_rt::task::park::{StorableWaker, StoredWaker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// Members that have ended and were not joined yet, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct MemberEnds(Mutex<Reported>);

#[derive(Debug, Default)]
struct Reported {
    /// Keys of members that have ended. A key may be outdated: then its member is gone or runs.
    keys: VecDeque<usize>,
    waiting: Option<StoredWaker>,
}

/// What the waker of a member does.
struct Report {
    ends: Arc<MemberEnds>,
    key: usize,
}

impl Wake for Report {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ends.report(self.key);
    }
}

impl MemberEnds {
    /// Returns a waker that reports the end of the member `key`.
    pub(super) fn waker(ends: &Arc<Self>, key: usize) -> Waker {
        Arc::new(Report { ends: ends.clone(), key }).into()
    }

    /// Appends a member that has ended, and wakes the goroutine that waits.
    pub(super) fn report(&self, key: usize) {
        let mut reported = self.0.lock();
        reported.keys.push_back(key);
        let waiting = reported.waiting.take();
        drop(reported);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Takes the first reported member.
    pub(super) fn take(&self) -> Option<usize> {
        self.0.lock().keys.pop_front()
    }

    /// Stores the waker. Is ready if a member was reported meanwhile.
    pub(super) fn wait(&self, waker: &mut StorableWaker<'_>) -> Poll<()> {
        let mut reported = self.0.lock();
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
    pub(super) fn len(&self) -> usize {
        self.0.lock().keys.len()
    }

    /// Forgets the waker.
    pub(super) fn forget(&self) {
        let old = self.0.lock().waiting.take();
        drop(old);
    }

    /// Forgets all reports.
    pub(super) fn clear(&self) {
        self.0.lock().keys.clear();
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "ends_loom.rs"]
mod loom;
