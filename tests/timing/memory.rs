//! The memory of goroutines, and its return to the OS.

use crate::alone;
use crate::live_bytes::{allocated, live};
use crate::support::{passed_in_child, until};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

const MILLION: usize = 1_000_000;

/// Returns the resident anonymous memory in bytes. Code pages do not count.
#[cfg(target_os = "linux")]
fn resident_anonymous() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_million_parked_goroutines_fit_in_200_mb_and_give_them_back() {
    let _alone = alone();
    if passed_in_child("memory::a_million_parked_goroutines_fit_in_200_mb_and_give_them_back") {
        return;
    }
    let runtime = gmp::Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    let (before, resident_before) = (live(&handle), resident_anonymous());
    let parked = Arc::new(AtomicUsize::new(0));
    let spawner = {
        let parked = parked.clone();
        runtime.spawn(async move {
            for _ in 0..MILLION {
                let parked = parked.clone();
                gmp::spawn(async move {
                    parked.fetch_add(1, Ordering::Relaxed);
                    std::future::pending::<()>().await;
                });
            }
        })
    };
    gmp::block_on(spawner).unwrap();
    until(|| parked.load(Ordering::Relaxed) == MILLION);
    let used = live(&handle) - before;
    assert!(used < 200 << 20, "{} MB for a million goroutines", used >> 20);
    assert!(used > 50 << 20, "{} MB cannot hold a million goroutines", used >> 20);
    let resident = resident_anonymous() - resident_before;

    runtime.shutdown(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(handle.num_goroutine(), 0);
    let left = handle.metrics().heap_bytes;
    assert!(left <= 8 << 20, "{} of {} MB are still mapped", left >> 20, used >> 20);
    let left = allocated().saturating_sub(before);
    assert!(left < 1 << 20, "{} KB are still allocated", left >> 10);
    // An unmapped slab is not resident. The allocator may keep some pages, never most of them.
    let left = resident_anonymous().saturating_sub(resident_before);
    assert!(left < resident / 4, "{} of {} MB are still resident", left >> 20, resident >> 20);
}

#[test]
fn rounds_of_spawning_reuse_their_cells() {
    let _alone = alone();
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let round = || {
        let handle = runtime.spawn(async {
            let handles: Vec<_> = (0..10_000u64).map(|n| gmp::spawn(async move { n })).collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(gmp::block_on(handle).unwrap(), 9999 * 5000);
    };
    (0..5).for_each(|_| round());
    let before = runtime.handle().metrics().heap_bytes;
    (0..20).for_each(|_| round());
    let after = runtime.handle().metrics().heap_bytes;
    // A leak of a round's cells would be 20 times 800 KB.
    assert!(after <= before + (4 << 20), "{before} bytes, then {after}");
}

/// One goroutine in a thousand does not keep the memory of the others, and new ones use the gaps.
#[test]
fn few_stragglers_keep_little_memory() {
    let _alone = alone();
    if passed_in_child("memory::few_stragglers_keep_little_memory") {
        return;
    }
    const SPAWNED: usize = 300_000;
    const STRAGGLERS: usize = SPAWNED / 1000;
    let runtime = gmp::runtime::Builder::new().max_procs(2).build().unwrap();
    let handle = runtime.handle().clone();
    let (end, ends) = gmp::chan::<()>(0);
    let (_never, never_ends) = gmp::chan::<()>(0);
    let parked = Arc::new(AtomicUsize::new(0));
    let spawn_all = |ends: [gmp::chan::Receiver<()>; 2], parked: &Arc<AtomicUsize>| {
        let (parked, [ends, never_ends]) = (parked.clone(), ends);
        let spawner = runtime.spawn(async move {
            for n in 0..SPAWNED {
                let until = if n % 1000 == 0 { never_ends.clone() } else { ends.clone() };
                let parked = parked.clone();
                gmp::spawn(async move {
                    parked.fetch_add(1, Ordering::Relaxed);
                    let _ = until.recv().await;
                });
            }
        });
        gmp::block_on(spawner).unwrap();
    };
    spawn_all([ends, never_ends], &parked);
    until(|| parked.load(Ordering::Relaxed) == SPAWNED);
    let full = handle.metrics().heap_bytes;
    assert!(full > 30 << 20, "{} MB cannot hold the goroutines", full >> 20);

    end.close();
    until(|| handle.num_goroutine() == STRAGGLERS as u64);
    // The rest goes back when the runtime is idle.
    until(|| handle.metrics().heap_bytes < full / 5);
    let left = handle.metrics().heap_bytes;
    println!("gmp: {} of {} MB for one goroutine in a thousand", left >> 20, full >> 20);
    // A dump finds exactly the stragglers.
    let dump = runtime.block_on(async { gmp::runtime::dump() });
    let listed = dump.lines().filter(|line| line.starts_with("goroutine ")).count();
    assert_eq!(listed, STRAGGLERS);

    // The same number of goroutines again: they fit into the gaps.
    let (end, ends) = gmp::chan::<()>(0);
    let parked = Arc::new(AtomicUsize::new(0));
    spawn_all([ends.clone(), ends], &parked);
    until(|| parked.load(Ordering::Relaxed) == SPAWNED);
    let refilled = handle.metrics().heap_bytes;
    // The stragglers' cells, and cells in the caches of the Ps.
    assert!(refilled < full + full / 50 + (1 << 20), "{full} bytes, then {refilled}");
    end.close();
    until(|| handle.num_goroutine() == STRAGGLERS as u64);
    until(|| handle.metrics().heap_bytes < full / 5);
}

/// Runs `round` many times. The memory in use at the end is that of the first rounds.
fn assert_keeps_nothing<F: Future<Output = ()> + Send>(
    runtime: &gmp::Runtime,
    name: &str,
    round: impl Fn() -> F,
) {
    const ROUNDS: usize = 4000;
    let rounds = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                round().await
            }
        })
    };
    rounds(ROUNDS);
    let before = allocated();
    rounds(5 * ROUNDS);
    let grown = allocated().saturating_sub(before);
    // The smallest leak, a pointer for each round, would be 160 KB.
    assert!(grown < 64 << 10, "{name}: {grown} bytes more");
}

