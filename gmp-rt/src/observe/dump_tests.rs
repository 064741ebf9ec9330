//! Dumps of goroutines that have been in one poll for long.

use super::*;
use crate::api::runtime::Builder;
use crate::block_on;
use crate::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Waits until a dump that is made two minutes later contains `part`.
fn until_shown(sched: &Sched, part: &str) {
    loop {
        let dump = join(sched.goroutines(clock::now() + 2 * MINUTE + MINUTE / 2));
        if dump.contains(part) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_long_poll_is_shown_with_its_state_its_time_and_its_call() {
    // The pause of hogs is off: what a dump shows does not depend on it.
    let runtime = Builder::new().max_procs(1).pause_cpu_bound(false).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let burns = task::Builder::new().name("burns").on(runtime.handle()).spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    // No goroutine waits for its P, so it has one.
    until_shown(runtime.sched(), " [running, 2 minutes] {name: burns}:\ncreated by ");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let blocks = task::Builder::new().name("blocks").on(runtime.handle()).spawn(async move {
        std::io::Read::read(&mut reader, &mut [0]).unwrap();
    });
    until_shown(runtime.sched(), " [syscall, 2 minutes] {name: blocks}:\nin read(");
    // By now it has lost its P.
    until_shown(runtime.sched(), " [running, 2 minutes] {name: burns}:\ncreated by ");
    let sleeps = task::Builder::new()
        .name("sleeps")
        .on(runtime.handle())
        .spawn(crate::sleep(Duration::from_secs(3600)));
    until_shown(runtime.sched(), " [sleep, 2 minutes] {name: sleeps}:\ncreated by ");
    let joins = task::Builder::new()
        .name("joins")
        .on(runtime.handle())
        .spawn(async move { sleeps.await.is_err() });
    until_shown(
        runtime.sched(),
        " [goroutine join, 2 minutes] {name: joins}:\nwaits for goroutine ",
    );
    stop.store(true, Ordering::Relaxed);
    drop(writer);
    block_on(burns).unwrap();
    block_on(blocks).unwrap();
    joins.abort();
}
