//! Goroutine cells and their memory, without a scheduler.

use super::cell::{self, Newborn, Polled};
use super::heap;
use super::origin::Origin;
use super::status::{AfterPoll, Cause, Phase, Status, ToRunning, Wake};
use super::stored::{StorableWaker, StoredWaker};
use super::{Birth, G, GRef, Ids, Schedule, waker};
use crate::prim::fixed::Mutex;
use crate::wait_reason::WaitReason;
use std::any::Any;
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

thread_local! {
    /// The goroutines submitted on this thread.
    static SUBMITTED: RefCell<Vec<GRef>> = const { RefCell::new(Vec::new()) };
}

/// A scheduler that only collects submitted goroutines.
struct Collect;

impl Schedule for Collect {
    fn submit(gp: GRef) {
        SUBMITTED.with_borrow_mut(|submitted| submitted.push(gp));
    }
    fn cause(_: &G) -> Cause {
        Cause::Event
    }
    fn poll_proceed(_: &Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
    fn unjoined_panic(_: &G, _: &(dyn Any + Send)) {}
    fn panicked(_: &G, _: &(dyn Any + Send)) {}
}

/// The number of a runtime that no other test uses.
const RUNTIME: u16 = 4000;

fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
    goid: u64,
    future: F,
) -> Newborn<F::Output> {
    let origin = Origin::site_only(Location::caller());
    cell::spawn::<F, Collect>(future, Birth { ids: Ids::new(goid, RUNTIME), parent: 7, origin })
}

/// Polls once, and completes the goroutine if it is ready.
fn run(gp: GRef) -> Option<GRef> {
    assert_eq!(gp.status.to_running(), ToRunning::Run);
    let waker = waker::borrowed(&gp);
    match cell::poll(&gp, &mut Context::from_waker(&waker)) {
        Polled::Pending => Some(gp),
        Polled::Done(output) => {
            cell::complete(gp, output);
            None
        }
    }
}

#[test]
fn the_ids_of_goroutine_and_runtime_share_a_word() {
    let ids = Ids::new((1 << 52) - 1, 4095);
    assert_eq!((ids.goid(), ids.runtime()), ((1 << 52) - 1, 4095));
    assert_eq!(Ids::MAX_RUNTIMES, 4096);
}

#[test]
fn an_origin_has_a_site_and_may_have_a_name() {
    let site = Location::caller();
    let plain = Origin::site_only(site);
    assert_eq!((plain.site(), plain.name()), (site, None));
    let named = Origin::named(site, "worker".into());
    assert_eq!((named.site(), named.name()), (site, Some("worker")));
}

#[test]
fn a_goroutine_runs_to_its_end_and_gives_its_output() {
    let Newborn { gp, handle } = spawn(11, async { 5 });
    assert_eq!((gp.goid(), gp.parent(), gp.runtime()), (11, 7, RUNTIME));
    assert!(!handle.is_finished());
    assert!(run(gp).is_none());
    assert!(handle.is_finished());
    assert_eq!(crate::block_on(handle).unwrap(), 5);
}

#[test]
fn a_wait_has_its_reason_and_time_until_the_next_poll() {
    let mut polls = 0;
    let Newborn { gp, handle } = spawn(
        12,
        std::future::poll_fn(move |cx| {
            polls += 1;
            if polls == 1 {
                waker::note_wait(cx, WaitReason::ChanReceive, 42);
            }
            Poll::<()>::Pending
        }),
    );
    let gp = run(gp).unwrap();
    // A hundred years. Times are rounded to 256 ns.
    let late = 100 * 365 * 24 * 3600 * 1_000_000_000 / 256 * 256;
    gp.stamp_wait(late + 255);
    let (wait, resource) = gp.wait();
    assert_eq!((wait.reason, wait.since, resource), (WaitReason::ChanReceive, late, 42));
    // The second poll records no reason, so the reason is unknown.
    let _ = gp.status.after_yield();
    let gp = run(gp).unwrap();
    gp.stamp_wait(2048);
    assert_eq!((gp.wait().0.reason, gp.wait().0.since), (WaitReason::Await, 2048));
    handle.abort();
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
    assert!(crate::block_on(handle).unwrap_err().is_cancelled());
}