/// Polls a future once and drops it.
async fn give_up(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn waits_that_are_given_up_keep_no_memory() {
    const LONG: Duration = Duration::from_secs(3600);
    let _alone = alone();
    let runtime = &gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let (tx, rx) = gmp::chan::<u8>(0);
    assert_keeps_nothing(runtime, "recv", || give_up(rx.recv()));
    assert_keeps_nothing(runtime, "send", || give_up(tx.send(1)));
    assert_keeps_nothing(runtime, "select", || {
        give_up(async {
            gmp::select! { _ = rx.recv() => {}, sent = tx.send(2) => sent.unwrap() }
        })
    });
    assert_keeps_nothing(runtime, "select with a default", || async {
        gmp::select! { _ = rx.recv() => unreachable!(), default => {} }
    });
    // Each pass waits in both channels and receives from one.
    let (values, received) = gmp::chan::unbounded::<u8>();
    assert_keeps_nothing(runtime, "select of one in two", || async {
        let later = gmp::spawn({
            let values = values.clone();
            async move { values.try_send(1).unwrap() }
        });
        gmp::select! { value = received.recv() => assert_eq!(value, Ok(1)), _ = rx.recv() => unreachable!() }
        later.await.unwrap();
    });
    let (mutex, semaphore) = (gmp::sync::Mutex::new(()), gmp::sync::Semaphore::new(0));
    let _locked = runtime.block_on(mutex.lock());
    assert_keeps_nothing(runtime, "lock", || give_up(mutex.lock()));
    assert_keeps_nothing(runtime, "acquire", || give_up(semaphore.acquire(1)));
    assert_keeps_nothing(runtime, "sleep", || give_up(gmp::sleep(LONG)));
}

#[test]
fn contexts_that_are_gone_keep_no_memory() {
    const LONG: Duration = Duration::from_secs(3600);
    let _alone = alone();
    let runtime = &gmp::runtime::Builder::new().max_procs(1).build().unwrap();
    let (parent, _canceller) = gmp::context::Context::background().with_cancel();
    assert_keeps_nothing(runtime, "dropped children with a timeout", || async {
        let (child, _canceller) = parent.with_timeout(LONG);
        give_up(child.done()).await;
        drop(child.with_cancel());
    });
    assert_keeps_nothing(runtime, "cancelled children", || async {
        let (child, canceller) = parent.with_timeout(LONG);
        give_up(child.done()).await;
        canceller.cancel();
    });
    // A pending call keeps its context. So each way to end it must free both.
    assert_keeps_nothing(runtime, "calls of cancelled children", || async {
        let (child, canceller) = parent.with_timeout(LONG);
        let (told, called) = gmp::chan::<()>(0);
        drop(child.after_func(move || drop(told)));
        drop(child);
        canceller.cancel();
        assert!(called.recv().await.is_err());
    });
    assert_keeps_nothing(runtime, "stopped calls", || async {
        let (child, canceller) = parent.with_timeout(LONG);
        let call = child.after_func(|| unreachable!("stopped"));
        drop((child, canceller));
        assert!(call.stop());
    });
}
