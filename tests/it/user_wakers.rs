//! Foreign wakers that panic when they are cloned, woken or dropped. The rules are in `user_code`.

use super::support::{child, is_child};
use super::user_code::{Bomb, Counts, Waiting, counting, in_time, poll};
use futures::{FutureExt, SinkExt, StreamExt};
use gmp::context::Context;
use gmp::sync::{
    Barrier, Cond, ErrGroup, Mutex, OnceCell, RwLock, Semaphore, SingleFlight, WaitGroup,
};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as Cx, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;

/// A waker that panics when it wakes, with a payload that panics when it is dropped.
fn panics_on_wake() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic_any(Bomb(2));
        }
    }
    Waker::from(Arc::new(Panics))
}

/// A waker whose last clone panics when it is dropped.
fn panics_on_drop() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("drop of a waker, expected by the test");
        }
    }
    Waker::from(Arc::new(Panics))
}

/// A waker that panics when it is cloned.
#[expect(unsafe_code, reason = "no safe waker has a clone that panics")]
fn panics_on_clone() -> Waker {
    fn clone(_: *const ()) -> RawWaker {
        panic!("clone of a waker, expected by the test");
    }
    fn nothing(_: *const ()) {}
    static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    // SAFETY: the functions do nothing with the data.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) }
}

/// Polls with a waker whose clone panics. Returns whether the panic left the poll.
fn poll_panics(future: &mut (impl Future + Unpin)) -> bool {
    let waker = panics_on_clone();
    catch_unwind(AssertUnwindSafe(|| future.poll_unpin(&mut Cx::from_waker(&waker)).is_ready()))
        .is_err()
}

fn ignore<T>(_: T) {}

/// A primitive to wait on.
struct Scene {
    name: &'static str,
    /// A future that waits until `release`.
    wait: Box<dyn Fn() -> Waiting + Send>,
    /// Ends the wait of at least the first waiter. May be called once.
    release: Box<dyn FnOnce() + Send>,
}

fn scene(
    name: &'static str,
    wait: impl Fn() -> Waiting + Send + 'static,
    release: impl FnOnce() + Send + 'static,
) -> Scene {
    Scene { name, wait: Box::new(wait), release: Box::new(release) }
}

/// Returns all primitives on which several futures can wait. `waiters` of them wait at the release.
fn scenes(waiters: usize) -> Vec<Scene> {
    let mut all = channel_scenes();
    all.extend(lock_scenes());
    all.extend(group_scenes(waiters));
    all
}

fn channel_scenes() -> Vec<Scene> {
    let (tx, rx) = gmp::chan::<u32>(0);
    let recv_closed = scene(
        "recv, closed",
        move || {
            let rx = rx.clone();
            Box::pin(async move { ignore(rx.recv().await) })
        },
        move || ignore(tx.close()),
    );
    let (tx, rx) = gmp::chan::<u32>(1);
    let recv_value = scene(
        "recv, a value",
        move || {
            let rx = rx.clone();
            Box::pin(async move { ignore(rx.recv().await) })
        },
        move || tx.try_send(1).unwrap(),
    );
    let (tx, rx) = gmp::chan::<u32>(1);
    tx.try_send(1).unwrap();
    let send = scene(
        "send",
        move || {
            let tx = tx.clone();
            Box::pin(async move { ignore(tx.send(2).await) })
        },
        move || ignore(rx.try_recv()),
    );
    let (tx, rx) = gmp::chan::<u32>(0);
    let stream = scene(
        "stream",
        move || {
            let mut rx = rx.clone();
            Box::pin(async move { ignore(rx.next().await) })
        },
        move || ignore(tx.close()),
    );
    let (tx, rx) = gmp::chan::<u32>(1);
    tx.try_send(1).unwrap();
    let sink = scene(
        "sink",
        move || {
            let mut tx = tx.clone();
            Box::pin(async move { ignore(tx.feed(1).await) })
        },
        move || ignore(rx.close()),
    );
    let mut all = vec![recv_closed, recv_value, send, stream, sink];
    all.extend(select_scenes());
    all
}