#[test]
fn foreign_wakers_are_known_until_a_primitive_keeps_the_only_waker() {
    #[derive(Default)]
    struct Wakers(Mutex<(Vec<Waker>, Vec<StoredWaker>)>);
    impl Wakers {
        fn clear(&self) {
            let all = std::mem::take(&mut *self.0.lock());
            drop(all);
        }
    }
    let (wakers, mut polls) = (Arc::new(Wakers::default()), 0);
    let kept = wakers.clone();
    let Newborn { gp, handle } = spawn(
        15,
        std::future::poll_fn(move |cx| {
            polls += 1;
            match polls {
                1 | 4 => kept.0.lock().1.push(StorableWaker::new(cx.waker()).store()),
                2 => kept.0.lock().0.push(cx.waker().clone()),
                3 => {}
                _ => panic!("polled {polls} times"),
            }
            waker::note_wait(cx, WaitReason::Select, 0);
            Poll::<()>::Pending
        }),
    );
    // Polls once. Returns what is known at the end, and the reason.
    let poll = |gp: GRef| {
        let gp = run(gp).unwrap();
        assert_eq!(gp.next_wait(), WaitReason::Select);
        gp.stamp_wait(2048);
        let (wait, _) = gp.wait();
        assert_eq!((wait.reason, wait.since), (WaitReason::Select, 2048));
        let is_foreign = gp.has_foreign_wakers();
        let _ = gp.status.after_yield();
        (gp, is_foreign)
    };
    let (gp, is_foreign) = poll(gp);
    assert!(!is_foreign, "only a primitive keeps a waker");
    let (gp, is_foreign) = poll(gp);
    assert!(is_foreign);
    let (gp, is_foreign) = poll(gp);
    assert!(is_foreign, "it is kept");
    wakers.clear();
    let (gp, is_foreign) = poll(gp);
    assert!(!is_foreign, "only a primitive keeps a waker again");
    handle.abort();
    assert_eq!(gp.status.to_running(), ToRunning::Cancelled);
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
    wakers.clear();
    assert!(crate::block_on(handle).unwrap_err().is_cancelled());
}

#[test]
fn a_wake_during_a_poll_has_a_cause() {
    let Newborn { gp, handle } = spawn(14, std::future::pending::<()>());
    let status: &Status = &gp.status;
    assert_eq!(status.to_running(), ToRunning::Run);
    assert_eq!(status.wake(|| Cause::Goroutine), Wake::Nothing);
    assert_eq!(status.after_pending(), AfterPoll::Requeue);
    assert_eq!(status.to_running(), ToRunning::Run);
    assert_eq!(status.wake(|| Cause::Event), Wake::Nothing);
    assert_eq!(status.wake(|| Cause::Goroutine), Wake::Nothing);
    assert_eq!(status.after_pending(), AfterPoll::Newcomer);
    assert_eq!(status.to_running(), ToRunning::Run);
    assert_eq!(status.wake(|| Cause::Goroutine), Wake::Nothing);
    assert_eq!(status.after_pending(), AfterPoll::Requeue, "the cause was of the poll before");
    assert_eq!(status.to_running(), ToRunning::Run);
    assert_eq!(status.after_pending(), AfterPoll::Parked, "nothing has woken it");
    assert_eq!(status.wake(|| unreachable!("it does not run")), Wake::Submit);
    handle.abort();
    assert_eq!(status.to_running(), ToRunning::Cancelled);
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
    drop(handle);
}

#[test]
fn a_timed_goroutine_is_reported_to_its_next_poll_only() {
    let Newborn { gp, handle } = spawn(15, std::future::pending::<()>());
    let status: &Status = &gp.status;
    gp.time_ready(1 << 20);
    assert_eq!(status.to_running(), ToRunning::Timed);
    assert_eq!(gp.ready_since(), 1 << 20);
    assert_eq!(status.after_yield(), AfterPoll::Requeue);
    assert_eq!(status.to_running(), ToRunning::Run);
    assert_eq!(status.after_yield(), AfterPoll::Requeue);
    gp.time_ready(2 << 20);
    handle.abort();
    assert_eq!(status.to_running(), ToRunning::Cancelled);
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
    drop(handle);
}

#[test]
fn a_wake_submits_once() {
    let Newborn { gp, handle } = spawn(13, std::future::pending::<()>());
    let waker = (*waker::borrowed(&gp)).clone();
    let gp = run(gp).unwrap();
    let status: &Status = &gp.status;
    assert_eq!(status.after_pending(), AfterPoll::Parked);
    assert_eq!(status.phase(), Phase::Waiting);
    waker.wake_by_ref();
    waker.wake();
    let mut submitted = SUBMITTED.with_borrow_mut(std::mem::take);
    assert_eq!(submitted.len(), 1);
    let gp = submitted.pop().unwrap();
    handle.abort();
    assert_eq!(gp.status.to_running(), ToRunning::Cancelled);
    let output = cell::cancel(&gp);
    assert_eq!(gp.status.wake(|| Cause::Event), Wake::Nothing);
    cell::complete(gp, output);
    drop(handle);
}

