//! Models of the goroutine: real cells, wakers and join handles from the real heap.
//!
//! Only the scheduler is the model's own: a locked queue, and [`run`], which does what an M does
//! with a goroutine. The models in `sched/loom.rs` use the real scheduler. Loom watches the parts
//! of a goroutine that change owners (future and output, join slot, link), so each model also
//! checks that they have one owner at a time. It cannot watch the plain fields of the header. The
//! models read these and compare them.
//!
//! # Mutations
//!
//! Each mutation was made to the shipped code, and the model beside it failed.
//!
//! | mutation | model |
//! |----------|-------|
//! | a wake of a running goroutine leaves no `NOTIFIED` | `wake_vs_park` |
//! | `wake_and_drop_ref` with a relaxed exchange | `wake_vs_park` |
//! | `after_pending` ignores `NOTIFIED` | `wake_vs_park` |
//! | `complete` frees a cell that has references | `last_waker_vs_end`, `wake_vs_wake` |
//! | `complete` frees a cell that has references | `walk_vs_reuse` |
//! | `try_ref` takes a free cell | `walk_vs_reuse` |
//! | `abort` of a running goroutine does nothing | `abort_vs_park` |
//! | `set_timed` stores a word that it has read | `wake_vs_wake` |
//! | a slab counts no cell in use in its pages | `walk_vs_return_of_pages` |
//! | `complete` does not wake the joiner | `join_vs_end` |
//! | `complete` with a relaxed exchange | `join_vs_end`, `detach_of_joiner_vs_end` |
//! | `complete` keeps an output without a handle | `detach_vs_end`, `detach_of_joiner_vs_end` |
//!
//! No model sees a `to_running` that leaves `TIMED`: no goroutine here is polled again after a
//! timed poll. The unit test `a_timed_goroutine_is_reported_to_its_next_poll_only` failed on it.
//!
//! These mutations change nothing that a program can observe. `detach` leaves `JOIN_WAKER`: without
//! `JOIN_INTEREST` no thread reads it. `after_poll` ignores `CANCELLED`: `abort` also sets
//! `NOTIFIED`, and `to_running` checks again. `free` leaves the word of a dead goroutine: without a
//! reference a walker ignores it.

use super::cell::{self, Newborn, Polled};
use super::join::JoinHandle;
use super::origin::Origin;
use super::status::{AfterPoll, Cause, ToRunning};
use super::{Birth, G, GRef, GoId, Ids, Schedule, heap, waker};
use crate::prim::{AtomicBool, AtomicUsize, Mutex, Ordering, UnsafeCell, fixed, process_wide};
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::Location;
use std::task::{Context, Poll, Waker};

/// Without this, a shim that fell back to std would make every model pass.
#[test]
fn loom_canary_atomics_are_those_of_loom() {
    let _: fn(usize) -> ::loom::sync::atomic::AtomicUsize = AtomicUsize::new;
}

/// Loom must detect a data race through the shim.
#[test]
#[should_panic]
fn loom_canary_race_is_seen() {
    ::loom::model(|| {
        let cell = Arc::new(UnsafeCell::new(0));
        let other = cell.clone();
        // SAFETY: not safe: loom has to detect it.
        let t = thread::spawn(move || other.with_mut(|p| unsafe { *p = 1 }));
        // SAFETY: as above.
        cell.with_mut(|p| unsafe { *p = 2 });
        t.join().unwrap();
    });
}

process_wide! {
    /// The runnable goroutines.
    static QUEUE: Mutex<VecDeque<GRef>> = Mutex::new(VecDeque::new());
}

/// The scheduler of the models.
struct Here;

/// The time since when each goroutine is runnable that a waker has submitted.
const SUBMITTED: u64 = 256;

impl Schedule for Here {
    fn submit(gp: GRef) {
        gp.time_ready(SUBMITTED);
        QUEUE.lock().push_back(gp);
    }

    fn cause(_: &G) -> Cause {
        // Sets the flag of both causes.
        Cause::Event
    }

    fn poll_proceed(_: &Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn unjoined_panic(_: &G, _: &(dyn Any + Send)) {}

    fn panicked(_: &G, _: &(dyn Any + Send)) {}
}

/// Makes a goroutine whose parent is ten times its number.
fn spawn<F>(goid: GoId, future: F) -> (GRef, JoinHandle<F::Output>)
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let origin = Origin::site_only(Location::caller());
    let birth = Birth { ids: Ids::new(goid, 0), parent: 10 * goid, origin };
    let Newborn { gp, handle } = cell::spawn::<F, Here>(future, birth);
    (gp, handle)
}

