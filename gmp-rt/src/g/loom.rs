//! Models of the status word: wake against poll, join against completion, last reference.

use super::status::{AfterDetach, AfterDone, AfterPoll, AfterRef, Output, Status, ToRunning, Wake};
use crate::prim::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use ::loom::sync::Arc;
use ::loom::thread;

/// Without this, a shim that fell back to std would make every model pass.
#[test]
fn loom_canary_types_are_looms() {
    let _: fn(usize) -> ::loom::sync::atomic::AtomicUsize = AtomicUsize::new;
}

/// A data race through the shim must be seen.
#[test]
#[should_panic]
fn loom_canary_race_is_seen() {
    ::loom::model(|| {
        let cell = Arc::new(UnsafeCell::new(0));
        let other = cell.clone();
        // SAFETY: it is not safe: that is what loom has to find.
        let t = thread::spawn(move || other.with_mut(|p| unsafe { *p = 1 }));
        // SAFETY: as above.
        cell.with_mut(|p| unsafe { *p = 2 });
        t.join().unwrap();
    });
}

/// A goroutine with a "future" that only its owner may touch.
struct Mock {
    status: Status,
    /// Future, later output, and at last the memory itself.
    future: UnsafeCell<usize>,
    /// The join slot.
    slot: UnsafeCell<usize>,
    event: AtomicBool,
    /// Outputs stored and not dropped.
    outputs: AtomicUsize,
    freed: AtomicUsize,
}

impl Mock {
    fn new() -> Arc<Self> {
        let mock = Self::unborn();
        mock.status.init();
        mock
    }

    fn unborn() -> Arc<Self> {
        Arc::new(Self {
            status: Status::default(),
            future: UnsafeCell::new(0),
            slot: UnsafeCell::new(0),
            event: AtomicBool::new(false),
            outputs: AtomicUsize::new(0),
            freed: AtomicUsize::new(0),
        })
    }

    /// The future is the caller's: loom checks that nobody else touches it now.
    fn touch(&self) {
        // SAFETY: the phase says that the caller owns it; loom checks just that.
        self.future.with_mut(|p| unsafe { *p += 1 });
    }

    /// The join slot is the caller's.
    fn touch_slot(&self) {
        // SAFETY: `JOIN_WAKER` says that the caller owns it; loom checks just that.
        self.slot.with_mut(|p| unsafe { *p += 1 });
    }

    fn drop_output(&self) {
        self.touch();
        assert_eq!(self.outputs.fetch_sub(1, Ordering::Relaxed), 1, "dropped twice");
    }

    fn free(&self) {
        self.touch();
        assert_eq!(self.freed.fetch_add(1, Ordering::Relaxed), 0, "freed twice");
        assert_eq!(self.outputs.load(Ordering::Relaxed), 0, "freed with its output");
    }

    fn drop_ref(&self) {
        if self.status.drop_ref() == AfterRef::Free {
            self.free();
        }
    }

    /// Drops the handle as `JoinHandle` does.
    fn detach(&self) {
        match self.status.detach() {
            AfterDetach::Released => return,
            AfterDetach::TakeWaker => self.touch_slot(),
            AfterDetach::DropOutput => self.drop_output(),
        }
        self.drop_ref();
    }

    /// Polls once; the future waits for `event`. `true` when it is done.
    fn poll(&self) -> bool {
        assert_eq!(self.status.to_running(), ToRunning::Run);
        self.touch();
        self.event.load(Ordering::Relaxed)
    }

    /// Polls until it is done or waits.
    fn run(&self) -> bool {
        loop {
            if self.poll() {
                return true;
            }
            match self.status.after_pending() {
                AfterPoll::Parked => return false,
                AfterPoll::Requeue => {}
                AfterPoll::Cancelled => unreachable!(),
            }
        }
    }
}

/// An event set before a wake is seen by the poll that follows, whatever phase the wake met: the
/// goroutine ends either on its M or on the one the waker submits it to, and is never stuck.
#[test]
fn loom_wake_is_never_lost() {
    ::loom::model(|| {
        let g = Mock::new();
        let waker = g.clone();
        let t = thread::spawn(move || {
            waker.event.store(true, Ordering::Relaxed);
            waker.status.wake() == Wake::Submit && waker.run()
        });
        let done = g.run();
        let done_by_waker = t.join().unwrap();
        assert!(done ^ done_by_waker, "stuck, or done twice");
    });
}

/// A walker finds the cell of a goroutine that is just being made: if it gets a reference, it
/// sees the header.
#[test]
fn loom_walker_against_birth() {
    ::loom::model(|| {
        let g = Mock::unborn();
        let walker = g.clone();
        let t = thread::spawn(move || {
            if walker.status.try_ref() {
                walker.touch();
                walker.drop_ref();
            }
        });
        g.touch();
        g.status.init();
        t.join().unwrap();
    });
}

/// Two wakers: the goroutine is submitted at most once per park, so it is never polled twice at
/// the same time (`touch` is the detector).
#[test]
fn loom_two_wakers_submit_once() {
    ::loom::model(|| {
        let g = Mock::new();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let wake = |g: Arc<Mock>| {
            move || {
                if g.status.wake() == Wake::Submit {
                    assert_eq!(g.status.to_running(), ToRunning::Run);
                    g.touch();
                    let _ = g.status.after_yield();
                }
            }
        };
        let a = thread::spawn(wake(g.clone()));
        let b = thread::spawn(wake(g.clone()));
        g.touch();
        let _ = g.status.after_pending();
        a.join().unwrap();
        b.join().unwrap();
    });
}

