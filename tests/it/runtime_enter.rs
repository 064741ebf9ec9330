//! The current runtime: `enter`, `try_current`, and what `Runtime` and `Handle` have in common.

use super::support::{passed_in_child, runtime};
use gmp::runtime::{Handle, Stall};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Whether a goroutine that is spawned here belongs to `runtime`.
fn spawns_on(runtime: &gmp::Runtime) -> bool {
    let before = runtime.handle().num_goroutine();
    let handle = gmp::spawn(pending::<()>()).abort_on_drop();
    let is_here = runtime.handle().num_goroutine() > before;
    handle.abort();
    let _ = handle.detach().join_blocking();
    is_here
}

#[test]
fn a_thread_that_entered_a_runtime_spawns_on_it() {
    let (first, second) = (runtime(1), runtime(1));
    let outer = first.enter();
    assert!(spawns_on(&first) && !spawns_on(&second));
    let inner = second.handle().enter();
    assert!(spawns_on(&second) && !spawns_on(&first));
    second.block_on(async { assert!(spawns_on(&second)) });
    first.block_on(async { assert!(spawns_on(&first)) });
    assert!(spawns_on(&second) && !spawns_on(&first));
    drop(inner);
    assert!(spawns_on(&first) && !spawns_on(&second));
    drop(outer);
    assert!(!spawns_on(&first) && !spawns_on(&second));
}

#[test]
fn a_goroutine_enters_another_runtime_and_leaves_it() {
    let (own, other) = (runtime(1), runtime(1));
    let (own_handle, other_handle) = (own.handle().clone(), other.handle().clone());
    let ran = own.spawn(async move {
        let entered = other_handle.enter();
        let there = other_handle.num_goroutine();
        gmp::spawn(pending::<()>());
        assert_eq!(other_handle.num_goroutine(), there + 1);
        drop(entered);
        let here = own_handle.num_goroutine();
        gmp::spawn(pending::<()>());
        assert_eq!(own_handle.num_goroutine(), here + 1);
    });
    ran.join_blocking().unwrap();
}

#[test]
fn guards_in_the_wrong_order_panic() {
    // On a thread of its own, because the wrong order leaves the thread inside a runtime.
    let thread = thread::spawn(|| {
        let (first, second) = (runtime(1), runtime(1));
        let (outer, inner) = (first.enter(), second.enter());
        let caught = catch_unwind(AssertUnwindSafe(|| drop(outer))).unwrap_err();
        let text = caught.downcast_ref::<&str>().unwrap();
        assert!(text.contains("EnterGuard"), "{text}");
        assert!(spawns_on(&second), "the inner guard is in force");
        drop(inner);
    });
    thread.join().unwrap();
}

#[test]
fn a_guard_that_was_leaked_ends_with_the_block_on_around_it() {
    let (outer, inner) = (runtime(1), runtime(1));
    let entered = outer.enter();
    outer.block_on(async { std::mem::forget(inner.enter()) });
    assert!(spawns_on(&outer) && !spawns_on(&inner));
    drop(entered);
}

#[test]
fn the_default_runtime_is_current_once_it_has_started() {
    // In a child, because other tests start the default runtime.
    let name = "runtime_enter::the_default_runtime_is_current_once_it_has_started";
    if passed_in_child(name) {
        return;
    }
    assert!(Handle::try_current().is_none());
    assert!(Handle::try_current().is_none(), "the call starts no runtime");
    let runtime = runtime(1);
    assert!(runtime.block_on(async { Handle::try_current().is_some() }));
    assert!(runtime.spawn(async { Handle::try_current().is_some() }).join_blocking().unwrap());
    assert!(Handle::try_current().is_none());
    assert!(gmp::spawn(async {}).join_blocking().is_ok());
    assert!(Handle::try_current().is_some());
}

#[test]
fn a_handle_dumps_its_own_runtime() {
    let (first, second) = (runtime(1), runtime(1));
    let name = "only-of-the-first";
    let builder = gmp::task::Builder::new().name(name).on(first.handle());
    let _waits = builder.spawn(pending::<()>());
    assert!(first.handle().dump().contains(name));
    assert!(!second.handle().dump().contains(name));
}

/// Each runtime calls the hook that was set by its own handle.
#[test]
fn a_handle_sets_the_stall_hook_of_its_own_runtime() {
    let (first, second) = (runtime(1), runtime(1));
    let (tell, told) = mpsc::channel();
    second.handle().on_stall(|_: &Stall| panic!("no goroutine of this runtime stalls"));
    first.handle().on_stall(move |stall: &Stall| {
        // The goroutine may have ended after its first stall.
        let _ = tell.send(stall.goid());
    });
    let computes = first.spawn(async move {
        // Another goroutine waits for the only P.
        gmp::spawn(async {}).detach();
        told.recv_timeout(Duration::from_secs(600)).unwrap()
    });
    let goid = computes.goid();
    assert_eq!(computes.join_blocking().unwrap(), goid);
}

#[test]
fn a_runtime_has_the_methods_of_its_handle() {
    let runtime = runtime(1);
    assert_eq!(runtime.spawn_blocking(|| 7).join_blocking().unwrap(), 7);
    assert_eq!(runtime.set_max_procs(2).unwrap(), 1);
    assert_eq!(runtime.max_procs(), 2);
    assert!(runtime.set_max_procs(0).is_err());
}

/// The call returns although a goroutine is inside a poll, and the goroutines end after it.
#[test]
fn a_shutdown_in_the_background_does_not_wait() {
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    let (release, released) = mpsc::channel::<()>();
    let (start, started) = mpsc::channel();
    let inside = runtime.spawn(async move {
        start.send(()).unwrap();
        released.recv().unwrap_err();
        pending::<()>().await;
    });
    let waits = runtime.spawn(pending::<()>());
    started.recv().unwrap();
    runtime.shutdown_background();
    assert!(waits.join_blocking().unwrap_err().is_cancelled());
    assert!(!inside.is_finished(), "it is inside its poll");
    drop(release);
    assert!(inside.join_blocking().unwrap_err().is_cancelled());
    assert!(handle.spawn(async {}).join_blocking().unwrap_err().is_cancelled());
}
