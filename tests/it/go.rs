//! Spawning, joining, aborting and panicking.

use super::support::{Gate, Mutex, runtime, until};
use gmp::{JoinError, go};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

async fn double(n: u64) -> u64 {
    2 * n
}

#[gmp::test]
async fn go_takes_all_its_forms() {
    let data = [1, 2, 3];
    assert_eq!(go!(double(4)).await.unwrap(), 8);
    assert_eq!(go!({ double(5).await }).await.unwrap(), 10);
    assert_eq!(go!(async { 7 }).await.unwrap(), 7);
    assert_eq!(go!(move || data.len()).await.unwrap(), 3);
    assert_eq!(go!(name = "named", double(1)).await.unwrap(), 2);
    assert_eq!(go!(name = format!("n{}", 1), { 3 }).await.unwrap(), 3);
}

/// A future that a closure or a block returns runs in the goroutine and is aborted with it.
#[gmp::test]
async fn a_returned_future_runs_in_the_goroutine() {
    let from_closure = go!(move || async move { gmp::goid() });
    let from_block = go!({ async { gmp::goid() } });
    let from_call = go!(|| double(21));
    for handle in [from_closure, from_block] {
        let goid = handle.goid();
        assert_eq!(handle.await.unwrap(), Some(goid));
    }
    assert_eq!(from_call.await.unwrap(), 42);
    let endless = go!(move || std::future::pending::<()>());
    endless.abort();
    assert!(endless.await.unwrap_err().is_cancelled());
}

#[gmp::test]
async fn go_takes_statements_and_options() {
    let named = go! { let n = double(3).await; n + 1 };
    assert_eq!(named.await.unwrap(), 7);
    let handle = go!(name = "statements", {
        gmp::yield_now().await;
        gmp::runtime::dump()
    });
    assert!(handle.await.unwrap().contains("{name: statements}"));
}

#[gmp::test]
async fn arguments_are_evaluated_at_once() {
    let order = Arc::new(AtomicUsize::new(0));
    let next = || order.fetch_add(1, Ordering::Relaxed);
    async fn hold(n: usize) -> usize {
        n
    }
    let handle = go!(hold(next()));
    assert_eq!(next(), 1, "the argument was evaluated before");
    assert_eq!(handle.await.unwrap(), 0);
}

#[test]
fn the_newest_goroutine_runs_first_and_the_others_in_order() {
    // As in Go with one P: `go a; go b; go c; go d; go e; block` runs e, a, b, c, d, unless the
    // time slice of 10 ms is over first.
    loop {
        let runtime = runtime(1);
        let order = runtime.spawn(async {
            let (order, begin) = (Arc::new(Mutex::new(String::new())), Instant::now());
            // Each yield begins a slice. A few hundred polls make the P read the clock.
            for _ in 0..300 {
                gmp::yield_now().await;
            }
            let handles: Vec<_> = ["a", "b", "c", "d", "e"]
                .into_iter()
                .map(|name| {
                    let order = order.clone();
                    go!({ order.lock().unwrap().push_str(name) })
                })
                .collect();
            for handle in handles {
                handle.await.unwrap();
            }
            let order = order.lock().unwrap().clone();
            (begin.elapsed() < Duration::from_millis(5)).then_some(order)
        });
        let (order, handle) = (gmp::block_on(order).unwrap(), runtime.handle().clone());
        // Joins sysmon, so that it has counted all stalls.
        runtime.shutdown(Duration::from_secs(60)).unwrap();
        if let Some(order) = order
            && handle.metrics().stalls.total() == 0
        {
            assert_eq!(order, "eabcd");
            return;
        }
        // The thread was descheduled, or it waited for a lock and lost its P: try again.
    }
}

#[gmp::test]
async fn dropping_the_handle_detaches() {
    let gate = Arc::new(Gate::default());
    let opener = gate.clone();
    drop(go!({ opener.open() }));
    gate.wait().await;
}

#[gmp::test]
async fn abort_drops_the_future() {
    struct OnDrop(Arc<Gate>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.open();
        }
    }
    let gate = Arc::new(Gate::default());
    let guard = OnDrop(gate.clone());
    let handle = go!({
        let _guard = guard;
        std::future::pending::<()>().await;
    });
    handle.abort();
    gate.wait().await;
    assert!(handle.await.unwrap_err().is_cancelled());
}

