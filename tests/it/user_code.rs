//! User code that panics, blocks or calls back where the runtime calls it.
//!
//! gmp runs code of the program in the places below. The rules for all of them:
//!
//! 1. User code never runs while a lock of gmp is held.
//! 2. A panic in user code loses no wake-up of another waiter and leaves no lock held.
//! 3. A panic in user code ends neither a worker thread nor sysmon.
//! 4. The process aborts only where Rust itself aborts: a panic in a panic hook, in the destructor
//!    of a thread-local, or in a destructor that runs because of another panic.
//!
//! *Contained* means: the panic hook reports the panic, and then the panic ends. A payload whose
//! destructor panics is contained too; the payload of that second panic is leaked.
//!
//! | user code | where gmp runs it | result of a panic | test |
//! |---|---|---|---|
//! | `Waker::wake` | every wake-up | contained; the other waiters are woken | `user_wakers::a_waker_that_panics_costs_no_other_waiter_its_wake_up`, `user_wakers::a_timer_contains_a_waker_whose_payload_panics` |
//! | `Waker::wake_by_ref` | `yield_now` and used-up time slices, in the poll itself | leaves the poll | as any panic of a poll |
//! | `Waker::clone` | before a future waits, without a lock | leaves the poll; the future has not joined the queue | `user_wakers::a_waker_whose_clone_panics_leaves_nothing_behind`, `user_wakers::a_second_waker_whose_clone_panics_leaves_nothing_behind`, `user_wakers::a_woken_lock_whose_waker_cannot_be_cloned_passes_the_mutex_on`, `user_wakers::handles_timers_and_sockets_survive_a_clone_that_panics` |
//! | drop of a waker | a waiter that gives up, or polls with another waker | contained | `user_wakers::a_waker_whose_drop_panics_costs_no_other_waiter_its_wake_up`, `user_wakers::a_stream_whose_waker_panics_in_its_drop_still_counts_as_dropped` |
//! | poll of a goroutine | worker thread | ends the goroutine: `JoinError::Panic` | `go::`, `crash::` |
//! | drop of a future | worker thread | ends the goroutine: `JoinError::Panic` | `payloads_whose_drop_panics_end_with_their_goroutine` |
//! | drop of an output that is not joined | worker thread, or the drop of the handle | contained, reported as an event | `crash::`, `payloads_whose_drop_panics_end_with_their_goroutine` |
//! | drop of a panic payload | wherever a panic is contained | contained | `payloads_whose_drop_panics_end_with_their_goroutine`, `the_stall_hook_may_panic_with_any_payload` |
//! | panic hook | where the panic is | Rust aborts; calls of gmp work in it | `a_panic_hook_may_call_gmp` |
//! | stall hook | the reporter thread | contained | `the_stall_hook_may_panic_with_any_payload`, `a_stall_hook_that_blocks_does_not_stop_sysmon` |
//! | drop of a stall hook | the caller of `on_stall`, or the end of the runtime | leaves `on_stall`; contained elsewhere | `a_stall_hook_is_dropped_without_a_lock`, `a_stall_hook_that_panics_in_its_drop_does_not_stop_the_end_of_its_runtime` |
//! | `after_func`, `Context::after_func` | a goroutine of its own | ends that goroutine | `time::`, `context::` |
//! | drop of a cause of a context | the caller that ends or drops the context, without a lock | leaves that call; all waiters are woken before | `a_cause_that_panics_in_its_drop_costs_no_waiter_its_wake_up` |
//! | values in a channel, their drop | the caller, without a lock | leaves the call; the channel is closed before | `a_value_that_panics_in_its_drop_leaves_the_channel_closed` |
//! | poll of a future in `select!` | the poll of the select, without a lock | leaves the poll; all channels are left | `a_future_that_panics_in_a_select_leaves_its_channels` |
//! | `Hash`, `Eq` of a key | `SingleFlight`, without a lock | leaves the call; no call is begun or ended | `a_key_may_use_its_own_single_flight`, `a_key_that_panics_leaves_the_single_flight_usable` |
//! | call and `Clone` of a `SingleFlight` value | the caller, without a lock | leaves the call; the next caller runs its own | `single_flight::` |
//! | initialisers of `Once`, `OnceCell`, `Lazy` | the caller, without a lock | leaves the call; `Lazy` repeats the panic | `sync_once::` |
//! | `Pool` constructor | the caller, without a lock | leaves `get` | `items_that_panic_do_not_stop_a_pool` |
//! | drop of a `Pool` item | the caller of `age`, or a goroutine | leaves `age`; all other items are aged before | `items_that_panic_do_not_stop_a_pool` |
//! | drop of a case of `select!` that is not chosen | the poll of the select | leaves the poll; permit and value of the chosen case are given back or dropped | `a_case_that_panics_in_its_drop_costs_no_permit`, `a_case_that_panics_in_its_drop_leaks_no_value` |
//! | member of an `ErrGroup` | a goroutine of its own | ends the member: `GroupError::Panic` | `err_group::` |
//! | io traits, `AsFd` | the poll, without a lock | leaves the poll | as any panic of a poll |
//! | destructor of a thread-local | any thread | Rust aborts; calls of gmp work in it | `thread_local_destructors_may_call_gmp` |
//! | stderr that cannot be written | every message of gmp | the message is lost | `messages_to_a_closed_stderr_are_lost_without_harm`, `events::stderr`, `throw::tests` in gmp-rt |
//! | event hook, and its drop | the reporter thread; the drop also in `on_event` | contained; leaves `on_event` | `events::` |

