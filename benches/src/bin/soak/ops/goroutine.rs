//! Goroutines: starting, joining, aborting, panicking, and wakers from external threads.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::{expected_panic, violation};
use gmp::select;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Starts many goroutines, some of which start more, and joins them in a random order.
pub(crate) async fn fan_out(mut cx: Cx) {
    let mut children = Vec::new();
    for n in 0..cx.rand.below(60) {
        children.push(cx.spawn_anywhere(|mut inner| async move {
            inner.pause().await;
            n
        }));
    }
    did("spawn", End::Ok);
    while !children.is_empty() {
        let n = cx.rand.size(children.len());
        let child = children.swap_remove(n);
        match cx.rand.below(4) {
            0 => abort(&child),
            1 => {
                let _ = (child.handle.is_finished(), child.handle.goid());
                did("JoinHandle::is_finished", End::Ok);
            }
            2 => {
                did("JoinHandle::detach", End::Ok);
                child.handle.detach();
                continue;
            }
            _ => {}
        }
        join(child).await;
    }
}

/// Starts goroutines that panic, also from a drop, and joins them.
pub(crate) async fn panics(mut cx: Cx) {
    /// Panics when it is dropped, unless the thread already panics.
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                expected_panic();
            }
        }
    }
    let child = match cx.rand.below(4) {
        0 => cx.spawn_anywhere(|_| async { expected_panic() }),
        1 => cx.spawn_anywhere(|mut inner| async move {
            inner.pause().await;
            expected_panic()
        }),
        2 => cx.spawn_anywhere(|mut inner| async move {
            let _bomb = Bomb;
            inner.pause().await;
        }),
        _ => {
            let child = cx.spawn_anywhere(|_| async move {
                let _bomb = Bomb;
                // With a limit: this operation may be aborted before it aborts the goroutine.
                gmp::sleep(std::time::Duration::from_millis(20)).await;
            });
            cx.pause().await;
            abort(&child);
            child
        }
    };
    join(child).await;
    did("a goroutine that panics", End::Panicked);
}

/// Awaits a handle by `&mut` in a `select!`, and again.
pub(crate) async fn join_by_ref(mut cx: Cx) {
    let mut inner = cx.fork();
    let mut child = cx.spawn(async move {
        inner.pause().await;
        7
    });
    let limit = cx.rand.micros(300);
    let first = select! {
        joined = &mut child.handle => Some(joined),
        () = gmp::sleep(limit) => None,
    };
    did("select! JoinHandle", if first.is_some() { End::Ok } else { End::Timeout });
    let seven = match first {
        Some(joined) => joined.ok(),
        None => join(child).await,
    };
    if seven.is_some_and(|seven| seven != 7) {
        violation(format!("a join returned {seven:?}"));
    }
}

/// Wakers of goroutines that wait.
#[derive(Debug, Default)]
struct Board {
    wakers: Vec<Waker>,
    ended: bool,
}

/// A board that closes and wakes all goroutines when it is dropped.
#[derive(Debug)]
struct Boards(Arc<Mutex<Board>>);

impl Drop for Boards {
    fn drop(&mut self) {
        let mut board = self.0.lock();
        board.ended = true;
        let wakers = std::mem::take(&mut board.wakers);
        drop(board);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Posts its waker and waits, `polls` times.
async fn post(board: Arc<Mutex<Board>>, polls: u64) {
    for _ in 0..polls {
        let mut posted = false;
        poll_fn(|task| {
            let mut board = board.lock();
            if board.ended || posted {
                return Poll::Ready(());
            }
            posted = true;
            board.wakers.push(task.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Goroutines post their wakers; external threads wake them, several times and at once.
pub(crate) async fn wake_storm(mut cx: Cx) {
    let boards = Boards(Arc::default());
    let board = boards.0.clone();
    let polls = 1 + cx.rand.below(20);
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(6) {
        let board = board.clone();
        children.push(cx.spawn_anywhere(|_| post(board, polls)));
    }
    let wakes = children.len() as u64 * polls;
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let board = board.clone();
            std::thread::spawn(move || wake_posted(&board, wakes))
        })
        .collect();
    if cx.rand.once_in(3) {
        children.iter().for_each(abort);
    }
    let joined = gmp::spawn_blocking(move || threads.into_iter().for_each(|t| drop(t.join())));
    let _ = joined.await;
    // The threads may end before the last wakers are posted. The drop wakes the remaining
    // goroutines.
    drop(boards);
    for child in children {
        join(child).await;
    }
    did("Waker::wake on external threads", End::Ok);
}

/// Wakes posted wakers, by reference and by value. A waker may outlive its goroutine.
fn wake_posted(board: &Mutex<Board>, wakes: u64) {
    for _ in 0..wakes {
        let waker = board.lock().wakers.pop();
        match waker {
            Some(waker) => {
                waker.wake_by_ref();
                waker.wake();
            }
            None => std::thread::yield_now(),
        }
    }
}

/// Reads the statistics of the runtime.
pub(crate) async fn inspect(cx: Cx) {
    // Other workers change `procs` all the time. The counts of one runtime never decrease.
    let metrics = [cx.home.handle.metrics(), gmp::runtime::metrics(), cx.home.handle.metrics()];
    if !metrics.is_sorted_by_key(|metrics| metrics.goroutines.created) {
        violation(format!("metrics() and Handle::metrics() are of two runtimes: {metrics:?}"));
    }
    let dump = gmp::runtime::dump();
    did("runtime::dump", End::Ok);
    if gmp::goid().is_some() && !dump.contains("goroutine ") {
        violation(format!("a dump without a goroutine: {dump}"));
    }
    let live = (gmp::num_goroutine(), gmp::max_procs());
    if live.1 == 0 || (gmp::goid().is_some() && live.0 == 0) {
        violation(format!("num_goroutine and max_procs are {live:?} inside a goroutine"));
    }
    did("goid, num_goroutine, max_procs, metrics", End::Ok);
}