fn select_scenes() -> Vec<Scene> {
    let ((tx, rx), (other_tx, other_rx)) = (gmp::chan::<u32>(0), gmp::chan::<u32>(0));
    let select_recv = scene(
        "select of two receives",
        move || {
            let (rx, other) = (rx.clone(), other_rx.clone());
            Box::pin(async move {
                gmp::select! { _ = rx.recv() => {}, _ = other.recv() => {} }
            })
        },
        move || {
            tx.close();
            other_tx.close();
        },
    );
    let ((tx, rx), (other_tx, other_rx)) = (gmp::chan::<u32>(0), gmp::chan::<u32>(1));
    other_tx.try_send(1).unwrap();
    let select_mixed = scene(
        "select of a receive, a send and a future",
        move || {
            let (rx, other) = (rx.clone(), other_tx.clone());
            Box::pin(async move {
                gmp::select! {
                    _ = rx.recv() => {},
                    _ = other.send(2) => {},
                    () = std::future::pending() => {},
                }
            })
        },
        move || {
            tx.close();
            other_rx.close();
        },
    );
    vec![select_recv, select_mixed]
}

fn lock_scenes() -> Vec<Scene> {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.clone().try_lock_owned().unwrap();
    let lock = scene(
        "Mutex::lock",
        move || {
            let mutex = mutex.clone();
            Box::pin(async move { ignore(mutex.lock().await) })
        },
        move || drop(guard),
    );
    let rw = Arc::new(RwLock::new(()));
    let guard = rw.clone().try_write_owned().unwrap();
    let read = scene(
        "RwLock::read",
        move || {
            let rw = rw.clone();
            Box::pin(async move { ignore(rw.read().await) })
        },
        move || drop(guard),
    );
    let rw = Arc::new(RwLock::new(()));
    let guard = rw.clone().try_read_owned().unwrap();
    let write = scene(
        "RwLock::write",
        move || {
            let rw = rw.clone();
            Box::pin(async move { ignore(rw.write().await) })
        },
        move || drop(guard),
    );
    let semaphore = Arc::new(Semaphore::new(0));
    let permits = semaphore.clone();
    let acquire = scene(
        "Semaphore::acquire",
        move || {
            let semaphore = semaphore.clone();
            Box::pin(async move { ignore(semaphore.acquire(1).await) })
        },
        move || permits.add_permits(1),
    );
    let pair = Arc::new((Mutex::new(()), Cond::new()));
    let signals = pair.clone();
    let cond = scene(
        "Cond::wait",
        move || {
            let pair = pair.clone();
            Box::pin(async move { ignore(pair.1.wait(pair.0.lock().await).await) })
        },
        move || signals.1.signal(),
    );
    vec![lock, read, write, acquire, cond]
}

fn group_scenes(waiters: usize) -> Vec<Scene> {
    let barrier = Arc::new(Barrier::new(waiters + 1));
    let last = barrier.clone();
    let barrier = scene(
        "Barrier::wait",
        move || {
            let barrier = barrier.clone();
            Box::pin(async move { ignore(barrier.wait().await) })
        },
        move || assert!(last.wait().now_or_never().is_some()),
    );
    let group = WaitGroup::new();
    group.add(1);
    let count = group.clone();
    let wait_group = scene("WaitGroup::wait", move || Box::pin(group.wait()), move || count.done());
    let (ctx, canceller) = Context::background().with_cancel();
    let context = scene(
        "Context::done",
        move || Box::pin(ctx.clone().done_owned().map(drop)),
        move || canceller.cancel(),
    );
    let cell = Arc::new(OnceCell::new());
    let value = cell.clone();
    let once = scene(
        "OnceCell::wait",
        move || {
            let cell = cell.clone();
            Box::pin(async move { ignore(cell.wait().await) })
        },
        move || value.set(()).unwrap(),
    );
    let (flights, (tx, rx)) = (SingleFlight::<u32, u32>::new(), gmp::chan::<u32>(0));
    let leader = flights.spawn(1, move || async move { rx.recv().await.unwrap_or(0) });
    let flight = scene(
        "SingleFlight::call",
        move || {
            let flights = flights.clone();
            Box::pin(async move { ignore(flights.call(1, || async { 1 }).await) })
        },
        move || {
            tx.close();
            gmp::block_on(leader).unwrap();
        },
    );
    let (errors, (tx, rx)) = (ErrGroup::<u32>::new(), gmp::chan::<u32>(0));
    errors.go_blocking(async move { rx.recv().await.map(drop).map_err(|_| 1) });
    let ended = errors.clone();
    let err_group = scene(
        "ErrGroup::wait",
        move || Box::pin(errors.wait().map(drop)),
        move || {
            tx.close();
            assert!(ended.wait_blocking().is_err());
        },
    );
    vec![barrier, wait_group, context, once, flight, err_group]
}

