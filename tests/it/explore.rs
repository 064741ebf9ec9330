//! Runs a test once for every sequence of choices, for the models of the primitives.
//!
//! A model test makes a primitive and a plain description of it, chooses events one by one, applies
//! each to both, and compares them. All sequences up to a length are run, so each future is polled
//! and dropped at every point.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// The choices of one run. The last choice of a run advances first, like the last digit of a
/// counter.
#[derive(Default)]
pub(crate) struct Choices {
    /// Each choice, and how many there were.
    made: Vec<(usize, usize)>,
    at: usize,
    /// The chosen events, which are printed if the run fails.
    story: Vec<String>,
}

impl Choices {
    /// Chooses one of the events.
    pub(crate) fn choose<E: Copy + Debug>(&mut self, events: &[E]) -> E {
        if self.at == self.made.len() {
            self.made.push((0, events.len()));
        }
        let (choice, of) = self.made[self.at];
        assert_eq!(of, events.len(), "the run depends on more than its choices");
        self.at += 1;
        self.story.push(format!("{:?}", events[choice]));
        events[choice]
    }

    /// Advances to the next sequence. Returns `false` after the last one.
    fn advance(&mut self) -> bool {
        self.at = 0;
        self.story.clear();
        while let Some((choice, of)) = self.made.pop() {
            if choice + 1 < of {
                self.made.push((choice + 1, of));
                return true;
            }
        }
        false
    }
}

impl Drop for Choices {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the story: {}", self.story.join(", "));
        }
    }
}

/// Runs `run` for every sequence of choices that it makes.
pub(crate) fn every_story(mut run: impl FnMut(&mut Choices)) {
    let (mut choices, mut stories) = (Choices::default(), 0);
    loop {
        run(&mut choices);
        stories += 1;
        if !choices.advance() {
            break;
        }
    }
    println!("{stories} stories");
    assert!(stories > 1000, "only {stories} stories");
}

/// A value that a future borrows for its life, and puts back when it ends or is dropped.
pub(crate) struct Lent<T> {
    home: Rc<RefCell<Option<T>>>,
    value: Option<T>,
}

/// A value that can be [lent](Lent::take).
pub(crate) type Home<T> = Rc<RefCell<Option<T>>>;

impl<T> Lent<T> {
    /// Takes the value out of its home.
    pub(crate) fn take(home: &Home<T>) -> Self {
        let value = home.borrow_mut().take();
        Self { home: home.clone(), value }
    }
}

impl<T> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("lent once")
    }
}

impl<T> DerefMut for Lent<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("lent once")
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        *self.home.borrow_mut() = self.value.take();
    }
}

/// Returns the home of a value.
pub(crate) fn home<T>(value: T) -> Home<T> {
    Rc::new(RefCell::new(Some(value)))
}
