//! `Notify`, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, every_story};
use super::support::{runtime, waiting};
use futures::future::FusedFuture;
use gmp::sync::Notify;
use gmp::sync::futures::OwnedNotified;
use std::cell::RefCell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static NOTIFY: Notify = Notify::new();

#[test]
fn a_static_wakes_a_thread() {
    let waits = std::thread::spawn(|| NOTIFY.notified_blocking());
    NOTIFY.notify_one();
    waits.join().unwrap();
}

/// Ten goroutines pass a token around: each wait ends by one notification, and none is lost.
#[test]
fn notifications_are_not_lost_between_goroutines() {
    let runtime = runtime(2);
    let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
    let handles: Vec<_> = (0..10)
        .map(|_| {
            let shared = shared.clone();
            runtime.spawn(async move {
                for _ in 0..200 {
                    shared.0.notified().await;
                    assert_eq!(shared.1.fetch_add(1, Ordering::Relaxed), 0, "two have the token");
                    gmp::yield_now().await;
                    shared.1.fetch_sub(1, Ordering::Relaxed);
                    shared.0.notify_one();
                }
            })
        })
        .collect();
    shared.0.notify_one();
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
}

#[test]
fn a_dump_shows_the_wait() {
    let runtime = runtime(1);
    let notify = Arc::new(Notify::new());
    let waits = runtime.spawn(notify.clone().notified_owned());
    runtime.block_on(waiting("notify wait", 1));
    notify.notify_waiters();
    gmp::block_on(waits).unwrap();
}

#[test]
fn a_notified_that_has_ended_stays_ended() {
    let notify = Notify::new();
    notify.notify_one();
    let mut notified = pin!(notify.notified());
    assert!(!notified.is_terminated() && notified.as_mut().enable());
    assert!(notified.as_mut().enable() && !notified.is_terminated());
    assert!(Polled::new(notified.as_mut()).poll().is_some());
    assert!(notified.is_terminated());
    assert!(Polled::new(notified.as_mut()).poll().is_some());
    assert!(Polled::new(notify.notified()).poll().is_none(), "took two permits");
}

#[test]
fn the_types_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe>(_: &T) {}
    let notify = Notify::default();
    usual(&notify);
    notify.notify_one();
    assert_eq!(format!("{notify:?}"), "Notify { permit: Stored }");
    fn both<T: Send + Sync>(_: &T) {}
    both(&notify.notified());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Create,
    Poll(usize),
    Enable(usize),
    Drop(usize),
    One,
    Last,
    All,
}

/// A wait as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Not polled yet.
    Created,
    /// In the queue.
    Queued,
    /// Chosen by `One` or `Last`, which goes to another wait if this one is dropped.
    Chosen(Event),
    /// Ended by `All`.
    Released,
    /// `enable` has returned `true`.
    Enabled,
    Gone,
}

struct Wait {
    future: Rc<RefCell<Pin<Box<OwnedNotified>>>>,
    polled: Polled<'static, ()>,
    /// It was polled with a waker.
    has_waker: bool,
    model: Model,
}

#[derive(Default)]
struct World {
    notify: Arc<Notify>,
    waits: Vec<Wait>,
    /// The queue, by the indices of the waits.
    line: Vec<usize>,
    permit: bool,
}

impl World {
    fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::One, Event::Last, Event::All];
        if self.waits.len() < 3 {
            events.push(Event::Create);
        }
        for (at, wait) in self.waits.iter().enumerate() {
            if wait.model != Model::Gone {
                events.extend([Event::Poll(at), Event::Enable(at), Event::Drop(at)]);
            }
        }
        events
    }

    /// Notifies one wait, as `One` or `Last`.
    fn notify(&mut self, how: Event) {
        let at = match how {
            _ if self.line.is_empty() => {
                self.permit = true;
                return;
            }
            Event::Last => self.line.pop().unwrap(),
            _ => self.line.remove(0),
        };
        self.waits[at].model = Model::Chosen(how);
    }

    /// Lets a wait take its notification, or join the line. Returns whether it has ended.
    fn take(&mut self, at: usize) -> bool {
        match self.waits[at].model {
            Model::Created if std::mem::take(&mut self.permit) => true,
            Model::Created => {
                self.waits[at].model = Model::Queued;
                self.line.push(at);
                false
            }
            Model::Queued => false,
            Model::Chosen(_) | Model::Released | Model::Enabled => true,
            Model::Gone => unreachable!(),
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Create => {
                let future = Rc::new(RefCell::new(Box::pin(self.notify.clone().notified_owned())));
                let polled = future.clone();
                let poll =
                    move |cx: &mut std::task::Context<'_>| polled.borrow_mut().as_mut().poll(cx);
                let polled = Polled::new(std::future::poll_fn(poll));
                let wait = Wait { future, polled, has_waker: false, model: Model::Created };
                self.waits.push(wait);
            }
            Event::Poll(at) => {
                let ends = self.take(at);
                let wait = &mut self.waits[at];
                assert_eq!(wait.polled.poll().is_some(), ends);
                wait.has_waker = true;
                if ends {
                    wait.model = Model::Gone;
                }
            }
            Event::Enable(at) => {
                let ends = self.take(at);
                assert_eq!(self.waits[at].future.borrow_mut().as_mut().enable(), ends);
                if ends {
                    self.waits[at].model = Model::Enabled;
                }
            }
            Event::Drop(at) => {
                let wait = &mut self.waits[at];
                wait.polled.cancel();
                *wait.future.borrow_mut() = Box::pin(self.notify.clone().notified_owned());
                match std::mem::replace(&mut wait.model, Model::Gone) {
                    Model::Queued => self.line.retain(|other| *other != at),
                    Model::Chosen(how) => self.notify(how),
                    _ => {}
                }
            }
            Event::One => {
                self.notify.notify_one();
                self.notify(event);
            }
            Event::Last => {
                self.notify.notify_last();
                self.notify(event);
            }
            Event::All => {
                self.notify.notify_waiters();
                self.line.clear();
                for wait in &mut self.waits {
                    if matches!(wait.model, Model::Created | Model::Queued) {
                        wait.model = Model::Released;
                    }
                }
            }
        }
    }

    /// A wait was woken exactly if it left the queue by a notification.
    fn check(&self) {
        for wait in self.waits.iter().filter(|wait| wait.has_waker) {
            match wait.model {
                Model::Queued => assert!(!wait.polled.is_woken()),
                Model::Chosen(_) | Model::Released => assert!(wait.polled.is_woken()),
                _ => {}
            }
        }
        let shown = format!("{:?}", self.notify);
        assert_eq!(shown.contains("Stored"), self.permit, "{shown}");
    }
}

fn story(choices: &mut Choices) {
    let mut world = World::default();
    for _ in 0..5 {
        let events = world.events();
        world.act(choices.choose(&events));
        world.check();
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    every_story(story);
}

/// The same with two waits in the queue from the start, so that longer lines are reached.
#[test]
fn every_sequence_after_two_polled_waits_agrees_with_the_model() {
    every_story(|choices| {
        let mut world = World::default();
        for event in [Event::Create, Event::Create, Event::Poll(0), Event::Poll(1)] {
            world.act(event);
        }
        for _ in 0..4 {
            let events = world.events();
            world.act(choices.choose(&events));
            world.check();
        }
    });
}
