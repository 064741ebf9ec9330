//! Models of the poll cache: reuse of a descriptor, and the end of the runtime.
//!
//! Each mutation below was applied to the code, and the model in its row failed.
//!
//! | mutation | model |
//! |----------|-------|
//! | `Side::reset` keeps the faults of the last socket | `late_edge_vs_reuse` |
//! | `Side::reset` is a load and a store | `late_edge_vs_reuse` |
//! | `end` fails the descriptors before it closes the cache | `end_vs_take` |
//! | `end` fails no descriptor | `end_vs_take` |
//! | `give_back` does not count | `take_vs_take` |

use super::{Index, PollCache};
use crate::poll::desc::{EdgeKind, Seen, Ticket, Trust, Wait};
use ::loom::sync::Arc;
use ::loom::thread;
use gmp_rt::prim::{AtomicUsize, Ordering};
use gmp_rt::task::park::StoredWaker;
use std::task::{Wake, Waker};

/// Counts how often it is woken.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted() -> (std::sync::Arc<Counted>, Waker) {
    let counted = std::sync::Arc::<Counted>::default();
    (counted.clone(), counted.into())
}

/// Waits on the read side, as a read without data does.
fn wait(cache: &PollCache, index: Index, ticket: &mut Ticket, waker: &Waker) -> (Seen, Wait) {
    let side = &cache.get(index.key()).unwrap().read;
    loop {
        let seen = side.look();
        match side.wait(seen, ticket, waker) {
            Wait::Changed => {}
            wait => return (seen, wait),
        }
    }
}

/// Delivers an edge to descriptor `key`, as the kernel does.
fn edge(cache: &PollCache, key: usize) {
    if let Some(desc) = cache.get(key) {
        desc.read.edge(EdgeKind::Data, StoredWaker::wake);
    }
}

/// An edge for the previous socket arrives while its descriptor is given to another socket. The new
/// socket has no fault of the previous one, and its own edge wakes it.
#[test]
fn loom_late_edge_vs_reuse() {
    ::loom::model(|| {
        let cache = Arc::new(PollCache::new());
        let old = cache.take(Trust::Short).unwrap();
        cache.get(old.key()).unwrap().fail(crate::poll::desc::Fault::Closed, drop);
        let late = cache.clone();
        let late = thread::spawn(move || edge(&late, old.key()));
        cache.give_back(old);
        let new = cache.take(Trust::Short).unwrap();
        assert_eq!(new, old, "a number is used again");
        let (count, waker) = counted();
        let waiting = cache.clone();
        let waits = thread::spawn(move || wait(&waiting, new, &mut Ticket::NONE.clone(), &waker));
        late.join().unwrap();
        let (seen, parked) = waits.join().unwrap();
        assert_eq!((seen.fault(), parked), (None, Wait::Parked));
        let woken_late = count.0.load(Ordering::Relaxed);
        edge(&cache, new.key());
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "woken {woken_late} times by the late edge");
    });
}

/// The runtime ends while a socket is registered and waits: the registration fails, or the waiter
/// is woken.
#[test]
fn loom_end_vs_take() {
    ::loom::model(|| {
        let cache = Arc::new(PollCache::new());
        let (count, waker) = counted();
        let taking = cache.clone();
        let takes = thread::spawn(move || {
            let index = taking.take(Trust::Short)?;
            Some(wait(&taking, index, &mut Ticket::NONE.clone(), &waker).1)
        });
        cache.end(StoredWaker::wake);
        let waited = takes.join().unwrap();
        let woken = count.0.load(Ordering::Relaxed) == 1;
        assert!(waited != Some(Wait::Parked) || woken, "waits for ever");
        assert!(cache.take(Trust::Short).is_none(), "gives out after the end");
    });
}

/// Two threads take and give back descriptors: they never hold the same one.
#[test]
fn loom_take_vs_take() {
    ::loom::model(|| {
        let cache = Arc::new(PollCache::new());
        let other = cache.clone();
        let takes = thread::spawn(move || other.take(Trust::Short).unwrap());
        let mine = cache.take(Trust::WouldBlock).unwrap();
        let theirs = takes.join().unwrap();
        assert_ne!(mine, theirs);
        cache.give_back(mine);
        assert!(cache.is_used());
        cache.give_back(theirs);
        assert!(!cache.is_used());
    });
}
