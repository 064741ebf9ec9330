//! Bad input gives a clear error or a documented result, and never a hang.

use super::support::{Gate, Mutex, child, is_child, runtime};
use gmp::go;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

#[test]
fn a_refused_first_thread_is_an_error_of_build() {
    // A stack larger than the address space: the OS refuses to start the thread.
    let error = gmp::runtime::Builder::new().thread_stack_size(1 << 60).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("cannot start a thread") && text.contains("ulimit"), "{text}");
    assert!(std::error::Error::source(&error).is_none(), "the text shows the cause");
}

#[test]
fn invalid_settings_are_errors_of_build() {
    let error = |builder: gmp::runtime::Builder| builder.build().unwrap_err().to_string();
    assert!(error(gmp::runtime::Builder::new().max_procs(0)).contains("at least 1"));
    assert!(error(gmp::runtime::Builder::new().max_procs(100_000)).contains("at most 1024"));
    let none = gmp::runtime::Builder::new().max_blocking_threads(0);
    assert_eq!(error(none), "max_blocking_threads must be at least 1");
    assert!(error(gmp::runtime::Builder::new().name("a\0b")).contains("zero byte"));
}

#[test]
fn bad_values_in_the_environment_are_named() {
    if is_child() {
        println!("procs={}", gmp::max_procs());
        return;
    }
    let machine = std::thread::available_parallelism().unwrap().get();
    let run = |value: &str| {
        let name = "bad_input::bad_values_in_the_environment_are_named";
        let output = child(name, &[("GMPMAXPROCS", value), ("GMPDEBUG", "frobnicate=1")]);
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(err.contains("unknown key \"frobnicate\"; ignored"), "{err}");
        (out.into_owned(), err.into_owned())
    };
    for bad in ["abc", "0", "-3"] {
        let (out, err) = run(bad);
        assert!(out.contains(&format!("procs={machine}")), "{out}");
        assert!(err.contains(&format!("GMPMAXPROCS={bad}: not a number")), "{err}");
    }
    let (out, err) = run("100000");
    assert!(out.contains("procs=1024") && err.contains("more than the limit"), "{out}{err}");
    let (out, err) = run("3");
    assert!(out.contains("procs=3") && !err.contains("GMPMAXPROCS"), "{out}{err}");
}

#[gmp::test]
async fn an_abort_of_the_running_goroutine_takes_effect_at_its_next_await() {
    // The goroutine finishes its poll and ends at the next await.
    let slot: Arc<Mutex<Option<gmp::JoinHandle<()>>>> = Arc::default();
    let (inside, reached) = (slot.clone(), Arc::new(Mutex::new(false)));
    let mark = reached.clone();
    let gate = Arc::new(Gate::default());
    let wait = gate.clone();
    let handle = go!({
        wait.wait().await;
        inside.lock().unwrap().as_ref().unwrap().abort();
        *mark.lock().unwrap() = true;
        gmp::yield_now().await;
        unreachable!("aborted at the await");
    });
    *slot.lock().unwrap() = Some(handle);
    gate.open();
    while !slot.lock().unwrap().as_ref().unwrap().is_finished() {
        gmp::yield_now().await;
    }
    let handle = slot.lock().unwrap().take().unwrap();
    assert!(handle.await.unwrap_err().is_cancelled());
    assert!(*reached.lock().unwrap(), "the poll that aborted went on to its end");
}

#[gmp::test]
async fn a_goroutine_that_joins_itself_waits_until_it_is_aborted() {
    let slot: Arc<Mutex<Option<gmp::JoinHandle<()>>>> = Arc::default();
    let joins = Arc::new(AtomicBool::new(false));
    let (inside, began) = (slot.clone(), joins.clone());
    let gate = Arc::new(Gate::default());
    let wait = gate.clone();
    let handle = go!({
        wait.wait().await;
        std::future::poll_fn(|cx| {
            let mut slot = inside.lock().unwrap();
            let joined = std::pin::Pin::new(slot.as_mut().unwrap()).poll(cx).map(drop);
            began.store(true, Ordering::Relaxed);
            joined
        })
        .await;
    });
    *slot.lock().unwrap() = Some(handle);
    gate.open();
    while !joins.load(Ordering::Relaxed) {
        gmp::yield_now().await;
    }
    for _ in 0..100 {
        gmp::yield_now().await;
    }
    let handle = slot.lock().unwrap().take().unwrap();
    assert!(!handle.is_finished());
    handle.abort();
    assert!(handle.await.unwrap_err().is_cancelled());
}

#[gmp::test]
#[should_panic(expected = "awaited after it returned the output")]
async fn a_handle_that_is_awaited_twice_panics() {
    let mut handle = go!({ 1 });
    assert_eq!((&mut handle).await.unwrap(), 1);
    let _ = handle.await;
}

#[test]
fn a_waker_works_in_its_own_poll_and_after_the_end() {
    let runtime = runtime(1);
    let mut polls = 0;
    let handle = runtime.spawn(std::future::poll_fn(move |cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        let clone = cx.waker().clone();
        clone.wake_by_ref();
        clone.wake();
        if polls == 10 { Poll::Ready(polls) } else { Poll::Pending }
    }));
    assert_eq!(gmp::block_on(handle).unwrap(), 10);
}

#[gmp::test]
async fn a_foreign_waker_that_panics_stops_nothing_else() {
    struct Bomb;
    impl std::task::Wake for Bomb {
        fn wake(self: Arc<Self>) {
            panic!("waker, expected by the test");
        }
    }
    let bomb = std::task::Waker::from(Arc::new(Bomb));
    let cx = || std::task::Context::from_waker(&bomb);
    // The waker runs from a timer and from the end of a goroutine. The scheduler continues.
    let mut sleep = gmp::sleep(Duration::from_millis(1));
    assert!(std::pin::Pin::new(&mut sleep).poll(&mut cx()).is_pending());
    let gate = Arc::new(Gate::default());
    let wait = gate.clone();
    let mut handle = go!({ wait.wait().await });
    assert!(std::pin::Pin::new(&mut handle).poll(&mut cx()).is_pending());
    gate.open();
    gmp::sleep(Duration::from_millis(5)).await;
    handle.await.unwrap();
}
