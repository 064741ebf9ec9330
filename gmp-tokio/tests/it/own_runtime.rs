//! A Tokio runtime that the program has already.

use crate::{SpawnsOnDrop, tokio_id, waits_for_ever};
use gmp_rt::block_on;
use gmp_rt::runtime::Builder;
use gmp_tokio::BuilderExt;
use std::sync::mpsc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime as Tokio;

const SHORT: Duration = Duration::from_millis(1);

#[test]
fn goroutines_use_a_given_tokio_runtime_which_outlives_gmp() {
    let tokio = Tokio::new().unwrap();
    let id = tokio.handle().id();
    let runtime = Builder::new().tokio_handle(tokio.handle().clone()).build().unwrap();
    let (tx, dropped) = mpsc::channel();
    runtime.spawn(waits_for_ever(SpawnsOnDrop(tx)));
    let task = runtime.spawn(async {
        tokio::time::sleep(SHORT).await;
        tokio::spawn(async { tokio_id() }).await.unwrap()
    });
    assert_eq!(block_on(task).unwrap(), Some(id));
    assert_eq!(runtime.block_on(async { tokio_id() }), Some(id));
    drop(runtime);
    assert_eq!(dropped.recv(), Ok(true));
    let after = tokio.spawn(async { tokio::time::sleep(SHORT).await });
    tokio.block_on(after).unwrap();
}

#[test]
fn a_tokio_task_awaits_goroutines() {
    let tokio = Tokio::new().unwrap();
    tokio.block_on(async {
        let handle = tokio::runtime::Handle::current();
        let runtime = Builder::new().tokio_handle(handle).build().unwrap();
        let name = runtime.spawn(async { tokio::fs::metadata("Cargo.toml").await.is_ok() });
        assert!(name.await.unwrap());
    });
}

/// Nothing hangs: sockets and tasks return errors, a timer panics in its goroutine.
#[test]
fn goroutines_survive_the_end_of_tokio() {
    let tokio = Tokio::new().unwrap();
    let runtime = Builder::new().tokio_handle(tokio.handle().clone()).build().unwrap();
    let (listening, listens) = mpsc::channel();
    let accepts = runtime.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listening.send(()).unwrap();
        listener.accept().await.map(drop)
    });
    let sleeps = runtime.spawn(async { tokio::time::sleep(Duration::from_secs(3600)).await });
    listens.recv().unwrap();
    drop(tokio);
    let error = block_on(accepts).unwrap().unwrap_err();
    assert!(tokio::runtime::is_rt_shutdown_err(&error), "{error}");
    let panic = block_on(sleeps).unwrap_err().to_string();
    assert!(panic.contains("being shutdown"), "{panic}");

    let late = runtime.spawn(async {
        let bind = TcpListener::bind("127.0.0.1:0").await.is_err();
        let task = tokio::spawn(async {}).await.unwrap_err().is_cancelled();
        let file = tokio::fs::read("Cargo.toml").await.is_err();
        let still = gmp_rt::spawn(async { 1 }).await.unwrap();
        (bind, task, file, still)
    });
    assert_eq!(block_on(late).unwrap(), (true, true, true, 1));
    runtime.shutdown(crate::LONG).unwrap();
}

#[test]
fn the_last_setting_of_the_tokio_runtime_counts() {
    let tokio = Tokio::new().unwrap();
    let handle = tokio.handle();
    let given = Builder::new().tokio().tokio_handle(handle.clone()).build().unwrap();
    assert_eq!(given.block_on(async { tokio_id() }), Some(handle.id()));
    let own = Builder::new().tokio_handle(handle.clone()).tokio().build().unwrap();
    assert_ne!(own.block_on(async { tokio_id() }), Some(handle.id()));
}
