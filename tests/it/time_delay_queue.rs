//! `DelayQueue`, alone and against a model. Most deadlines are over at the start or hours away, so
//! that no result depends on the speed of the machine.

use super::cancel::Polled;
use super::explore::{Choices, every_story};
use super::support::{Mutex, runtime, waiting};
use futures::StreamExt;
use gmp::time::{DelayKey, DelayQueue, Duration, Instant};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const HOUR: Duration = Duration::from_secs(3600);

#[gmp::test]
async fn entries_expire_in_the_order_of_their_deadlines() {
    let mut queue = DelayQueue::new();
    let start = Instant::now();
    for (value, millis) in [(3, 6), (1, 2), (2, 4), (0, 0)] {
        queue.insert(value, Duration::from_millis(millis));
    }
    for value in 0..4 {
        let expired = queue.next().await.unwrap();
        assert!(expired.deadline() >= start && Instant::now() >= expired.deadline());
        assert_eq!(expired.into_inner(), value);
    }
    assert!(queue.next().await.is_none());
}

#[test]
fn a_thread_waits_for_an_entry() {
    let mut queue = DelayQueue::with_capacity(1);
    let key = queue.insert((), Duration::from_millis(1));
    assert_eq!(queue.next_blocking().unwrap().key(), key);
    assert!(queue.next_blocking().is_none());
}

#[gmp::test]
async fn a_stream_ends_when_the_queue_is_empty_and_continues_after_an_insertion() {
    let past = Instant::now();
    let mut queue = DelayQueue::default();
    (0..3).for_each(|n| _ = queue.insert_at(n, past));
    assert_eq!(queue.by_ref().map(|e| e.into_inner()).collect::<Vec<_>>().await, [0, 1, 2]);
    queue.insert_at(3, past);
    assert_eq!(StreamExt::next(&mut queue).await.unwrap().into_inner(), 3);
}

#[gmp::test]
async fn a_dropped_wait_takes_nothing() {
    let mut queue = DelayQueue::new();
    let key = queue.insert((), HOUR);
    for _ in 0..3 {
        assert!(gmp::timeout(Duration::ZERO, queue.next()).await.is_err());
    }
    assert!(queue.reset_at(&key, Instant::now()));
    assert_eq!(queue.next().await.unwrap().key(), key);
}

/// A goroutine that waits is woken by an insertion, a reset, the removal of the last entry.
#[test]
fn changes_by_others_end_a_wait() {
    let runtime = runtime(1);
    for change in 0..4 {
        let queue = Arc::new(Mutex::new(DelayQueue::new()));
        let key = queue.lock().unwrap().insert("late", HOUR);
        let waits = {
            let queue = queue.clone();
            runtime.spawn(poll_fn(move |cx| queue.lock().unwrap().poll_expired(cx)))
        };
        runtime.block_on(waiting("delay queue", 1));
        let expected = {
            let mut queue = queue.lock().unwrap();
            match change {
                0 => {
                    queue.insert_at("new", Instant::now());
                    Some("new")
                }
                1 => {
                    assert!(queue.reset(&key, Duration::ZERO));
                    Some("late")
                }
                2 => {
                    assert_eq!(queue.remove(&key).unwrap().into_inner(), "late");
                    None
                }
                _ => {
                    queue.clear();
                    None
                }
            }
        };
        let got = gmp::block_on(waits).unwrap();
        assert_eq!(got.map(|expired| expired.into_inner()), expected);
    }
}

#[test]
fn times_beyond_the_clock_never_come() {
    let mut queue = DelayQueue::new();
    let far = queue.insert("far", Duration::MAX);
    let near = queue.insert("near", HOUR);
    assert_eq!(queue.peek(), Some(near));
    assert!(queue.deadline(&far).unwrap() > queue.deadline(&near).unwrap());
    assert!(queue.reset(&near, Duration::MAX));
    assert_eq!(queue.peek(), Some(far), "it was set before");
    assert!(Polled::new(queue.next()).poll().is_none());
    assert!(queue.reset(&far, Duration::ZERO));
    assert_eq!(queue.remove(&near).unwrap().into_inner(), "near");
    assert_eq!(queue.next_blocking().unwrap().into_inner(), "far");
}

