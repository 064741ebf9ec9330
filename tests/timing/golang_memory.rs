//! Go's tests that selects do not accumulate memory (`test/chan/select2.go`,
//! `test/fixedbugs/issue9110.go`), each in its own process.

use crate::alone;
use crate::live_bytes::live;
use crate::support::{passed_in_child, runtime};
use gmp::{chan, go, select};

/// Maximum growth in a later run: far less than a byte per operation.
const GROWTH: usize = 4 << 10;

/// Runs `f` once, and then until a run adds less than [`GROWTH`]. Returns the memory that this run
/// adds, or the least of all runs. A queue may reach its maximum length, and so its capacity, in
/// any run. The runtime may start a thread in any run. A leak adds memory in each.
fn growth(runtime: &gmp::Runtime, f: impl Fn()) -> usize {
    f();
    let mut least = usize::MAX;
    for _ in 0..10 {
        let before = live(runtime.handle());
        f();
        least = least.min(live(runtime.handle()).saturating_sub(before));
        if least < GROWTH {
            break;
        }
    }
    least
}

/// `test/chan/select2.go`: a select leaves nothing on a channel that is never used.
#[test]
fn selects_leave_nothing_behind() {
    let _alone = alone();
    if passed_in_child("golang_memory::selects_leave_nothing_behind") {
        return;
    }
    let runtime = runtime(2);
    let grown = growth(&runtime, || {
        runtime.block_on(async {
            let (tx, rx) = chan(0);
            let (_dummy, never) = chan::<u32>(0);
            let sender = go!({
                for n in 0..20_000 {
                    tx.send(n).await.unwrap();
                }
            });
            for n in 0..20_000 {
                select! {
                    v = rx.recv() => assert_eq!(v, Ok(n)),
                    _ = never.recv() => panic!("nobody sends"),
                }
            }
            sender.await.unwrap();
        });
    });
    assert!(grown < GROWTH, "{grown} bytes more after 20,000 selects");
}

/// `test/fixedbugs/issue9110.go`: three cases on one channel that a close ends, again and again.
#[test]
fn cases_on_one_channel_leave_nothing_behind() {
    let _alone = alone();
    if passed_in_child("golang_memory::cases_on_one_channel_leave_nothing_behind") {
        return;
    }
    let runtime = runtime(2);
    let grown = growth(&runtime, || {
        runtime.block_on(async {
            let (_tx, rx) = chan::<u32>(0);
            for _ in 0..5000 {
                let (tick, ticked) = chan::<()>(0);
                let rx = rx.clone();
                let waits = go!({
                    select! {
                        _ = rx.recv() => panic!("nobody sends"),
                        _ = rx.recv() => panic!("nobody sends"),
                        _ = rx.recv() => panic!("nobody sends"),
                        _ = ticked.recv() => {}
                    }
                });
                gmp::yield_now().await;
                tick.close();
                waits.await.unwrap();
            }
        });
    });
    assert!(grown < GROWTH, "{grown} bytes more after 5,000 selects");
}
