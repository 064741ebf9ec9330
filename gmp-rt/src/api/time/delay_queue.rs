//! `DelayQueue`: values with deadlines, and one timer for all of them.

use super::delay_heap::{DelayEntry, DelayHeap};
use super::sleep::{Sleep, sleep_until};
use crate::g::stored::{StorableWaker, StoredWaker};
use crate::g::waker::note_wait;
use crate::sched::budget::poll_proceed;
use crate::util::clock;
use crate::wait_reason::WaitReason;
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Values that are returned when their deadlines are over, in the order of the deadlines.
///
/// Use it for many entries with deadlines and one goroutine that handles them, such as a cache
/// whose entries expire. It needs one timer for all entries. A change of an entry takes logarithmic
/// time. Entries with the same deadline are returned in the order in which they were inserted or
/// reset.
///
/// It is also a [`Stream`], which ends when the queue is empty and continues after an insertion.
///
/// To change the queue while a goroutine waits for it, put it into a lock and poll it by
/// [`poll_expired`](Self::poll_expired), or wait in a `select!` beside a channel of changes. Each
/// change of the next deadline wakes the task that has polled last. The waker runs inside the
/// changing call, so also under the lock.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::time::{DelayQueue, Duration};
///
/// gmp::block_on(async {
///     let mut queue = DelayQueue::new();
///     let late = queue.insert("late", Duration::from_secs(3600));
///     queue.insert("second", Duration::from_millis(2));
///     queue.insert("first", Duration::from_millis(1));
///     assert_eq!(queue.next().await.unwrap().into_inner(), "first");
///     assert_eq!(queue.next().await.unwrap().into_inner(), "second");
///     assert_eq!(queue.remove(&late).unwrap().into_inner(), "late");
///     assert!(queue.next().await.is_none());
/// });
/// ```
pub struct DelayQueue<T> {
    heap: DelayHeap<T>,
    /// The timer of the next deadline that was polled for.
    sleep: Sleep,
    /// The task that waits, if the last poll was pending.
    waiting: Option<StoredWaker>,
}

/// The key of an entry of a [`DelayQueue`].
///
/// No entry of the queue gets the key of an earlier one. A key of another queue may be that of any
/// entry.
#[doc(alias = "Key")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DelayKey {
    pub(super) slot: usize,
    pub(super) id: u64,
}

/// A value that has left a [`DelayQueue`].
#[derive(Clone, Debug)]
pub struct Expired<T> {
    key: DelayKey,
    deadline: Instant,
    value: T,
}

impl<T> Expired<T> {
    fn new(entry: DelayEntry<T>) -> Self {
        Self { key: entry.key, deadline: entry.at, value: entry.value }
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Returns the deadline. It is in the future if the entry was removed.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the key that the entry had.
    #[must_use]
    pub fn key(&self) -> DelayKey {
        self.key
    }
}

impl<T> DelayQueue<T> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates an empty queue with memory for `n` entries.
    #[must_use]
    pub fn with_capacity(n: usize) -> Self {
        let sleep = sleep_until(Instant::now());
        Self { heap: DelayHeap::with_capacity(n), sleep, waiting: None }
    }

    /// Inserts a value that expires `after` from now.
    ///
    /// A time beyond the range of the clock, which is centuries, never comes.
    pub fn insert(&mut self, value: T, after: Duration) -> DelayKey {
        let (at, when) = from_now(after);
        self.change(|heap| heap.insert(at, when, value))
    }

    /// Inserts a value that expires at `at`. If `at` is in the past, it expires at once.
    pub fn insert_at(&mut self, value: T, at: Instant) -> DelayKey {
        self.change(|heap| heap.insert(at, clock::of(at), value))
    }

    /// Removes an entry. Returns `None` if it is not in the queue, because it has expired or was
    /// removed.
    pub fn remove(&mut self, key: &DelayKey) -> Option<Expired<T>> {
        self.change(|heap| heap.remove(*key)).map(Expired::new)
    }

    /// Sets the deadline of an entry to `after` from now. Returns `false` if it is not in the
    /// queue.
    pub fn reset(&mut self, key: &DelayKey, after: Duration) -> bool {
        let (at, when) = from_now(after);
        self.change(|heap| heap.reset(*key, at, when))
    }

    /// Sets the deadline of an entry to `at`. Returns `false` if it is not in the queue.
    pub fn reset_at(&mut self, key: &DelayKey, at: Instant) -> bool {
        self.change(|heap| heap.reset(*key, at, clock::of(at)))
    }

    /// Waits for the next entry to expire. Returns `None` if the queue is empty.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped wait has taken nothing.
    pub async fn next(&mut self) -> Option<Expired<T>> {
        poll_fn(|cx| self.poll_expired(cx)).await
    }

    /// As [`next`](Self::next), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_next")]
    pub fn next_blocking(&mut self) -> Option<Expired<T>> {
        crate::block_on(self.next())
    }

    /// Polls for the next entry to expire. Ready with `None` if the queue is empty.
    ///
    /// The queue keeps the waker of the last poll that was pending. It is woken when the next entry
    /// expires, and by each change after which another deadline is the next one, or none.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        ready!(poll_proceed(cx));
        let Some(when) = self.heap.first_when() else {
            self.waiting = None;
            return Poll::Ready(None);
        };
        if self.sleep.when() != when {
            self.sleep.reset_to(when);
        }
        if self.sleep.poll_due(cx).is_ready() {
            self.waiting = None;
            let first = self.heap.first_key().and_then(|key| self.heap.remove(key));
            return Poll::Ready(first.map(Expired::new));
        }
        if !self.waiting.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waiting = Some(StorableWaker::new(cx.waker()).store());
        }
        note_wait(cx, WaitReason::DelayQueue, 0);
        Poll::Pending
    }

    /// Returns the deadline of an entry, or `None` if it is not in the queue.
    #[must_use]
    pub fn deadline(&self, key: &DelayKey) -> Option<Instant> {
        self.heap.get(*key).map(|entry| entry.at)
    }

    /// Returns the key of the entry that expires next.
    #[must_use]
    pub fn peek(&self) -> Option<DelayKey> {
        self.heap.first_key()
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        drop(self.change(DelayHeap::clear));
    }

    /// Returns the number of entries, with those that have expired and were not returned yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes the entries. Wakes the task that waits if the next deadline has changed.
    fn change<R>(&mut self, change: impl FnOnce(&mut DelayHeap<T>) -> R) -> R {
        let before = self.heap.first_when();
        let result = change(&mut self.heap);
        if self.heap.first_when() != before
            && let Some(waker) = self.waiting.take()
        {
            waker.wake();
        }
        result
    }
}

/// Returns the time `after` from now. What the clock cannot express becomes a time that never
/// comes.
fn from_now(after: Duration) -> (Instant, u64) {
    /// For platforms whose instants end before the clock does.
    const THIRTY_YEARS: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    let when = clock::after(after);
    (clock::instant(when).unwrap_or_else(|| Instant::now() + THIRTY_YEARS), when)
}

impl<T> Stream for DelayQueue<T> {
    type Item = Expired<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.poll_expired(cx)
    }
}

/// No value is pinned.
impl<T> Unpin for DelayQueue<T> {}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue").field("len", &self.len()).finish_non_exhaustive()
    }
}