#[gmp::test]
async fn abort_after_the_end_changes_nothing() {
    let handle = go!({ 5 });
    while !handle.is_finished() {
        gmp::yield_now().await;
    }
    handle.abort();
    assert_eq!(handle.await.unwrap(), 5);
}

#[gmp::test]
async fn a_panic_is_returned_by_the_join() {
    let handle = go!(async { panic!("expected by the test") });
    let goid = handle.goid();
    let error = handle.await.unwrap_err();
    assert!(error.is_panic() && !error.is_cancelled());
    assert_eq!(error.goid(), goid);
    let JoinError::Panic(panic) = error else { panic!("not a panic") };
    assert_eq!(panic.message(), "expected by the test");
    let payload = panic.into_payload();
    assert_eq!(payload.downcast_ref(), Some(&"expected by the test"));
}

#[gmp::test]
async fn a_panic_in_the_drop_of_the_future_is_returned_by_the_join() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("drop, expected by the test");
        }
    }
    // Completed: the destructor of the finished future panics, and its panic replaces the output.
    struct ReadyBomb(Bomb);
    impl Future for ReadyBomb {
        type Output = u8;
        fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<u8> {
            Poll::Ready(1)
        }
    }
    assert!(go!(ReadyBomb(Bomb)).await.unwrap_err().is_panic());
    // Aborted while it waits.
    let bomb = Bomb;
    let aborted = go!({
        let _bomb = bomb;
        std::future::pending::<()>().await;
    });
    gmp::yield_now().await;
    aborted.abort();
    assert!(aborted.await.unwrap_err().is_panic());
}