/// A wake that takes its reference with it races the end of the goroutine: freed exactly once.
#[test]
fn loom_last_reference_frees_once() {
    ::loom::model(|| {
        let g = Mock::new();
        g.status.add_ref();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let waker = g.clone();
        let t = thread::spawn(move || {
            if waker.status.wake_and_drop_ref().is_err() {
                waker.drop_ref();
            }
        });
        let handle = g.clone();
        let h = thread::spawn(move || handle.detach());
        finish(&g);
        t.join().unwrap();
        h.join().unwrap();
        assert_eq!(g.freed.load(Ordering::Relaxed), 1, "leaked");
    });
}

/// Completes `g` as an M does, with its output stored if somebody may want it. `true` if it wakes
/// the joiner.
fn finish(g: &Mock) -> bool {
    g.touch();
    let output = if g.status.is_joinable() { Output::Stored } else { Output::Dropped };
    if output == Output::Stored {
        g.outputs.fetch_add(1, Ordering::Relaxed);
    }
    match g.status.complete(output) {
        AfterDone::Released => {}
        AfterDone::Free => g.free(),
        AfterDone::DropOutput => {
            g.drop_output();
            g.drop_ref();
        }
        AfterDone::WakeJoiner => {
            g.touch_slot();
            g.drop_ref();
            return true;
        }
    }
    false
}

/// The joiner looks, registers and takes its registration back while the goroutine ends: either
/// it sees the output at once, or its waker is called. Output and join slot always have one owner.
#[test]
fn loom_joiner_is_woken_or_sees_the_output() {
    ::loom::model(|| {
        let g = Mock::new();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let joiner = g.clone();
        // In this thread and not in that of the model, which loom never lets come last at the
        // first look.
        let t = thread::spawn(move || {
            let g = joiner;
            let mut registered = false;
            if !g.status.is_dead() {
                g.touch_slot();
                registered = g.status.set_join_waker().is_ok();
            }
            if registered && g.status.unset_join_waker().is_ok() {
                // Another waker.
                g.touch_slot();
                registered = g.status.set_join_waker().is_ok();
            }
            if !registered {
                g.touch();
            }
            registered
        });
        let woken = finish(&g);
        let registered = t.join().unwrap();
        assert_eq!(registered, woken, "registered and not woken, or the reverse");
        assert!(g.status.is_dead());
        g.detach();
        assert_eq!(g.freed.load(Ordering::Relaxed), 1);
    });
}

/// The handle is dropped while the goroutine ends: the output is dropped by exactly one side.
#[test]
fn loom_detach_against_completion() {
    ::loom::model(|| {
        let g = Mock::new();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let m = g.clone();
        let t = thread::spawn(move || finish(&m));
        g.detach();
        t.join().unwrap();
        assert_eq!(g.freed.load(Ordering::Relaxed), 1);
    });
}

/// The same with a waker registered: it is taken back or called, never both.
#[test]
fn loom_detach_with_waker_against_completion() {
    ::loom::model(|| {
        let g = Mock::new();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        g.touch_slot();
        assert!(g.status.set_join_waker().is_ok());
        let m = g.clone();
        let t = thread::spawn(move || finish(&m));
        g.detach();
        t.join().unwrap();
        assert_eq!(g.freed.load(Ordering::Relaxed), 1);
    });
}

/// Abort against park: the goroutine is always cancelled, by the M that runs it or by the one
/// that the abort submits it to.
#[test]
fn loom_abort_is_never_lost() {
    ::loom::model(|| {
        let g = Mock::new();
        let other = g.clone();
        let cancelled = Arc::new(AtomicBool::new(false));
        let seen = cancelled.clone();
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let t = thread::spawn(move || {
            if other.status.abort() == Wake::Submit {
                assert_eq!(other.status.to_running(), ToRunning::Cancelled);
                other.touch();
                seen.store(true, Ordering::Relaxed);
            }
        });
        g.touch();
        match g.status.after_pending() {
            AfterPoll::Parked => {}
            AfterPoll::Cancelled => {
                g.touch();
                cancelled.store(true, Ordering::Relaxed);
            }
            AfterPoll::Requeue => unreachable!("abort notifies only with CANCELLED"),
        }
        t.join().unwrap();
        assert!(cancelled.load(Ordering::Relaxed));
    });
}

/// A walker that takes a reference from nowhere (dump, shutdown) races the end: it either holds
/// the cell alive or does not get it.
#[test]
fn loom_walker_against_completion() {
    ::loom::model(|| {
        let g = Mock::new();
        assert_eq!(g.status.detach(), AfterDetach::Released);
        assert_eq!(g.status.to_running(), ToRunning::Run);
        let walker = g.clone();
        let t = thread::spawn(move || {
            if walker.status.try_ref() {
                assert_eq!(walker.freed.load(Ordering::Relaxed), 0);
                walker.drop_ref();
            }
        });
        finish(&g);
        t.join().unwrap();
        assert_eq!(g.freed.load(Ordering::Relaxed), 1);
    });
}