#[test]
fn a_clear_drops_the_values() {
    let (mut queue, value) = (DelayQueue::new(), Arc::new(()));
    let keys: Vec<_> = (0..3).map(|_| queue.insert(value.clone(), HOUR)).collect();
    assert_eq!(format!("{queue:?}"), "DelayQueue { len: 3, .. }");
    queue.clear();
    assert_eq!((Arc::strong_count(&value), queue.len()), (1, 0));
    let key = queue.insert(value.clone(), HOUR);
    assert!(keys.iter().all(|old| queue.remove(old).is_none() && *old != key));
    drop(queue);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn it_can_be_sent_and_needs_no_pin() {
    fn usual<T: Send + Sync + Unpin>(_: &T) {}
    usual(&DelayQueue::<std::marker::PhantomPinned>::new());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Past,
    Soon,
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Insert(At),
    Reset(usize, At),
    Remove(usize),
    Clear,
    Poll,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct World {
    start: Instant,
    queue: DelayQueue<usize>,
    /// The keys of all insertions. The value of an entry is its index here.
    keys: Vec<DelayKey>,
    /// The entries as they should be: deadline, number of the insertion or reset, value.
    model: Vec<(At, usize, usize)>,
    turns: usize,
    wakes: Arc<Wakes>,
    /// The next deadline at the last poll, if that was pending and no wake-up came since.
    waits_for: Option<At>,
}

impl World {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            queue: DelayQueue::new(),
            keys: Vec::new(),
            model: Vec::new(),
            turns: 0,
            wakes: Arc::default(),
            waits_for: None,
        }
    }

    fn events(&self) -> Vec<Event> {
        let all = [At::Past, At::Soon, At::Late];
        let mut events = vec![Event::Poll, Event::Clear];
        if self.keys.len() < 2 {
            events.extend(all.map(Event::Insert));
        }
        for key in 0..self.keys.len() {
            events.push(Event::Remove(key));
            events.extend(all.map(|at| Event::Reset(key, at)));
        }
        events
    }

    fn instant(&self, at: At) -> Instant {
        match at {
            At::Past => self.start,
            At::Soon => self.start + HOUR,
            At::Late => self.start + 2 * HOUR,
        }
    }

    /// Removes the entry with this value from the model.
    fn take(&mut self, value: usize) -> bool {
        let before = self.model.len();
        self.model.retain(|entry| entry.2 != value);
        self.model.len() < before
    }

    fn act(&mut self, event: Event) {
        self.turns += 1;
        match event {
            Event::Insert(at) => {
                let (value, deadline) = (self.keys.len(), self.instant(at));
                self.keys.push(self.queue.insert_at(value, deadline));
                self.model.push((at, self.turns, value));
            }
            Event::Reset(value, at) => {
                let deadline = self.instant(at);
                let there = self.queue.reset_at(&self.keys[value], deadline);
                assert_eq!(there, self.take(value));
                if there {
                    self.model.push((at, self.turns, value));
                }
            }
            Event::Remove(value) => {
                let removed = self.queue.remove(&self.keys[value]);
                assert_eq!(removed.is_some(), self.take(value));
                assert!(removed.is_none_or(|removed| removed.into_inner() == value));
            }
            Event::Clear => {
                self.queue.clear();
                self.model.clear();
            }
            Event::Poll => self.poll(),
        }
        self.model.sort_unstable();
        self.check();
    }

    fn poll(&mut self) {
        let waker = Waker::from(self.wakes.clone());
        self.wakes.0.store(0, Ordering::Relaxed);
        self.waits_for = None;
        let polled = self.queue.poll_expired(&mut Context::from_waker(&waker));
        match (polled, self.model.first().copied()) {
            (Poll::Ready(None), None) => {}
            (Poll::Ready(Some(expired)), Some((At::Past, _, value))) => {
                assert_eq!((expired.key(), expired.deadline()), (self.keys[value], self.start));
                assert_eq!(expired.into_inner(), value);
                self.model.remove(0);
            }
            (Poll::Pending, Some((at @ (At::Soon | At::Late), ..))) => self.waits_for = Some(at),
            (polled, first) => panic!("{polled:?}, but the model has {first:?}"),
        }
    }

    /// Checks the contents, and that the waiting task was woken exactly if the next deadline has
    /// changed.
    fn check(&mut self) {
        let next = self.model.first().map(|(at, ..)| *at);
        if let Some(at) = self.waits_for {
            let woken = self.wakes.0.load(Ordering::Relaxed) > 0;
            assert_eq!(woken, next != Some(at), "waits for {at:?}, next is {next:?}");
            if woken {
                self.waits_for = None;
            }
        }
        let first = self.model.first().map(|(_, _, value)| self.keys[*value]);
        assert_eq!(self.queue.peek(), first);
        let (len, is_empty) = (self.model.len(), self.model.is_empty());
        assert_eq!((self.queue.len(), self.queue.is_empty()), (len, is_empty));
        for (value, key) in self.keys.iter().enumerate() {
            let entry = self.model.iter().find(|entry| entry.2 == value);
            assert_eq!(self.queue.deadline(key), entry.map(|(at, ..)| self.instant(*at)));
        }
    }
}

fn story(choices: &mut Choices) {
    let mut world = World::new();
    for _ in 0..5 {
        let events = world.events();
        world.act(choices.choose(&events));
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(story);
}
