//! Go's test that a channel with many waiters costs no more than one with few
//! (`test/chanlinear.go`).

use crate::alone;
use crate::support::{cpu_time, runtime, waiting};
use gmp::{WaitGroup, chan, select};
use std::time::Duration;

/// A select that loses leaves the queue of a channel with many waiters in constant time. Eight
/// times as many waiters take eight times as long, not sixty-four times.
#[test]
fn a_losing_select_leaves_a_long_queue_in_constant_time() {
    /// Returns the CPU time that `count` selects take to lose.
    async fn once(count: usize) -> Duration {
        let (_popular, rx) = chan::<()>(0);
        let own: Vec<_> = (0..count).map(|_| chan::<()>(0)).collect();
        let all = WaitGroup::new();
        for (_, own) in own.clone() {
            let rx = rx.clone();
            all.go(async move {
                select! { _ = rx.recv() => panic!(), _ = own.recv() => {} }
            });
        }
        waiting("select", count).await;
        let start = cpu_time();
        // The last ones first: the worst case for a search from the front.
        for (tx, _) in own.iter().rev() {
            tx.try_send(()).unwrap();
        }
        all.wait().await;
        cpu_time() - start
    }
    let _alone = alone();
    let runtime = runtime(1);
    let mut ratios = Vec::new();
    for _ in 0..5 {
        let (few, many) =
            gmp::block_on(runtime.spawn(async { (once(250).await, once(2000).await) })).unwrap();
        ratios.push(many.as_secs_f64() / few.as_secs_f64());
        if ratios.last().is_some_and(|ratio| *ratio < 24.0) {
            return;
        }
    }
    panic!("eight times as many took {ratios:?} times as long");
}