/// Runs a goroutine until it waits or ends, as an M does.
fn run(gp: GRef) {
    let mut polls = 0;
    loop {
        match gp.status.to_running() {
            ToRunning::Run => {}
            ToRunning::Timed => assert_eq!((gp.ready_since(), polls), (SUBMITTED, 0)),
            ToRunning::Cancelled => return cancel(gp),
        }
        polls += 1;
        let polled = cell::poll(&gp, &mut Context::from_waker(&waker::borrowed(&gp)));
        match polled {
            Polled::Done(output) => return cell::complete(gp, output),
            Polled::Pending => match gp.status.after_pending() {
                AfterPoll::Requeue | AfterPoll::Newcomer => {}
                AfterPoll::Cancelled => return cancel(gp),
                AfterPoll::Parked => {
                    // The thread that wakes it owns it now.
                    let _ = gp.into_raw();
                    return;
                }
            },
        }
    }
}

fn cancel(gp: GRef) {
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
}

/// Runs all goroutines that were submitted.
fn run_queued() {
    loop {
        let Some(gp) = QUEUE.lock().pop_front() else { return };
        run(gp);
    }
}

/// Returns the goroutines that a walk over all slabs finds.
fn found() -> Vec<GoId> {
    let mut found = Vec::new();
    heap::for_each(|g| {
        assert_eq!(g.parent(), 10 * g.goid(), "a header that is half written");
        found.push(g.goid());
    });
    found
}

/// Returns the address of the first free cell, which is the last one that was freed.
fn free_cell() -> usize {
    let (gp, handle) = spawn(9, async {});
    let address = std::ptr::from_ref::<G>(&gp).addr();
    drop(handle);
    run(gp);
    address
}

/// A value that counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counted() -> (Arc<AtomicUsize>, Counted) {
    let count = Arc::new(AtomicUsize::new(0));
    (count.clone(), Counted(count))
}

/// Makes a future that waits for `event` and stores its waker in `slot`.
fn waits_for(
    event: Arc<AtomicBool>,
    slot: Arc<Mutex<Option<Waker>>>,
) -> impl Future<Output = ()> + Send {
    poll_fn(move |cx| {
        *slot.lock() = Some(cx.waker().clone());
        // Relaxed: the wake-up makes it visible.
        if event.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    })
}

/// Runs a goroutine to its first wait. Returns the event, its waker and its handle.
fn parked() -> (Arc<AtomicBool>, Waker, JoinHandle<()>) {
    let (event, slot) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    let (gp, handle) = spawn(1, waits_for(event.clone(), slot.clone()));
    run(gp);
    let waker = slot.lock().take().unwrap();
    (event, waker, handle)
}

/// A goroutine is woken while it is polled and parks: it is polled again and sees the event.
#[test]
fn loom_wake_vs_park() {
    ::loom::model(|| {
        let (event, slot) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (gp, handle) = spawn(1, waits_for(event.clone(), slot.clone()));
        let runs = thread::spawn(move || run(gp));
        let waker = loop {
            if let Some(waker) = slot.lock().take() {
                break waker;
            }
            thread::yield_now();
        };
        event.store(true, Ordering::Relaxed);
        waker.wake();
        run_queued();
        runs.join().unwrap();
        run_queued();
        drop(slot);
        block_on(handle).unwrap();
    });
}

/// Two threads wake a parked goroutine: it is polled by one at a time.
#[test]
fn loom_wake_vs_wake() {
    ::loom::model(|| {
        let first = free_cell();
        let (event, waker, handle) = parked();
        let other = waker.clone();
        event.store(true, Ordering::Relaxed);
        let wakes = thread::spawn(move || {
            other.wake();
            run_queued();
        });
        waker.wake_by_ref();
        run_queued();
        wakes.join().unwrap();
        run_queued();
        block_on(handle).unwrap();
        drop(waker);
        assert_eq!(free_cell(), first, "not freed");
    });
}

/// The last waker is used up while the goroutine ends: its cell is freed once.
#[test]
fn loom_last_waker_vs_end() {
    ::loom::model(|| {
        let first = free_cell();
        let (event, waker, handle) = parked();
        drop(handle);
        event.store(true, Ordering::Relaxed);
        let other = waker.clone();
        waker.wake();
        let wakes = thread::spawn(move || other.wake());
        run_queued();
        wakes.join().unwrap();
        run_queued();
        assert_eq!(free_cell(), first, "not freed");
        // A cell that was freed twice would be given out twice.
        let cells = [spawn(2, async {}), spawn(3, async {})];
        assert_eq!(found().len(), 2);
        for (gp, _handle) in cells {
            run(gp);
        }
    });
}