use super::support::{child, child_command, is_child, runtime};
use futures::FutureExt;
use futures::future::{join, join3};
use gmp::context::Context;
use gmp::sync::{Pool, SingleFlight};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context as Cx, Poll, Wake, Waker};
use std::time::Duration;

/// A call that should return at once counts as hung after this time.
const HUNG: Duration = Duration::from_secs(30);

/// Runs `f` on its own thread. Returns an error if `f` panicked or hangs.
pub(super) fn in_time(what: &str, f: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(catch_unwind(AssertUnwindSafe(f))));
    match wait.recv_timeout(HUNG) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(payload)) => {
            let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = payload.downcast_ref::<String>().cloned().or(literal);
            std::mem::forget(payload);
            Err(format!("{what}: panicked: {text:?}"))
        }
        Err(_) => Err(format!("{what}: hangs")),
    }
}

/// Panics when it is dropped, `.0` times. The payload of each panic is the next `Bomb`.
pub(super) struct Bomb(pub(super) u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Self(self.0 - 1));
        }
    }
}

/// Counts its wake-ups.
#[derive(Default)]
pub(super) struct Counts(pub(super) AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(super) fn counting() -> (Arc<Counts>, Waker) {
    let counts = Arc::<Counts>::default();
    (counts.clone(), Waker::from(counts))
}

pub(super) type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) fn poll(future: &mut Waiting, waker: &Waker) -> Poll<()> {
    future.as_mut().poll(&mut Cx::from_waker(waker))
}

#[test]
fn a_value_that_panics_in_its_drop_leaves_the_channel_closed() {
    in_time("Receiver", || {
        let (tx, rx) = gmp::chan(1);
        tx.try_send(Bomb(1)).unwrap();
        let waits = tx.clone();
        let mut send: Waiting = Box::pin(async move {
            let error = waits.send(Bomb(0)).await.unwrap_err();
            drop(error);
        });
        let (counts, waker) = counting();
        assert!(poll(&mut send, &waker).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
        assert!(tx.is_closed());
        assert_eq!(counts.0.load(Ordering::SeqCst), 1);
        assert!(poll(&mut send, &waker).is_ready());
    })
    .unwrap();
}

#[test]
fn a_future_that_panics_in_a_select_leaves_its_channels() {
    in_time("select", || {
        let ((tx, rx), (other_tx, other_rx)) = (gmp::chan::<u32>(0), gmp::chan::<u32>(0));
        let armed = Arc::new(AtomicBool::new(false));
        let fuse = armed.clone();
        let mut select: Waiting = Box::pin(async move {
            let bomb = std::future::poll_fn(|_| {
                assert!(!fuse.load(Ordering::SeqCst), "expected by the test");
                Poll::<()>::Pending
            });
            gmp::select! {
                _ = rx.recv() => {},
                _ = other_tx.send(1) => {},
                () = bomb => {},
            }
        });
        assert!(poll(&mut select, Waker::noop()).is_pending());
        armed.store(true, Ordering::SeqCst);
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut select, Waker::noop()))).is_err());
        drop(select);
        // Both channels have lost their other end and are empty.
        assert!(tx.is_closed() && other_rx.is_closed());
        assert!(matches!(tx.try_send(1), Err(gmp::chan::TrySendError::Closed(1))));
        assert!(other_rx.try_recv().is_err());
    })
    .unwrap();
}

