//! Models of going to sleep against submitting work: the idle word and its fences, with the same
//! calls in the same order as `ready.rs`, `park.rs` and `find.rs` make them.

use super::idle::{IdleWord, Recheck};
use crate::prim::{AtomicUsize, Mutex, Ordering};
use ::loom::sync::Arc;
use ::loom::thread;

/// One P that is idle or about to be, and a queue that is a number.
struct Model {
    word: IdleWord,
    /// Published with `Release`, as the tail of a ring is.
    queue: AtomicUsize,
    idle: Mutex<usize>,
    /// Ms that were woken.
    woken: AtomicUsize,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: IdleWord::new(),
            queue: AtomicUsize::new(0),
            idle: Mutex::new(0),
            woken: AtomicUsize::new(0),
        })
    }

    /// `Local::put` and `wakep`.
    fn submit(&self) {
        let before = self.queue.load(Ordering::Relaxed);
        self.queue.store(before + 1, Ordering::Release);
        self.wakep();
    }

    fn wakep(&self) {
        if let Some(unit) = self.word.wake_wanted() {
            let mut idle = self.idle.lock();
            if *idle > 0 {
                *idle -= 1;
                self.word.unpark();
                drop(idle);
                self.woken.fetch_add(1, Ordering::Relaxed);
                // The woken M finds the work and stops looking.
                let _ = self.word.found(unit);
            } else {
                drop(idle);
                let _ = self.word.found(unit);
            }
        }
    }

    /// `Worker::park` up to the decision to sleep; `true` if it would sleep.
    fn park(&self, spinning: bool) -> bool {
        let unit = spinning.then(|| self.word.spin_anyway());
        {
            let mut idle = self.idle.lock();
            *idle += 1;
            self.word.park(unit);
        }
        self.word.parked();
        self.queue.load(Ordering::Relaxed) == 0
    }
}

/// An M that goes to sleep either sees the work or is woken for it.
fn sleeps_only_without_work(spinning: bool) {
    ::loom::model(move || {
        let model = Model::new();
        let parker = model.clone();
        let t = thread::spawn(move || parker.park(spinning));
        model.submit();
        let slept = t.join().unwrap();
        let woken = model.woken.load(Ordering::Relaxed);
        assert!(!slept || woken == 1, "work is queued, the M sleeps and was not woken");
    });
}

/// A spinning M goes to sleep while work comes.
#[test]
fn loom_submit_against_last_spinner() {
    sleeps_only_without_work(true);
}

/// An M that was not spinning goes to sleep while work comes.
#[test]
fn loom_submit_against_parker() {
    sleeps_only_without_work(false);
}

/// A P is idle. The one spinner finds other work and stops, while new work comes: either the
/// submitter wakes an M, or the spinner does.
#[test]
fn loom_submit_against_spinner_that_found_work() {
    ::loom::model(|| {
        let model = Model::new();
        {
            let mut idle = model.idle.lock();
            *idle += 1;
            model.word.park(None);
        }
        let unit = model.word.spin_anyway();
        let spinner = model.clone();
        let t = thread::spawn(move || {
            if spinner.word.found(unit) == Recheck::AsLast
                && spinner.queue.load(Ordering::Relaxed) > 0
            {
                spinner.wakep();
            }
        });
        model.submit();
        t.join().unwrap();
        assert!(model.woken.load(Ordering::Relaxed) >= 1, "an idle P, work, and nobody was woken");
    });
}

/// Two submitters wake one M once.
#[test]
fn loom_two_submitters_wake_one() {
    ::loom::model(|| {
        let model = Model::new();
        assert!(model.park(false));
        let other = model.clone();
        let t = thread::spawn(move || other.wakep());
        model.wakep();
        t.join().unwrap();
        assert_eq!(model.woken.load(Ordering::Relaxed), 1);
        assert_eq!(model.word.counts(), (0, 0));
    });
}

/// Somebody claims a spinning unit to start an M, finds no idle P and gives it up, while a P goes
/// idle and a submitter relies on the unit: who gives it up looks again.
#[test]
fn loom_unit_given_up_looks_again() {
    ::loom::model(|| {
        let model = Model::new();
        let starter = model.clone();
        let a = thread::spawn(move || {
            let unit = starter.word.spin_anyway();
            let mut idle = starter.idle.lock();
            if *idle > 0 {
                *idle -= 1;
                starter.word.unpark();
                starter.woken.fetch_add(1, Ordering::Relaxed);
            }
            drop(idle);
            let last = starter.word.found(unit) == Recheck::AsLast;
            if last && starter.queue.load(Ordering::Relaxed) > 0 {
                starter.wakep();
            }
        });
        let parker = model.clone();
        let b = thread::spawn(move || parker.park(false));
        model.submit();
        a.join().unwrap();
        let slept = b.join().unwrap();
        let woken = model.woken.load(Ordering::Relaxed);
        assert!(!slept || woken >= 1, "work is queued, the M sleeps and was not woken");
    });
}
