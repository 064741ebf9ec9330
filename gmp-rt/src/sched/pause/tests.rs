//! The pauser with threads that only these tests mark as hogs.

use super::{LIMITS, PauseSlot, SLOT, Seat, TABLE, call, on_signal};
use crate::g::Ids;
use crate::prim::Ordering::Relaxed;
use crate::sched::{Config, Sched};
use crate::sys::thread_signal::{self, Reason};
use crate::sys::thread_state;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// Runtimes whose hogs never have a turn: only relief lets them run. No other test uses this number
/// and the one below it, because a resize of such a runtime would set its limit.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 8) as u16;

/// The slot of the calling thread.
fn slot() -> &'static PauseSlot {
    SLOT.get().expect("a slot is free")
}

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

fn send_to_this_thread() {
    assert!(thread_signal::install(Reason::Pause, on_signal));
    // A signal to the calling thread arrives before the call returns.
    thread_signal::send(thread_state::this_thread(), Reason::Pause);
}

/// Runs `f` on a thread of its own that has a slot.
fn with_slot(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let _seat = Seat::for_m(RUNTIME);
        f();
    })
}

/// A runtime may have thousands of threads. Only those up to the last slot in use are visited.
#[test]
fn thousands_of_threads_have_slots_which_are_used_again() {
    let thread = thread_state::this_thread();
    let claimed: Vec<_> = (0..3000).map(|_| super::claim(RUNTIME, thread).unwrap()).collect();
    let last = *claimed.last().unwrap();
    assert!(claimed.is_sorted() && last >= 2999 && super::slots().len() > last);
    // The first one stays in use, and those behind it are free in any order.
    claimed[1..].iter().rev().for_each(|at| super::release(&TABLE[*at]));
    assert!(super::slots().len() < last, "{} of {last} are visited", super::slots().len());
    let again = super::claim(RUNTIME, thread).unwrap();
    assert!(again < claimed[1] + 100, "{again} is not the first free slot");
    [claimed[0], again].iter().for_each(|at| super::release(&TABLE[*at]));
}

#[test]
fn a_late_signal_has_no_effect() {
    let m = with_slot(|| {
        send_to_this_thread();
        slot().gate.mark();
        assert!(slot().gate.hold());
        slot().gate.leave();
        send_to_this_thread();
    });
    m.join().unwrap();
}

#[test]
fn a_thread_that_holds_a_lock_of_gmp_is_not_paused() {
    let m = with_slot(|| {
        slot().gate.mark();
        assert!(slot().gate.hold());
        for lock in [&crate::prim::Mutex::new(()), &crate::prim::Mutex::new(())] {
            let _guard = lock.lock();
            send_to_this_thread();
        }
        let lock = crate::prim::fixed::Mutex::new(());
        let _guard = lock.lock();
        send_to_this_thread();
    });
    m.join().unwrap();
}

#[test]
fn a_child_of_fork_is_not_paused() {
    let m = with_slot(|| {
        assert!(thread_signal::install(Reason::Pause, on_signal));
        slot().gate.mark();
        assert!(slot().gate.hold());
        // SAFETY: the child calls only functions that are allowed between `fork` and `exec`.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::raise(libc::SIGURG);
                libc::_exit(7);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert_eq!(libc::WEXITSTATUS(status), 7);
        slot().gate.leave();
    });
    m.join().unwrap();
}

/// A thread waits for a std lock of a hog that is paused and never has a turn.
fn relief(seat_of_waiter: fn() -> Seat) {
    LIMITS[usize::from(RUNTIME)].store(0, Relaxed);
    let lock = Arc::new(Mutex::new(()));
    let may_unlock = Arc::new(AtomicBool::new(false));
    let (tx, rx) = channel();
    let hog = {
        let (lock, may_unlock) = (lock.clone(), may_unlock.clone());
        with_slot(move || {
            super::own();
            let guard = lock.lock().unwrap();
            slot().gate.mark();
            tx.send(slot()).unwrap();
            until(|| may_unlock.load(Relaxed));
            drop(guard);
            slot().gate.leave();
        })
    };
    let slot = rx.recv().unwrap();
    call(&Sched::new(RUNTIME, Config::default()));
    until(|| slot.stands.load(Relaxed));
    may_unlock.store(true, Relaxed);
    let waiter = thread::spawn(move || {
        let _seat = seat_of_waiter();
        drop(lock.lock().unwrap());
    });
    waiter.join().unwrap();
    hog.join().unwrap();
}

#[test]
fn a_paused_thread_releases_a_lock_that_an_m_waits_for() {
    relief(|| {
        let seat = Seat::for_m(RUNTIME);
        super::own();
        seat
    });
}

#[test]
fn a_paused_thread_releases_a_lock_that_sysmon_waits_for() {
    relief(|| Seat::for_sysmon(RUNTIME));
}

#[test]
fn the_pauser_ends_without_hogs_and_starts_again() {
    let other = usize::from(RUNTIME) - 1;
    let sched = Sched::new(RUNTIME - 1, Config::default());
    for _ in 0..2 {
        LIMITS[other].store(0, Relaxed);
        let stop = Arc::new(AtomicBool::new(false));
        let (tx, rx) = channel();
        let hog = {
            let stop = stop.clone();
            thread::spawn(move || {
                let _seat = Seat::for_m(RUNTIME - 1);
                super::own();
                slot().gate.mark();
                tx.send(slot()).unwrap();
                until(|| stop.load(Relaxed));
            })
        };
        let slot = rx.recv().unwrap();
        call(&sched);
        until(|| slot.stands.load(Relaxed));
        stop.store(true, Relaxed);
        LIMITS[other].store(1, Relaxed);
        hog.join().unwrap();
        until(|| !*super::PAUSER.lock());
    }
}