/// Waits until the waker was woken, since some scenes release their waiters on another thread.
/// Fails if it was woken more than once. A wake-up that never comes fails in [`in_time`].
#[track_caller]
fn assert_woken_once(counts: &Counts, name: &str) {
    while counts.0.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(counts.0.load(Ordering::SeqCst), 1, "{name}");
}

/// Runs `f` for each scene, and fails with a list of the scenes in which it failed.
#[track_caller]
fn for_each_scene(waiters: usize, f: fn(Scene)) {
    let failures: Vec<_> = scenes(waiters)
        .into_iter()
        .filter_map(|scene| in_time(scene.name, move || f(scene)).err())
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn a_waker_that_panics_costs_no_other_waiter_its_wake_up() {
    for_each_scene(2, |Scene { name, wait, release }| {
        let (mut first, mut second) = (wait(), wait());
        let (counts, waker) = counting();
        assert!(poll(&mut first, &panics_on_wake()).is_pending());
        assert!(poll(&mut second, &waker).is_pending());
        release();
        // A waiter that was given something passes it on.
        drop(first);
        assert_woken_once(&counts, name);
        assert!(poll(&mut second, &waker).is_ready(), "{name}");
    });
}

#[test]
fn a_waker_whose_clone_panics_leaves_nothing_behind() {
    for_each_scene(1, |Scene { name, wait, release }| {
        let (mut first, mut second) = (wait(), wait());
        assert!(poll_panics(&mut first), "{name}: the waker was not cloned");
        drop(first);
        let (counts, waker) = counting();
        assert!(poll(&mut second, &waker).is_pending());
        release();
        assert_woken_once(&counts, name);
        assert!(poll(&mut second, &waker).is_ready(), "{name}");
    });
}

#[test]
fn a_second_waker_whose_clone_panics_leaves_nothing_behind() {
    for_each_scene(1, |Scene { name, wait, release }| {
        let (mut first, mut second) = (wait(), wait());
        assert!(poll(&mut first, Waker::noop()).is_pending());
        assert!(poll_panics(&mut first), "{name}: the waker was not cloned");
        drop(first);
        let (counts, waker) = counting();
        assert!(poll(&mut second, &waker).is_pending());
        release();
        assert_woken_once(&counts, name);
        assert!(poll(&mut second, &waker).is_ready(), "{name}");
    });
}

#[test]
fn a_waker_whose_drop_panics_costs_no_other_waiter_its_wake_up() {
    for_each_scene(1, |Scene { name, wait, release }| {
        let (mut first, mut second) = (wait(), wait());
        // Only the clone in the queue is left after the poll.
        assert!(poll(&mut first, &panics_on_drop()).is_pending());
        drop(first);
        let (counts, waker) = counting();
        assert!(poll(&mut second, &waker).is_pending());
        release();
        assert_woken_once(&counts, name);
        assert!(poll(&mut second, &waker).is_ready(), "{name}");
    });
}

#[test]
fn a_lock_whose_waker_cannot_be_cloned_leaves_the_mutex_usable() {
    in_time("Mutex::lock", || {
        let mutex = Mutex::new(());
        let guard = mutex.try_lock();
        assert!(poll_panics(&mut Box::pin(mutex.lock())));
        // No future waits here, so none may count as woken.
        drop(guard);
        let guard = mutex.try_lock().unwrap();
        let mut second = Box::pin(mutex.lock());
        let (counts, waker) = counting();
        assert!(second.poll_unpin(&mut Cx::from_waker(&waker)).is_pending());
        drop(guard);
        assert_eq!(counts.0.load(Ordering::SeqCst), 1);
        assert!(second.now_or_never().is_some());
    })
    .unwrap();
}

#[test]
fn a_woken_lock_whose_waker_cannot_be_cloned_passes_the_mutex_on() {
    in_time("Mutex::lock", || {
        let mutex = Mutex::new(());
        let guard = mutex.try_lock();
        let mut first = Box::pin(mutex.lock());
        assert!(first.poll_unpin(&mut Cx::from_waker(Waker::noop())).is_pending());
        // It is woken, but another one holds the lock by then.
        drop(guard);
        let guard = mutex.try_lock().unwrap();
        assert!(poll_panics(&mut first));
        drop(first);
        let mut second = Box::pin(mutex.lock());
        let (counts, waker) = counting();
        assert!(second.poll_unpin(&mut Cx::from_waker(&waker)).is_pending());
        drop(guard);
        assert_eq!(counts.0.load(Ordering::SeqCst), 1);
        assert!(second.now_or_never().is_some());
    })
    .unwrap();
}

#[test]
fn a_stream_whose_waker_panics_in_its_drop_still_counts_as_dropped() {
    in_time("Receiver as a stream", || {
        let (tx, mut rx) = gmp::chan::<u32>(0);
        assert!(rx.poll_next_unpin(&mut Cx::from_waker(&panics_on_drop())).is_pending());
        drop(rx);
        assert!(tx.is_closed());
    })
    .unwrap();
    in_time("Sender as a sink", || {
        let (mut tx, rx) = gmp::chan::<u32>(0);
        assert!(tx.poll_ready_unpin(&mut Cx::from_waker(&panics_on_drop())).is_pending());
        drop(tx);
        assert!(rx.is_closed());
    })
    .unwrap();
}

#[test]
fn handles_timers_and_sockets_survive_a_clone_that_panics() {
    in_time("JoinHandle", || {
        let (tx, rx) = gmp::chan::<u32>(0);
        let mut handle = gmp::spawn(async move { rx.recv().await });
        assert!(poll_panics(&mut handle));
        tx.close();
        assert!(gmp::block_on(handle).unwrap().is_err());
    })
    .unwrap();
    in_time("Sleep", || {
        let mut sleep = gmp::sleep(Duration::from_millis(1));
        assert!(poll_panics(&mut sleep));
        gmp::block_on(sleep);
        let mut sleep = gmp::sleep(Duration::from_secs(3600));
        assert!(sleep.poll_unpin(&mut Cx::from_waker(&panics_on_drop())).is_pending());
        drop(sleep);
    })
    .unwrap();
    in_time("UdpSocket", || {
        gmp::block_on(async {
            let socket = gmp::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let mut buf = [0; 1];
            assert!(poll_panics(&mut Box::pin(socket.recv(&mut buf))));
            let mut bytes = [0; 1];
            let mut recv = Box::pin(socket.recv(&mut bytes));
            assert!(recv.poll_unpin(&mut Cx::from_waker(&panics_on_drop())).is_pending());
            drop(recv);
            socket.send_to(&[7], socket.local_addr().unwrap()).await.unwrap();
            assert_eq!(socket.recv(&mut buf).await.unwrap(), 1);
        });
    })
    .unwrap();
}

#[test]
fn closing_a_socket_wakes_all_although_a_waker_panics() {
    in_time("UdpSocket", || {
        gmp::block_on(async {
            for by_deadline in [false, true] {
                let socket = gmp::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
                let (mut first, mut second) = ([0; 1], [0; 1]);
                let mut first = Box::pin(socket.recv(&mut first));
                let mut second = Box::pin(socket.recv(&mut second));
                let (counts, waker) = counting();
                assert!(first.poll_unpin(&mut Cx::from_waker(&panics_on_wake())).is_pending());
                assert!(second.poll_unpin(&mut Cx::from_waker(&waker)).is_pending());
                if by_deadline {
                    socket.set_deadline(Some(std::time::Instant::now()));
                } else {
                    socket.close();
                }
                assert_eq!(counts.0.load(Ordering::SeqCst), 1);
            }
        });
    })
    .unwrap();
}

#[test]
fn a_timer_contains_a_waker_whose_payload_panics() {
    let name = "user_wakers::a_timer_contains_a_waker_whose_payload_panics";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    gmp::block_on(gmp::spawn(async {
        let mut sleep = gmp::sleep(Duration::from_millis(1));
        let (tx, rx) = gmp::chan::<()>(0);
        let mut handle = gmp::spawn(async move { rx.recv().await.is_err() });
        let waker = panics_on_wake();
        assert!(sleep.poll_unpin(&mut Cx::from_waker(&waker)).is_pending());
        assert!(handle.poll_unpin(&mut Cx::from_waker(&waker)).is_pending());
        drop(tx);
        gmp::sleep(Duration::from_millis(20)).await;
        sleep.await;
        assert!(handle.await.unwrap());
    }))
    .unwrap();
}