/// A goroutine ends while another thread joins it: the joiner gets the output.
#[test]
fn loom_join_vs_end() {
    ::loom::model(|| {
        let first = free_cell();
        let (drops, value) = counted();
        let (gp, handle) = spawn(1, async move { value });
        let joins = thread::spawn(move || drop(block_on(handle).unwrap()));
        run(gp);
        joins.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1, "the output is dropped once");
        assert_eq!(free_cell(), first, "not freed");
    });
}

/// A goroutine ends while its handle is dropped: the output is dropped once.
#[test]
fn loom_detach_vs_end() {
    ::loom::model(|| {
        let first = free_cell();
        let (drops, value) = counted();
        let (gp, handle) = spawn(1, async move { value });
        let detaches = thread::spawn(move || drop(handle));
        run(gp);
        detaches.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1, "the output is dropped once");
        assert_eq!(free_cell(), first, "not freed");
    });
}

/// The same, with a waker of the joiner in the cell: it is taken back or woken.
#[test]
fn loom_detach_of_joiner_vs_end() {
    ::loom::model(|| {
        let first = free_cell();
        let (drops, value) = counted();
        let (gp, mut handle) = spawn(1, async move { value });
        let mut cx = Context::from_waker(Waker::noop());
        assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
        let detaches = thread::spawn(move || drop(handle));
        run(gp);
        detaches.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1, "the output is dropped once");
        assert_eq!(free_cell(), first, "not freed");
    });
}

/// A goroutine is aborted while it is polled and parks: its future is dropped.
#[test]
fn loom_abort_vs_park() {
    ::loom::model(|| {
        let first = free_cell();
        let (drops, value) = counted();
        let (gp, handle) = spawn(1, async move {
            let _value = value;
            std::future::pending::<()>().await;
        });
        let aborts = thread::spawn(move || {
            handle.abort();
            run_queued();
            handle
        });
        run(gp);
        let handle = aborts.join().unwrap();
        run_queued();
        assert_eq!(drops.load(Ordering::Relaxed), 1, "the future is dropped once");
        assert!(block_on(handle).is_err());
        assert_eq!(free_cell(), first, "not freed");
    });
}

/// A walk over the slabs runs while a goroutine ends, its page goes back to the OS, and a new one
/// begins in the same cell. The walk sees each of them whole, or not at all. The neighbour stays
/// visible.
#[test]
fn loom_walk_vs_return_of_pages() {
    /// Whether a new goroutine was in the cell of the old one.
    static REUSED: fixed::AtomicBool = fixed::AtomicBool::new(false);
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        // The first cell shares a page with the second. Both must be free.
        let (first, first_handle) = spawn(9, async {});
        let (gp, handle) = spawn(1, async {});
        let (neighbour, neighbours_handle) = spawn(3, async {});
        drop(handle);
        let address = std::ptr::from_ref::<G>(&gp).addr();
        run(first);
        drop(first_handle);
        let walks = thread::spawn(found);
        run(gp);
        heap::trim_to(0, || true);
        let (first, first_handle) = spawn(9, async {});
        let (gp, handle) = spawn(2, async {});
        let mut seen = walks.join().unwrap();
        seen.retain(|goid| *goid != 9);
        seen.sort_unstable();
        assert!(matches!(*seen, [3] | [1, 3] | [2, 3] | [1, 2, 3]), "{seen:?}");
        let reused = std::ptr::from_ref::<G>(&gp).addr() == address;
        REUSED.store(REUSED.load(Ordering::Relaxed) | reused, Ordering::Relaxed);
        for gp in [first, gp] {
            run(gp);
        }
        drop((first_handle, handle));
        assert_eq!(found(), [3]);
        run(neighbour);
        drop(neighbours_handle);
        assert_eq!(found(), [], "still found");
    });
    assert!(REUSED.load(Ordering::Relaxed), "no execution used the cell again");
}

/// A walk over the slabs reads a cell whose goroutine ends and that is used again. It sees one of
/// the two goroutines whole, and keeps the cell while it reads.
#[test]
fn loom_walk_vs_reuse() {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let (gp, handle) = spawn(1, async {});
        drop(handle);
        let walks = thread::spawn(found);
        run(gp);
        let (gp, handle) = spawn(2, async {});
        let seen = walks.join().unwrap();
        assert!(matches!(*seen, [] | [1] | [2] | [1, 2] | [2, 1]), "{seen:?}");
        assert_eq!(found(), [2]);
        run(gp);
        drop(handle);
        assert_eq!(found(), [], "still found");
    });
}
