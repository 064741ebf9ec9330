//! Models of the note: a wake-up before, during and after the owner falls asleep.

use super::note::{Note, Slept};
use crate::netpoll::{Delay, Netpoll, PollerWake, Ready};
use crate::prim::{AtomicUsize, Ordering, current_thread};
use ::loom::sync::{Arc, Condvar, Mutex};
use ::loom::thread;

/// A wake-up is never lost, and the waker's earlier writes are visible after the sleep.
#[test]
fn loom_wake_vs_sleep() {
    ::loom::model(|| {
        let note = Arc::new(Note::for_this_thread());
        let data = Arc::new(AtomicUsize::new(0));
        let t = {
            let (note, data) = (note.clone(), data.clone());
            thread::spawn(move || {
                data.store(1, Ordering::Relaxed);
                note.wake();
            })
        };
        note.sleep();
        assert_eq!(data.load(Ordering::Relaxed), 1);
        t.join().unwrap();
    });
}

/// Two wakers, whose wake-ups may count as one: the owner sees the writes of both.
///
/// Three preemptions reach every state of the one flag. More would take minutes.
#[test]
fn loom_wake_vs_wake_of_a_sleeper() {
    let mut model = ::loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let note = Arc::new(Note::for_this_thread());
        let data = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (note, data) = (note.clone(), data.clone());
            thread::spawn(move || {
                data.fetch_add(1, Ordering::Relaxed);
                note.wake();
            });
        }
        while data.load(Ordering::Relaxed) < 2 {
            note.sleep();
        }
    });
}

/// The thread is unparked for another reason: the note does not count that as a wake-up.
#[test]
fn loom_stray_unpark_vs_sleep() {
    ::loom::model(|| {
        let note = Arc::new(Note::for_this_thread());
        let data = Arc::new(AtomicUsize::new(0));
        let me = current_thread();
        let t = {
            let (note, data) = (note.clone(), data.clone());
            thread::spawn(move || {
                me.unpark();
                data.store(1, Ordering::Relaxed);
                note.wake();
            })
        };
        note.sleep();
        assert_eq!(data.load(Ordering::Relaxed), 1);
        t.join().unwrap();
    });
}

/// A netpoller without sockets, which only has its wake-up, like epoll with an eventfd. One poll
/// takes a wake-up.
#[derive(Default)]
pub(crate) struct BellOnly {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl std::fmt::Debug for BellOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BellOnly")
    }
}

impl Netpoll for BellOnly {
    fn poll(&self, delay: Delay, _: usize, _: &mut Ready) -> PollerWake {
        let mut rung = self.rung.lock().unwrap();
        while !*rung && delay != Delay::Now {
            rung = self.changed.wait(rung).unwrap();
        }
        if std::mem::take(&mut *rung) { PollerWake::Taken } else { PollerWake::Left }
    }
    fn wake(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }
    fn is_used(&self) -> bool {
        true
    }
    fn has_waiters(&self) -> bool {
        false
    }
    fn shut(&self, _: &mut Ready) {}
}

/// The owner sleeps in the netpoller. A wake-up before, during or after ends the sleep, and the
/// waker's writes are visible. Without the wake-up of the poller this model hangs.
#[test]
fn loom_wake_vs_sleep_in() {
    ::loom::model(|| {
        let data = Arc::new(AtomicUsize::new(0));
        let note = Arc::new(Note::for_this_thread());
        let netpoll: std::sync::Arc<dyn Netpoll> = std::sync::Arc::new(BellOnly::default());
        let t = {
            let (note, data) = (note.clone(), data.clone());
            thread::spawn(move || {
                data.store(1, Ordering::Relaxed);
                note.wake();
            })
        };
        let slept = note.sleep_in(&netpoll, || {
            let _ = netpoll.poll(Delay::Forever, 1, &mut Ready::default());
        });
        assert_eq!(slept, Slept::Woken);
        assert_eq!(data.load(Ordering::Relaxed), 1);
        t.join().unwrap();
    });
}
