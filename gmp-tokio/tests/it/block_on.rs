//! `block_on` on every kind of thread, and nested runtimes.

use crate::{LONG, SpawnsOnDrop, in_goroutine, runtime, thread_name, tokio_id, waits_for_ever};
use gmp_rt::block_on;
use gmp_rt::runtime::Builder;
use gmp_tokio::BuilderExt;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::time::sleep;

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn an_external_thread_has_the_context_inside_block_on_only() {
    let runtime = runtime();
    assert_eq!(tokio_id(), None);
    let inside = runtime.block_on(async {
        sleep(SHORT).await;
        tokio_id()
    });
    assert!(inside.is_some());
    assert_eq!(runtime.handle().block_on(async { tokio_id() }), inside);
    assert_eq!(block_on(runtime.spawn(async { tokio_id() })).unwrap(), inside);
    assert_eq!(tokio_id(), None);
}

#[test]
fn block_on_drops_its_future_in_the_context() {
    let (tx, dropped) = mpsc::channel();
    let waits = gmp_rt::timeout(SHORT, waits_for_ever(SpawnsOnDrop(tx)));
    runtime().block_on(async { waits.await.unwrap_err() });
    assert_eq!(dropped.recv(), Ok(true));
}

#[test]
fn a_goroutine_can_block_on_futures_of_either() {
    in_goroutine(async {
        let here = tokio_id();
        let free = block_on(async {
            sleep(SHORT).await;
            tokio_id()
        });
        let handle = gmp_rt::runtime::Handle::current().block_on(async {
            sleep(SHORT).await;
            tokio_id()
        });
        let tokio = tokio::runtime::Handle::current().block_on(async {
            sleep(SHORT).await;
            gmp_rt::sleep(SHORT).await;
            tokio_id()
        });
        assert_eq!([free, handle, tokio, tokio_id()], [here; 4]);
    });
}

#[test]
fn a_goroutine_can_have_a_tokio_runtime_of_its_own() {
    in_goroutine(async {
        let here = tokio_id();
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let inner = own.block_on(async {
            sleep(SHORT).await;
            tokio_id()
        });
        assert!(inner.is_some() && inner != here);
        drop(own);
        assert_eq!(tokio_id(), here);
    });
}

#[test]
fn tokio_threads_can_block_on_goroutines_of_the_host() {
    in_goroutine(async {
        let in_task = tokio::spawn(async {
            let goroutine = gmp_rt::spawn(async { (gmp_rt::goid().is_some(), tokio_id()) });
            (block_on(goroutine).unwrap(), tokio_id())
        });
        let (goroutine, task) = in_task.await.unwrap();
        assert_eq!(goroutine, (true, tokio_id()));
        assert_eq!(task, tokio_id());
        // On the blocking pool, also futures that need the worker of Tokio.
        let closure = tokio::task::spawn_blocking(|| {
            block_on(async {
                sleep(SHORT).await;
                gmp_rt::spawn(async { sleep(SHORT).await }).await.unwrap();
                tokio_id()
            })
        });
        assert_eq!(closure.await.unwrap(), tokio_id());
    });
}

/// Both directions end up in the runtimes that belong together, not in the default runtime.
#[test]
fn goroutines_of_a_tokio_task_run_on_the_host() {
    let runtime = Builder::new().name("host").tokio().build().unwrap();
    let name = runtime.block_on(async {
        let task = tokio::spawn(async {
            assert_eq!(thread_name(), "host-tokio");
            gmp_rt::spawn(async { thread_name() }).await
        });
        task.await.unwrap().unwrap()
    });
    assert!(name.starts_with("host-m"), "{name}");
}

#[test]
fn nested_runtimes_have_their_own_contexts() {
    let (outer, inner) = (runtime(), runtime());
    let plain = Builder::new().build().unwrap();
    let goroutine = outer.spawn(async move {
        let here = tokio_id();
        let there = inner.block_on(async {
            sleep(SHORT).await;
            let goroutine = gmp_rt::spawn(async { tokio_id() }).await.unwrap();
            assert_eq!(goroutine, tokio_id());
            tokio_id()
        });
        assert!(here.is_some() && there.is_some() && here != there);
        // A runtime without Tokio leaves the context of this thread unchanged. Its goroutines have
        // none.
        let (unchanged, none) = plain.block_on(async {
            let goroutine = gmp_rt::spawn(async { tokio_id() });
            (tokio_id(), goroutine.await.unwrap())
        });
        assert_eq!((unchanged, none), (here, None));
        assert_eq!(tokio_id(), here);
    });
    block_on(goroutine).unwrap();
}

#[test]
fn a_thread_of_another_tokio_runtime_uses_the_context_of_the_gmp_runtime() {
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let runtime = runtime();
    tokio.block_on(async {
        let here = tokio_id();
        let inside = runtime.block_on(async {
            sleep(SHORT).await;
            tokio_id()
        });
        assert!(inside.is_some() && inside != here);
        assert_eq!(block_on(async { tokio_id() }), here, "no gmp runtime is named");
        assert_eq!(tokio_id(), here);
    });
}

#[test]
fn a_panic_in_block_on_leaves_the_context() {
    let runtime = runtime();
    let thread = thread::spawn(move || {
        let call = || runtime.block_on(async { panic!("in the future") });
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        (panicked.is_err(), tokio_id())
    });
    assert_eq!(thread.join().unwrap(), (true, None));
}

#[test]
fn without_tokio_a_goroutine_gets_the_panic_of_tokio() {
    let runtime = Builder::new().build().unwrap();
    let error = block_on(runtime.spawn(async { sleep(LONG).await })).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("there is no reactor running"), "{text}");
}