/// A key that calls its own group whenever it is cloned, compared or hashed.
struct Nosy(SingleFlight<Nosy, u32>);

impl Nosy {
    fn look(&self) {
        assert!(!format!("{:?}", self.0).is_empty());
    }
}

impl Clone for Nosy {
    fn clone(&self) -> Self {
        self.look();
        Self(self.0.clone())
    }
}

impl PartialEq for Nosy {
    fn eq(&self, _: &Self) -> bool {
        self.look();
        true
    }
}

impl Eq for Nosy {}

impl std::hash::Hash for Nosy {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {
        self.look();
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        self.look();
    }
}

#[test]
fn a_key_may_use_its_own_single_flight() {
    in_time("SingleFlight", || {
        let flights = SingleFlight::new();
        let key = || Nosy(flights.clone());
        let inner = flights.call_blocking(key(), || async {
            // A follower that leaves again, and a call that is forgotten.
            let mut follower = Box::pin(flights.call(key(), || async { 2 }));
            assert!((&mut follower).now_or_never().is_none());
            drop(follower);
            flights.forget(&key());
            flights.call(key(), || async { 3 }).await.value
        });
        assert_eq!(inner.value, 3);
    })
    .unwrap();
}

/// A key that panics in `Hash` or `Eq` on request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Hash,
    Eq,
}

struct Faulty(Fault);

impl PartialEq for Faulty {
    fn eq(&self, other: &Self) -> bool {
        assert!(self.0 != Fault::Eq && other.0 != Fault::Eq, "expected by the test");
        true
    }
}

impl Eq for Faulty {}

impl Clone for Faulty {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl std::hash::Hash for Faulty {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {
        assert!(self.0 != Fault::Hash, "expected by the test");
    }
}

#[test]
fn a_key_that_panics_leaves_the_single_flight_usable() {
    in_time("SingleFlight", || {
        gmp::block_on(async {
            let flights = SingleFlight::<Faulty, u32>::new();
            let (tx, rx) = gmp::chan::<u32>(0);
            let call = || async { rx.recv().await.unwrap() };
            let mut leader = Box::pin(flights.call(Faulty(Fault::None), call));
            assert!((&mut leader).now_or_never().is_none());
            for fault in [Fault::Hash, Fault::Eq] {
                let call = flights.call(Faulty(fault), || async { 2 });
                assert!(AssertUnwindSafe(call).catch_unwind().await.is_err(), "{fault:?}");
                let forget = || flights.forget(&Faulty(fault));
                assert!(catch_unwind(AssertUnwindSafe(forget)).is_err(), "{fault:?}");
            }
            let follower = flights.call(Faulty(Fault::None), || async { 3 });
            let (led, followed, sent) = join3(leader, follower, tx.send(1)).await;
            assert_eq!((led.value, followed.value, sent), (1, 1, Ok(())));
        });
    })
    .unwrap();
}

#[test]
fn items_that_panic_do_not_stop_a_pool() {
    let put = |pool: &Pool<Bomb>, item: Bomb| {
        let pool = pool.clone();
        std::thread::spawn(move || pool.put(item)).join().unwrap();
    };
    let round = move || {
        let made = Arc::new(AtomicUsize::new(0));
        let count = made.clone();
        let pool = Pool::new(move || {
            assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "expected by the test");
            Bomb(0)
        });
        assert!(catch_unwind(AssertUnwindSafe(|| drop(pool.get()))).is_err());
        // From several threads, so that several shards have items.
        (0..8).for_each(|_| put(&pool, Bomb(0)));
        // Several in one shard as well.
        (0..8).for_each(|_| put(&pool, Bomb(1)));
        pool.drop_idle();
        assert!(catch_unwind(AssertUnwindSafe(|| pool.drop_idle())).is_err());
        assert!(pool.try_get().is_none(), "an item was not aged");
        assert_eq!(pool.get().0, 0);
    };
    // The shard of a thread is not known. In some round the item that panics is not in the last
    // shard.
    for _ in 0..16 {
        in_time("Pool", round).unwrap();
    }
}

