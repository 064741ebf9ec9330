//! Models of a [`Side`]: an operation that races with an event tries again or is woken.
//!
//! The waiter is a spawned thread. The main thread checks the result after all threads have ended.

use super::{EdgeKind, Fault, Side, Ticket, Trust, Wait};
use ::loom::sync::Arc;
use ::loom::thread;
use gmp_rt::prim::{AtomicUsize, Ordering};
use gmp_rt::task::park::StoredWaker;
use std::task::{Wake, Waker};

/// The types of the models are loom's. Otherwise the models would prove nothing.
#[test]
fn loom_canary_race_is_reported() {
    let _: fn(usize) -> ::loom::sync::atomic::AtomicUsize = AtomicUsize::new;
}

/// Counts how often it is woken.
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A socket: a side, and the data that the kernel holds for it.
struct Socket {
    side: Side,
    /// The number of messages that can be read. Relaxed: only the word may make it visible, because
    /// the kernel's memory gives no ordering.
    data: AtomicUsize,
}

/// The result of an operation.
#[derive(Debug, PartialEq, Eq)]
enum Op {
    Read,
    Failed(Fault),
    Waits,
}

impl Socket {
    fn new() -> Arc<Self> {
        let side = Side::new();
        side.reset(Trust::Short);
        Arc::new(Self { side, data: AtomicUsize::new(0) })
    }

    /// Adds a message and reports the edge, as `Poller::poll` does.
    fn arrive(&self) {
        self.data.fetch_add(1, Ordering::Relaxed);
        self.side.edge(EdgeKind::Data, StoredWaker::wake);
    }

    /// `Fd::poll_io` with an operation that takes one message.
    fn poll(&self, ticket: &mut Ticket, waker: &Waker) -> Op {
        loop {
            let seen = self.side.look();
            if let Some(fault) = seen.fault() {
                return Op::Failed(fault);
            }
            if !seen.is_drained() {
                // Takes a message in one step, as a system call does.
                let less = |had: usize| had.checked_sub(1);
                let had = self.data.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
                if let Ok(had) = had {
                    if had == 1 {
                        self.side.drained(seen);
                    }
                    return Op::Read;
                }
            }
            if self.side.wait(seen, ticket, waker) == Wait::Parked {
                return Op::Waits;
            }
        }
    }
}

fn counted() -> (std::sync::Arc<Counted>, Waker) {
    let counted = std::sync::Arc::new(Counted(AtomicUsize::new(0)));
    (counted.clone(), counted.into())
}

fn woken(counted: &Counted) -> usize {
    counted.0.load(Ordering::Relaxed)
}

/// Data arrives between the try and the wait.
#[test]
fn loom_edge_vs_wait() {
    ::loom::model(|| {
        let socket = Socket::new();
        let (count, waker) = counted();
        let reader = socket.clone();
        let t = thread::spawn(move || reader.poll(&mut Ticket::NONE.clone(), &waker));
        socket.arrive();
        let op = t.join().unwrap();
        assert!(op == Op::Read || woken(&count) == 1, "{op:?} and nobody was woken");
    });
}

/// Data arrives while a read takes the last message: the next read must not see a drained socket.
#[test]
fn loom_edge_vs_drained() {
    ::loom::model(|| {
        let socket = Socket::new();
        socket.arrive();
        let (count, waker) = counted();
        let reader = socket.clone();
        let t = thread::spawn(move || {
            let mut ticket = Ticket::NONE;
            assert_eq!(reader.poll(&mut ticket, &waker), Op::Read);
            reader.poll(&mut ticket, &waker)
        });
        socket.arrive();
        let op = t.join().unwrap();
        assert!(op == Op::Read || woken(&count) == 1, "{op:?} and nobody was woken");
    });
}

/// The socket is closed between the try and the wait.
#[test]
fn loom_close_vs_wait() {
    ::loom::model(|| {
        let socket = Socket::new();
        let (count, waker) = counted();
        let reader = socket.clone();
        let t = thread::spawn(move || reader.poll(&mut Ticket::NONE.clone(), &waker));
        assert!(socket.side.fail(Fault::Closed, StoredWaker::wake));
        let op = t.join().unwrap();
        assert!(op == Op::Failed(Fault::Closed) || woken(&count) == 1, "{op:?}, not woken");
    });
}

/// A deadline passes while data arrives and a reader waits. The edge does not hide the expired
/// deadline. After the deadline is cleared, reads work again.
#[test]
fn loom_deadline_vs_edge_and_wait() {
    ::loom::model(|| {
        let socket = Socket::new();
        let (count, waker) = counted();
        let (reader, timer) = (socket.clone(), socket.clone());
        let t = thread::spawn(move || {
            let mut ticket = Ticket::NONE;
            reader.poll(&mut ticket, &waker)
        });
        let d = thread::spawn(move || {
            timer.side.fail(Fault::Expired, StoredWaker::wake);
        });
        socket.arrive();
        let op = t.join().unwrap();
        d.join().unwrap();
        assert!(op != Op::Waits || woken(&count) >= 1, "waits and nobody was woken");
        let (_, waker) = counted();
        let mut ticket = Ticket::NONE;
        assert_eq!(socket.poll(&mut ticket, &waker), Op::Failed(Fault::Expired));
        socket.side.revive();
        let expected = if op == Op::Read { Op::Waits } else { Op::Read };
        assert_eq!(socket.poll(&mut ticket, &waker), expected);
    });
}

/// Two readers wait and one leaves while data arrives: the other is woken, or one of them has read.
#[test]
fn loom_edge_vs_two_waiters_one_dropped() {
    let mut model = ::loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let socket = Socket::new();
        let (count, waker) = counted();
        let (reader, quitter) = (socket.clone(), socket.clone());
        let t = thread::spawn(move || reader.poll(&mut Ticket::NONE.clone(), &waker));
        let q = thread::spawn(move || {
            let (_, waker) = counted();
            let mut ticket = Ticket::NONE;
            let op = quitter.poll(&mut ticket, &waker);
            quitter.side.leave(ticket);
            op
        });
        socket.arrive();
        let (op, quit) = (t.join().unwrap(), q.join().unwrap());
        let read = op == Op::Read || quit == Op::Read;
        assert!(read || woken(&count) >= 1, "data, one that waits, and nobody was woken");
    });
}