#[gmp::test]
async fn the_output_is_dropped_with_the_handle() {
    let count = Arc::new(());
    let inside = count.clone();
    let handle = go!({ inside });
    while !handle.is_finished() {
        gmp::yield_now().await;
    }
    assert_eq!(Arc::strong_count(&count), 2);
    drop(handle);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[gmp::test]
async fn values_within_one_poll_need_not_be_send() {
    // The output and the future are `Send`. Values that live within one poll need not be.
    let handle = go!({
        let cell = Cell::new(1);
        cell.set(2);
        cell.get()
    });
    assert_eq!(handle.await.unwrap(), 2);
}

#[gmp::test]
async fn large_and_strictly_aligned_futures_run() {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Aligned(u8);
    let aligned = Aligned(3);
    let handle = go!({
        gmp::yield_now().await;
        (std::ptr::from_ref(&aligned).addr() % 128, aligned.0)
    });
    assert_eq!(handle.await.unwrap(), (0, 3));

    let large = [1u8; 100_000];
    let handle = go!({
        gmp::yield_now().await;
        large.iter().map(|&n| u64::from(n)).sum::<u64>()
    });
    assert_eq!(handle.await.unwrap(), 100_000);

    for size in [1usize, 100, 1000, 10_000] {
        let text = "x".repeat(size);
        assert_eq!(go!({ text.len() }).await.unwrap(), size);
    }
}

#[gmp::test]
async fn large_and_strictly_aligned_outputs_are_returned() {
    #[repr(align(64))]
    struct Aligned(u8);
    let output = go!({ Aligned(7) }).await.unwrap();
    assert_eq!((output.0, std::ptr::from_ref(&output).addr() % 64), (7, 0));
    let output = go!({ [3u8; 30_000] }).await.unwrap();
    assert!(output.iter().all(|&b| b == 3));
    let large = [1u8; 25_000];
    let output = go!({
        gmp::yield_now().await;
        large
    });
    assert_eq!(output.await.unwrap().len(), 25_000);
    drop(go!({ [0u64; 4_000] }));
}

#[gmp::test]
async fn futures_of_every_size_class_run() {
    // Futures of many sizes are alive at once, each with its own pattern.
    macro_rules! sized {
        ($($n:literal)*) => {
            vec![$({
                let pattern: usize = $n % 251;
                let bytes = [pattern as u8; $n];
                go!({
                    gmp::yield_now().await;
                    bytes.iter().all(|&b| b == pattern as u8)
                })
            }),*]
        };
    }
    let handles = sized!(1 8 16 17 24 33 50 64 80 100 130 180 200 250 300 400 500 700 1000 1500
        2000 3000 4000 5000 7000 9000 12000 16000 16384 16385 20000);
    for handle in handles {
        assert!(handle.await.unwrap());
    }
}

#[test]
fn main_may_be_used_from_any_thread() {
    let threads: Vec<_> = (0..4)
        .map(|n| std::thread::spawn(move || gmp::block_on(gmp::spawn(double(n))).unwrap()))
        .collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(sum, 12);
}

#[test]
fn block_on_inside_a_goroutine_does_not_stop_the_others() {
    // One P: if the blocked thread kept it, no goroutine could open the gate.
    let runtime = runtime(1);
    let result = runtime.block_on(async {
        go!({
            let gate = Arc::new(Gate::default());
            let opener = gate.clone();
            go!({ opener.open() });
            gmp::block_on(gate.wait());
            gmp::block_on(async { gmp::block_on(async { 1 }) + 1 })
        })
        .await
    });
    assert_eq!(result.unwrap(), 2);
}

#[test]
fn goroutines_run_beside_twenty_that_block_one_p() {
    let runtime = runtime(1);
    let gates: Vec<_> = (0..20).map(|_| Arc::new(Gate::default())).collect();
    let handles: Vec<_> = gates
        .iter()
        .cloned()
        .map(|gate| runtime.spawn(async move { gmp::block_on(gate.wait()) }))
        .collect();
    runtime.block_on(async {
        // A goroutine still runs while twenty threads are blocked.
        go!({ 1 }).await.unwrap();
    });
    gates.iter().for_each(|gate| gate.open());
    for handle in handles {
        gmp::block_on(handle).unwrap();
    }
    assert_eq!(runtime.handle().num_goroutine(), 0);
}

#[test]
fn a_goroutine_blocks_on_another_runtime() {
    let outer = runtime(1);
    let inner = runtime(1);
    let handle = inner.handle().clone();
    let result = outer.block_on(async move {
        go!({
            // On a thread of `outer`: calls without a handle use `inner` here.
            handle.block_on(async { go!({ gmp::max_procs() }).await.unwrap() })
        })
        .await
        .unwrap()
    });
    assert_eq!(result, 1);
    assert!(inner.handle().metrics().goroutines.created >= 1);
    assert_eq!(outer.handle().metrics().goroutines.created, 1);
}

#[test]
fn goroutines_have_unique_ids() {
    let runtime = runtime(2);
    let mut ids = runtime.block_on(async {
        let mut ids = Vec::new();
        for _ in 0..1000 {
            ids.push(go!({ gmp::goid().unwrap() }).await.unwrap());
        }
        ids
    });
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn num_goroutine_counts_live_goroutines() {
    let runtime = runtime(2);
    let handles: Vec<_> = (0..100).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
    assert_eq!(runtime.handle().num_goroutine(), 100);
    handles.iter().for_each(gmp::JoinHandle::abort);
    until(|| runtime.handle().num_goroutine() == 0);
}

#[gmp::test]
async fn tests_return_results_and_handles_work_with_question_marks()
-> Result<(), Box<dyn std::error::Error>> {
    let n: u32 = go!({ "42".parse() }).await??;
    assert_eq!(n, 42);
    Ok(())
}

#[gmp::test]
#[should_panic(expected = "seen by the harness")]
async fn a_panic_of_a_test_reaches_the_harness() {
    panic!("seen by the harness");
}

#[test]
fn a_join_error_names_the_goroutine_and_its_spawn_site() {
    let runtime = runtime(1);
    let bad = gmp::task::Builder::new()
        .name("bad")
        .on(runtime.handle())
        .spawn(async { panic!("expected by the test") });
    let (goid, error) = (bad.goid(), gmp::block_on(bad).unwrap_err());
    let site = error.spawned_at();
    assert!(site.file().ends_with("go.rs"));
    assert_eq!((error.goid(), error.name()), (goid, Some("bad")));
    let named = format!("goroutine {goid} \"bad\" (spawned at {site})");
    assert_eq!(error.to_string(), format!("{named} panicked: expected by the test"));
    assert!(format!("{error:?}").contains(&named), "{error:?}");
    let unnamed = runtime.spawn(std::future::pending::<()>());
    unnamed.abort();
    let error = gmp::block_on(unnamed).unwrap_err();
    assert_eq!(error.name(), None);
    let text =
        format!("goroutine {} (spawned at {}) was cancelled", error.goid(), error.spawned_at());
    assert_eq!(error.to_string(), text);
}