/// A future that is never ready and panics when it is dropped.
struct PendingBomb;

impl Future for PendingBomb {
    type Output = ();
    fn poll(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for PendingBomb {
    fn drop(&mut self) {
        panic!("expected by the test");
    }
}

/// The chosen send gives its permit back, so the receiver gets the next value.
#[test]
fn a_case_that_panics_in_its_drop_costs_no_permit() {
    in_time("select", || {
        runtime(1).block_on(async {
            let (tx, rx) = gmp::chan::<u32>(0);
            let receiver = gmp::go!({ rx.recv().await });
            super::support::waiting("chan receive", 1).await;
            let sends = tx.clone();
            let selects = gmp::go!({
                gmp::select! {
                    _ = sends.send(1) => {}
                    () = PendingBomb => {}
                }
            });
            assert!(selects.await.unwrap_err().is_panic());
            tx.send(2).await.unwrap();
            assert_eq!(receiver.await.unwrap(), Ok(2));
        });
    })
    .unwrap();
}

/// The value of the chosen receive is dropped, once.
#[test]
fn a_case_that_panics_in_its_drop_leaks_no_value() {
    let alive = Arc::new(());
    let (tx, rx) = gmp::chan(1);
    tx.try_send(alive.clone()).unwrap();
    let selects = gmp::spawn(async move {
        gmp::select! {
            _ = rx.recv() => {}
            () = PendingBomb => {}
        }
    });
    assert!(gmp::block_on(selects).unwrap_err().is_panic());
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// A future that `block_on` drops starts goroutines on the runtime of the `block_on`.
#[test]
fn block_on_drops_its_future_inside_the_runtime() {
    struct Spawns(mpsc::Sender<gmp::JoinHandle<usize>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.0.send(gmp::spawn(async { gmp::max_procs() })).unwrap();
        }
    }
    let (tx, rx) = mpsc::channel();
    let runtime = runtime(3);
    for block_on_handle in [false, true] {
        let spawns = Spawns(tx.clone());
        let future = gmp::timeout(Duration::ZERO, async move {
            let _spawns = spawns;
            std::future::pending::<()>().await;
        });
        let elapsed = match block_on_handle {
            true => runtime.handle().block_on(future),
            false => runtime.block_on(future),
        };
        assert!(elapsed.is_err());
        assert_eq!(gmp::block_on(rx.recv().unwrap()).unwrap(), 3);
    }
}

#[test]
fn payloads_whose_drop_panics_end_with_their_goroutine() {
    let name = "user_code::payloads_whose_drop_panics_end_with_their_goroutine";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    /// Panics with `.0` when it is dropped.
    struct Drops(u32);
    impl Drop for Drops {
        fn drop(&mut self) {
            panic_any(Bomb(self.0));
        }
    }
    let runtime = runtime(2);
    for depth in 0..4 {
        runtime.spawn(async move { panic_any(Bomb(depth)) }).detach();
        // An output without a join, and a future that is aborted.
        runtime.spawn(async move { Drops(depth) }).detach();
        let aborted = runtime.spawn(async move {
            let _guard = Drops(depth);
            std::future::pending::<()>().await;
        });
        aborted.abort();
        drop(aborted);
        // A handle that is dropped after the panic.
        let late = runtime.spawn(async move { panic_any(Bomb(depth)) });
        while !late.is_finished() {
            std::thread::yield_now();
        }
        drop(late);
    }
    while runtime.handle().num_goroutine() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(gmp::block_on(runtime.spawn(async { 1 })).unwrap(), 1);
}

#[test]
fn the_stall_hook_may_panic_with_any_payload() {
    let runtime = runtime(1);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    runtime.block_on(async {
        gmp::runtime::on_stall(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            panic_any(Bomb(2));
        });
    });
    for round in 1..=2 {
        let (ran, wait) = mpsc::channel();
        let calls = calls.clone();
        // Blocks its thread until sysmon has reported it and handed off its P.
        let blocks = runtime.spawn(async move {
            let ran = wait.recv_timeout(HUNG).is_ok();
            let deadline = std::time::Instant::now() + HUNG;
            while calls.load(Ordering::SeqCst) < round && std::time::Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            (ran, calls.load(Ordering::SeqCst))
        });
        let other = runtime.spawn(async move { ran.send(()) });
        let (ran, calls) = gmp::block_on(blocks).unwrap();
        assert!(ran, "round {round}: sysmon did not hand the P off");
        assert!(calls >= round, "round {round}: sysmon called the hook {calls} times");
        gmp::block_on(other).unwrap().unwrap();
    }
}

#[test]
fn a_stall_hook_that_blocks_does_not_stop_sysmon() {
    let (blocked, open) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let runtime = runtime(1);
    runtime.block_on(async {
        let (blocked, open) = (blocked.clone(), open.clone());
        gmp::runtime::on_stall(move |_| {
            blocked.store(true, Ordering::SeqCst);
            while !open.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
    // Blocks the only P until sysmon has handed it off to the other goroutine.
    let stall = || {
        let (ran, wait) = mpsc::channel();
        let blocks = runtime.spawn(async move { wait.recv() });
        runtime.spawn(async move { ran.send(()).unwrap() }).detach();
        gmp::block_on(blocks).unwrap().unwrap();
    };
    while !blocked.load(Ordering::SeqCst) {
        stall();
    }
    (0..3).for_each(|_| stall());
    open.store(true, Ordering::SeqCst);
}

#[test]
fn a_stall_hook_is_dropped_without_a_lock() {
    /// Sets another hook when it is dropped.
    struct Sets;
    impl Drop for Sets {
        fn drop(&mut self) {
            gmp::runtime::on_stall(|_| {});
        }
    }
    in_time("on_stall", || {
        runtime(1).block_on(async {
            let sets = Sets;
            gmp::runtime::on_stall(move |_| {
                let _sets = &sets;
            });
            gmp::runtime::on_stall(|_| {});
        });
    })
    .unwrap();
}

#[test]
fn a_stall_hook_that_panics_in_its_drop_does_not_stop_the_end_of_its_runtime() {
    let name =
        "user_code::a_stall_hook_that_panics_in_its_drop_does_not_stop_the_end_of_its_runtime";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    for _ in 0..20 {
        let runtime = runtime(2);
        let bomb = Bomb(2);
        runtime.block_on(async {
            gmp::runtime::on_stall(move |_| {
                let _bomb = &bomb;
            });
        });
        gmp::block_on(runtime.spawn(async {})).unwrap();
        drop(runtime);
    }
}

/// An error that panics when it is dropped.
#[derive(Debug)]
struct Cause;

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a cause")
    }
}

impl std::error::Error for Cause {}

impl Drop for Cause {
    fn drop(&mut self) {
        panic!("drop of a cause, expected by the test");
    }
}

#[test]
fn a_cause_that_panics_in_its_drop_costs_no_waiter_its_wake_up() {
    in_time("Context::done", || {
        let hour = Duration::from_secs(3600);
        let (parent, canceller) = Context::background().with_cancel();
        let (ctx, _) = parent.with_timeout_cause(hour, Cause);
        let (ran, wait) = mpsc::channel();
        let _call = ctx.after_func(move || ran.send(()).unwrap());
        let mut done: Waiting = Box::pin(ctx.done_owned().map(drop));
        let (counts, waker) = counting();
        assert!(poll(&mut done, &waker).is_pending());
        let canceled = catch_unwind(AssertUnwindSafe(|| canceller.cancel()));
        assert!(canceled.is_err(), "the caller that cancels drops the cause");
        assert_eq!(counts.0.load(Ordering::SeqCst), 1);
        assert!(wait.recv_timeout(HUNG).is_ok());
    })
    .unwrap();
    in_time("a context that is dropped", || {
        let hour = Duration::from_secs(3600);
        let (parent, canceller) = Context::background().with_cancel();
        let (ctx, child_canceller) = parent.with_timeout_cause(hour, Cause);
        let (ran, wait) = mpsc::channel();
        let call = ctx.after_func(move || ran.send(()).unwrap());
        drop((call, child_canceller));
        // The timer has a call to make, so it keeps the context until the parent ends it.
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(ctx)));
        let canceled = catch_unwind(AssertUnwindSafe(|| canceller.cancel()));
        assert!(dropped.is_err() || canceled.is_err());
        assert!(wait.recv_timeout(HUNG).is_ok());
    })
    .unwrap();
}

#[test]
fn a_panic_hook_may_call_gmp() {
    let name = "user_code::a_panic_hook_may_call_gmp";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let (tx, rx) = gmp::chan::unbounded();
    std::panic::set_hook(Box::new(move |_| {
        let _ = gmp::runtime::dump();
        let tx = tx.clone();
        gmp::block_on(gmp::spawn(async move { tx.try_send(1).unwrap() })).unwrap();
    }));
    let error = gmp::block_on(gmp::spawn(async { panic!("expected by the test") })).unwrap_err();
    assert!(error.is_panic());
    assert_eq!(rx.recv_blocking(), Ok(1));
}

/// Calls gmp when its thread ends.
struct AtExit(gmp::runtime::Handle);

impl Drop for AtExit {
    fn drop(&mut self) {
        self.0.block_on(async {
            assert_eq!(gmp::max_procs(), 3, "inside the handle's runtime");
            assert_eq!(gmp::spawn(async { 1 }).await.unwrap(), 1);
            gmp::sleep(Duration::from_millis(1)).await;
            let (tx, rx) = gmp::chan(0);
            let (sent, received) = join(tx.send(1), rx.recv()).await;
            assert_eq!((sent, received), (Ok(()), Ok(1)));
            gmp::select! { _ = rx.recv() => unreachable!(), default => {} }
            let late = gmp::timeout(Duration::from_millis(1), rx.recv()).await;
            assert!(late.is_err());
        });
        gmp::block_on(gmp::yield_now());
        assert!(gmp::after_func(Duration::from_secs(60), || {}).stop());
        let pool = Pool::new(|| 1);
        pool.put(2);
        assert!(pool.get() > 0);
        assert_eq!(gmp::block_in_place(|| 1), 1);
        assert!(gmp::goid().is_none());
        let _ = gmp::runtime::dump();
        println!("at exit of {:?}", std::thread::current().name());
    }
}

thread_local! {
    static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
}

#[test]
fn thread_local_destructors_may_call_gmp() {
    let name = "user_code::thread_local_destructors_may_call_gmp";
    if !is_child() {
        let output = child(name, &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(text.matches("at exit of").count(), 2, "{text}");
        return;
    }
    let served = runtime(3);
    let handle = served.handle().clone();
    let plain = handle.clone();
    std::thread::spawn(move || {
        AT_EXIT.set(Some(AtExit(plain.clone())));
        // The thread-local state of the runtime is initialised later, so it is destroyed first.
        plain.block_on(async { gmp::spawn(async {}).await.unwrap() });
    })
    .join()
    .unwrap();
    let other = runtime(1);
    let worker = other.spawn(async move {
        AT_EXIT.set(Some(AtExit(handle.clone())));
        handle.block_on(async {});
    });
    gmp::block_on(worker).unwrap();
    // Joins the worker thread.
    other.shutdown(HUNG).unwrap();
}

#[test]
fn messages_to_a_closed_stderr_are_lost_without_harm() {
    let name = "user_code::messages_to_a_closed_stderr_are_lost_without_harm";
    if !is_child() {
        let mut command = child_command(name, &[("GMPDEBUG", "schedtrace=1,stall=1")]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stderr.take());
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
        return;
    }
    // Writing fails as soon as the parent has closed its end.
    while std::io::Write::write_all(&mut std::io::stderr(), b".").is_ok() {}
    let runtime = runtime(1);
    runtime.spawn(async { panic!("expected by the test") }).detach();
    runtime.spawn(async { std::thread::sleep(Duration::from_millis(50)) }).detach();
    let last = runtime.spawn(gmp::sleep(Duration::from_millis(50)));
    gmp::block_on(last).unwrap();
}
