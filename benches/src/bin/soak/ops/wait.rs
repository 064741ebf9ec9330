//! Waiting for other goroutines: WaitGroup, Cond, Barrier, a private Semaphore.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did, did_option};
use crate::violation::{expected_panic, violation};
use gmp::WaitGroup;
use gmp::context::Context;
use gmp::sync::{Barrier, Cond, Mutex, Semaphore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts a member until its future is dropped.
struct Ends(Arc<AtomicUsize>);

impl Ends {
    fn new(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Relaxed);
        Self(running.clone())
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Members of a group end in every way; each wait returns after all of them.
pub(crate) async fn wait_group(mut cx: Cx) {
    let group = WaitGroup::new();
    let running = Arc::new(AtomicUsize::new(0));
    let mut members = Vec::new();
    for _ in 0..cx.rand.size(8) {
        let (ends, mut inner) = (Ends::new(&running), cx.fork());
        let body = async move {
            let _ends = ends;
            inner.pause().await;
            if inner.rand.once_in(16) {
                expected_panic();
            }
        };
        members.push(group.go(cx.home.tracked(body)));
        did("WaitGroup::go", End::Ok);
    }
    if !members.is_empty() && cx.rand.once_in(2) {
        cx.rand.pick(&members).abort();
    }
    group.add(2);
    group.done();
    group.add(-1);
    did("WaitGroup::add, done", End::Ok);
    group.wait().await;
    did("WaitGroup::wait", End::Ok);
    if group.count() != 0 || running.load(Relaxed) != 0 {
        violation(format!("a wait returned with {} members", running.load(Relaxed)));
    }
    for member in members {
        let _ = member.await;
    }
}

/// Tickets under a mutex, and the condition that there is one.
type Tickets = Arc<(Mutex<usize>, Cond)>;

/// Gives a ticket to every waiter when it is dropped, so an aborted operation leaves no waiter.
struct Enough(Tickets);

impl Drop for Enough {
    fn drop(&mut self) {
        *self.0.0.lock_blocking() += 1000;
        self.0.1.broadcast();
    }
}

/// Waiters of a condition see the change that the signal announces.
pub(crate) async fn cond(mut cx: Cx) {
    let shared: Tickets = Arc::new((Mutex::new(0), Cond::new()));
    let enough = Enough(shared.clone());
    let waiters = 1 + cx.rand.size(4);
    let mut children = Vec::new();
    for _ in 0..waiters {
        let (shared, form) = (shared.clone(), cx.rand.below(2));
        children.push(cx.spawn_anywhere(|_| async move {
            let (mutex, cond) = &*shared;
            let mut tickets = mutex.lock().await;
            if form == 0 {
                tickets = cond.wait_while(tickets, |tickets| *tickets == 0).await;
            }
            while *tickets == 0 {
                tickets = cond.wait(tickets).await;
            }
            *tickets -= 1;
        }));
    }
    for _ in 0..waiters {
        cx.pause().await;
        *shared.0.lock().await += 1;
        if cx.rand.once_in(4) {
            shared.1.broadcast();
            did("Cond::broadcast", End::Ok);
        } else {
            shared.1.signal();
            did("Cond::signal", End::Ok);
        }
    }
    let mut served = 0;
    for child in children {
        served += usize::from(join(child).await.is_some());
    }
    did("Cond::wait", if served == waiters { End::Ok } else { End::Cancelled });
    let left = *shared.0.lock().await;
    if served + left != waiters {
        violation(format!("{served} of {waiters} waiters took a ticket, and {left} are left"));
    }
    drop(enough);
}

/// An external thread waits for a condition.
pub(crate) async fn cond_blocking(cx: Cx) {
    drop(cx);
    let shared = Arc::new((Mutex::new(false), Cond::new()));
    let waiting = shared.clone();
    let waiter = gmp::spawn_blocking(move || {
        let mut ready = waiting.0.lock_blocking();
        while !*ready {
            ready = waiting.1.wait_blocking(ready);
        }
    });
    /// Ends the wait of the thread also if this goroutine is aborted.
    struct Ready(Arc<(Mutex<bool>, Cond)>);
    impl Drop for Ready {
        fn drop(&mut self) {
            *self.0.0.lock_blocking() = true;
            self.0.1.signal();
        }
    }
    let ready = Ready(shared);
    gmp::yield_now().await;
    drop(ready);
    let _ = waiter.await;
    did("Cond::wait_blocking", End::Ok);
}

/// Each round of a barrier has one leader.
pub(crate) async fn barrier(mut cx: Cx) {
    let size = 1 + cx.rand.size(4);
    let barrier = Arc::new(Barrier::new(size));
    // Ends the waits of goroutines whose partners are aborted.
    let (ctx, canceller) = Context::background().with_cancel();
    let guard = canceller.drop_guard();
    let mut children = Vec::new();
    for _ in 0..size {
        let (barrier, ctx) = (barrier.clone(), ctx.clone());
        children.push(cx.spawn_anywhere(|mut inner| async move {
            inner.pause().await;
            gmp::select! {
                result = barrier.wait() => Some(result.is_leader()),
                _ = ctx.done() => None,
            }
        }));
    }
    let whole = !cx.rand.once_in(4);
    if !whole {
        abort(cx.rand.pick(&children));
        drop(guard);
    }
    let (mut through, mut leaders, mut cancelled) = (0, 0, 0);
    for child in children {
        match join(child).await {
            Some(Some(leader)) => {
                through += 1;
                leaders += u32::from(leader);
            }
            Some(None) => {}
            None => cancelled += 1,
        }
    }
    did("Barrier::wait", if through == size { End::Ok } else { End::Cancelled });
    if leaders > 1 || (through == size && leaders != 1) {
        violation(format!("{through} of {size} passed a barrier with {leaders} leaders"));
    }
    if whole && cancelled == 0 && through != size {
        violation(format!("{through} of {size} passed a barrier that all have reached"));
    }
}

/// Permits are split, merged, forgotten and added. Their sum remains.
pub(crate) async fn permits(mut cx: Cx) {
    let semaphore = Arc::new(Semaphore::new(3));
    let mut children = Vec::new();
    for _ in 0..cx.rand.size(5) {
        let semaphore = semaphore.clone();
        children.push(cx.spawn_anywhere(|mut inner| async move {
            let mut permit = semaphore.acquire_owned(1 + inner.rand.size(3)).await;
            did("Semaphore::acquire_owned", End::Ok);
            inner.pause().await;
            if let Some(part) = permit.split(1) {
                did("OwnedSemaphorePermit::split", End::Ok);
                inner.pause().await;
                permit.merge(part);
            }
        }));
    }
    if !children.is_empty() && cx.rand.once_in(2) {
        abort(cx.rand.pick(&children));
    }
    for child in children {
        join(child).await;
    }
    let taken = did_option("Semaphore::try_acquire_owned", semaphore.clone().try_acquire_owned(2));
    if let Some(permit) = taken {
        permit.forget();
        semaphore.release(2);
        did("Semaphore::release", End::Ok);
    }
    semaphore.add_permits(1);
    if (semaphore.available_permits(), semaphore.max_permits()) != (4, 4) {
        violation(format!("a semaphore of 4 has {} free permits", semaphore.available_permits()));
    }
}