#[test]
fn a_walk_visits_live_goroutines_only() {
    let seen = || {
        let mut goids = Vec::new();
        heap::for_each(|g| {
            if g.runtime() == RUNTIME && g.goid() >= 1000 {
                goids.push(g.goid());
            }
        });
        goids.sort_unstable();
        goids
    };
    let newborns: Vec<_> = (1000..1100).map(|goid| spawn(goid, async {})).collect();
    assert_eq!(seen(), (1000..1100).collect::<Vec<_>>());
    for newborn in newborns {
        assert!(run(newborn.gp).is_none());
    }
    assert!(seen().is_empty());
}

#[test]
fn cells_are_reused_from_a_cache() {
    let cache = heap::Cache::default();
    // SAFETY: only this thread uses it until the end of the test, which uninstalls it before the
    // drop.
    unsafe { heap::install(Some(&cache)) };
    let address = |newborn: Newborn<()>| {
        let address = std::ptr::from_ref::<G>(&newborn.gp).addr();
        assert!(run(newborn.gp).is_none());
        address
    };
    let first = address(spawn(14, async {}));
    let again = address(spawn(15, async {}));
    assert_eq!(first, again, "a finished goroutine's cell is the next one's");
    assert!(cache.len() > 0);
    cache.flush();
    assert_eq!(cache.len(), 0);
    // SAFETY: no cache is always allowed.
    unsafe { heap::install(None) };
}

#[test]
fn a_dropped_handle_frees_the_goroutine_and_its_output() {
    let Newborn { gp, handle } = spawn(16, async { String::from("dropped") });
    drop(handle);
    assert!(run(gp).is_none());
    let Newborn { gp, handle } = spawn(17, async { String::from("dropped later") });
    assert!(run(gp).is_none());
    drop(handle);
}

#[test]
fn a_cell_is_found_by_its_address_while_its_goroutine_lives() {
    let Newborn { gp, handle } = spawn(91, async {});
    let address = gp.address();
    assert_eq!(heap::find(address, 91).map(|g| g.goid()), Some(91));
    assert!(heap::find(address, 92).is_none(), "another goroutine");
    assert!(heap::find(address + 8, 91).is_none(), "not the start of a cell");
    assert!(heap::find(0, 91).is_none() && heap::find(usize::MAX, 91).is_none());
    assert!(run(gp).is_none());
    assert!(heap::find(address, 91).is_none(), "dead");
    drop(handle);
    assert!(heap::find(address, 91).is_none(), "free");
}

#[test]
fn wakers_of_a_waiting_goroutine_are_counted() {
    let Newborn { gp, handle } = spawn(93, std::future::pending::<()>());
    let (address, waker) = (gp.address(), waker::borrowed(&gp));
    let kept = std::task::Waker::clone(&waker);
    let wakers = || heap::find(address, 93).and_then(|g| g.status.wakers());
    assert_eq!(wakers(), None, "runnable");
    let gp = run(gp).expect("pending");
    assert_eq!(gp.status.after_pending(), AfterPoll::Parked);
    let _ = gp.into_raw();
    assert_eq!(wakers(), Some(1));
    let other = kept.clone();
    assert_eq!(wakers(), Some(2));
    drop((other, kept));
    assert_eq!(wakers(), Some(0));
    drop(handle);
    assert_eq!(wakers(), Some(0), "the reference of the handle is gone");
    assert!(heap::find(address, 93).expect("alive").abort());
    let gp = SUBMITTED.with_borrow_mut(Vec::pop).expect("runnable");
    assert_eq!(gp.status.to_running(), ToRunning::Cancelled);
    let output = cell::cancel(&gp);
    cell::complete(gp, output);
}

#[test]
fn the_join_slot_shows_the_goroutine_that_joins() {
    let joined = spawn(95, async {});
    let target = joined.gp.address();
    let joiner = || heap::find(target, 95).and_then(|g| g.joiner());
    assert_eq!(joiner(), None);
    let Newborn { gp, handle } = spawn(96, joined.handle);
    let own = gp.address();
    let gp = run(gp).expect("pending");
    assert_eq!(joiner(), Some(own));
    assert_eq!(gp.status.after_pending(), AfterPoll::Parked);
    let _ = gp.into_raw();
    assert!(run(joined.gp).is_none());
    let gp = SUBMITTED.with_borrow_mut(Vec::pop).expect("woken by the end of the other");
    assert!(run(gp).is_none());
    drop(handle);
    // A foreign waker is no goroutine.
    let other = spawn(97, async {});
    let (target, mut handle) = (other.gp.address(), other.handle);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx).is_pending());
    assert_eq!(heap::find(target, 97).and_then(|g| g.joiner()), None);
    assert!(run(other.gp).is_none());
}
