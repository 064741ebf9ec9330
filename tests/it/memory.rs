//! What goroutines cost, and that it comes back.

use super::support::{child, is_child, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MILLION: usize = 1_000_000;

/// Bytes of memory this process has.
#[cfg(target_os = "linux")]
pub(crate) fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// A million parked goroutines fit in 200 MB; when they end, the memory goes back to the OS.
#[cfg(target_os = "linux")]
#[test]
fn a_million_parked_goroutines() {
    if !is_child() {
        let output = child("memory::a_million_parked_goroutines", &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = gmp::Runtime::new().unwrap();
    let before = resident();
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
    let used = resident() - before;
    assert!(used < 200 << 20, "{} MB for a million goroutines", used >> 20);
    assert!(used > 50 << 20, "{} MB cannot be all of them", used >> 20);
    let mapped = runtime.handle().stats().heap_bytes;
    let handle = runtime.handle().clone();
    runtime.shutdown(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(handle.num_goroutine(), 0);
    let left = handle.stats().heap_bytes;
    assert!(left <= 8 << 20, "{} MB of {} MB still mapped", left >> 20, mapped >> 20);
    let used = resident().saturating_sub(before);
    assert!(used < 20 << 20, "{} MB still resident", used >> 20);
}

/// Spawning in rounds reuses cells: memory does not grow.
#[test]
fn rounds_of_spawning_do_not_grow() {
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
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
    let before = runtime.handle().stats().heap_bytes;
    (0..20).for_each(|_| round());
    let after = runtime.handle().stats().heap_bytes;
    assert!(after <= before + (4 << 20), "{before} bytes, then {after}");
}
