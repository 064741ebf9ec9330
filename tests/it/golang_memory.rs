//! Go's tests that selects do not pile up memory (`test/chan/select2.go`,
//! `test/fixedbugs/issue9110.go`), each in a process of its own.
#![cfg(target_os = "linux")]

use super::memory::resident;
use super::support::{child, is_child};
use gmp::{chan, go, select};

/// Runs a test's child part in a process of its own.
fn in_child(name: &str) -> bool {
    if is_child() {
        return false;
    }
    let output = child(name, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// What `f` adds to the memory of this process, when it is run a second time.
fn growth(f: impl Fn()) -> usize {
    f();
    let before = resident();
    f();
    resident().saturating_sub(before)
}

/// `test/chan/select2.go`: the waits of a select on a channel that is never used do not pile up.
#[test]
fn selects_leave_nothing_behind() {
    if in_child("golang_memory::selects_leave_nothing_behind") {
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    let grown = growth(|| {
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
                    _ = never.recv() => panic!(),
                }
            }
            sender.await.unwrap();
        });
    });
    assert!(grown < 512 << 10, "{} KB more", grown >> 10);
}

/// `test/fixedbugs/issue9110.go`: three cases on one channel, chosen by a close or by another case,
/// again and again.
#[test]
fn cases_on_one_channel_leave_nothing_behind() {
    if in_child("golang_memory::cases_on_one_channel_leave_nothing_behind") {
        return;
    }
    let runtime = gmp::Builder::new().max_procs(2).build().unwrap();
    let grown = growth(|| {
        runtime.block_on(async {
            let (_tx, rx) = chan::<u32>(0);
            for _ in 0..5000 {
                let (tick, ticked) = chan::<()>(0);
                let rx = rx.clone();
                let waits = go!({
                    select! {
                        _ = rx.recv() => panic!(),
                        _ = rx.recv() => panic!(),
                        _ = rx.recv() => panic!(),
                        _ = ticked.recv() => {}
                    }
                });
                gmp::yield_now().await;
                tick.close();
                waits.await.unwrap();
            }
        });
    });
    assert!(grown < 512 << 10, "{} KB more", grown >> 10);
}
