//! What a handle on a goroutine and its error give: payloads, conversions, aborts, joins.

use super::support::runtime;
use gmp::task::AbortOnDrop;
use gmp::{JoinError, go};
use std::any::Any;
use std::error::Error;
use std::future::pending;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::time::Duration;

async fn panicked(payload: impl Any + Send) -> JoinError {
    go!({
        panic_any(payload);
    })
    .await
    .unwrap_err()
}

async fn cancelled() -> JoinError {
    let handle = go!(pending::<()>());
    handle.abort();
    handle.await.unwrap_err()
}

#[gmp::test]
async fn the_payload_of_a_panic_can_be_taken() {
    let error = panicked(42u64).await;
    assert_eq!(error.into_panic().downcast_ref(), Some(&42u64));
    let payload = panicked("text").await.try_into_panic().unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| resume_unwind(payload))).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"text"));
}

#[gmp::test]
async fn a_cancelled_goroutine_has_no_payload() {
    let error = cancelled().await;
    assert_eq!(error.panic_message(), None);
    let (goid, error) = (error.goid(), error.try_into_panic().unwrap_err());
    assert!(error.is_cancelled() && error.goid() == goid, "the same error");
    let caught = catch_unwind(|| error.into_panic()).unwrap_err();
    let text = caught.downcast_ref::<String>().unwrap();
    assert!(text.contains("into_panic") && text.contains("was cancelled"), "{text}");
}

#[gmp::test]
async fn the_message_of_a_panic_is_its_text() {
    assert_eq!(panicked("a str").await.panic_message(), Some("a str"));
    assert_eq!(panicked(String::from("a string")).await.panic_message(), Some("a string"));
    assert_eq!(panicked(7).await.panic_message(), Some("(a payload that is not text)"));
}

#[gmp::test]
async fn a_join_error_becomes_an_io_error() {
    async fn joined() -> io::Result<()> {
        go!({ panic!("inside") }).await?;
        Ok(())
    }
    let error = joined().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Other);
    assert!(error.to_string().ends_with("panicked: inside"), "{error}");
    assert!(error.source().is_none(), "the text already has the cause");
    assert!(error.into_inner().unwrap().downcast::<JoinError>().unwrap().is_panic());
}

/// Waits until the goroutine has ended.
async fn ends(abort: &gmp::task::AbortHandle) {
    while !abort.is_finished() {
        gmp::yield_now().await;
    }
}

#[gmp::test]
async fn a_dropped_handle_aborts_its_goroutine() {
    let handle = go!(pending::<()>()).abort_on_drop();
    let abort = handle.abort_handle();
    drop(handle);
    ends(&abort).await;
}

#[gmp::test]
async fn a_future_that_owns_a_handle_aborts_when_it_is_dropped() {
    let handle = go!(pending::<()>()).abort_on_drop();
    let abort = handle.abort_handle();
    assert!(gmp::timeout(Duration::from_millis(1), handle).await.is_err());
    ends(&abort).await;
}

#[gmp::test]
async fn a_handle_that_aborts_can_be_awaited_and_detached() {
    let mut handle: AbortOnDrop<u8> = go!({ 7 }).abort_on_drop();
    assert_eq!((&mut handle).await.unwrap(), 7);
    drop(handle);
    let (stop, stopped) = gmp::chan::<()>(0);
    let detached = go!({ stopped.recv().await.is_err() }).abort_on_drop().detach();
    gmp::yield_now().await;
    drop(stop);
    assert!(detached.await.unwrap(), "it was not aborted");
}

#[test]
fn a_thread_joins_a_goroutine() {
    let runtime = runtime(1);
    assert_eq!(runtime.spawn(async { 1 }).join_blocking().unwrap(), 1);
    let error = runtime.spawn(async { panic!("inside") }).join_blocking().unwrap_err();
    assert_eq!(error.panic_message(), Some("inside"));
    // In a goroutine, on the only P of the runtime.
    let outer = runtime.spawn(async { gmp::spawn(async { 2 }).join_blocking().unwrap() });
    assert_eq!(outer.join_blocking().unwrap(), 2);
}
