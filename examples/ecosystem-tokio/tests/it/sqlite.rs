//! sqlx with SQLite.

use crate::{Folder, LONG, stdout};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use std::process::Command;
use std::time::Duration;

#[test]
fn the_program_keeps_the_sum() {
    let folder = Folder::new("bank");
    let mut program = Command::new(env!("CARGO_BIN_EXE_sqlite"));
    let output = program.args([&folder.file("bank.db"), "200"]).output().unwrap();
    assert_eq!(stdout(&output), "180 transfers, 20 rolled back, sum 10000\n");
}

/// The destructor of a pooled connection spawns a Tokio task that returns it to the pool.
#[gmp::test(tokio)]
async fn an_aborted_goroutine_returns_its_connection_to_the_pool() {
    let folder = Folder::new("abort");
    let url = format!("sqlite://{}?mode=rwc", folder.file("pool.db"));
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.acquire_timeout(LONG).connect(&url).await.unwrap();
    for _ in 0..20 {
        let (tx, taken) = gmp::chan(1);
        let own = pool.clone();
        let holder = gmp::go!(async move {
            let _connection = own.acquire().await.unwrap();
            tx.send(()).await.unwrap();
            std::future::pending::<()>().await
        });
        taken.recv().await.unwrap();
        holder.abort();
        assert!(holder.await.unwrap_err().is_cancelled());
    }
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&pool).await.unwrap();
    assert_eq!(one, 1);
    pool.close().await;
    assert!(pool.acquire().await.is_err());
}

/// A statement that waits for a lock blocks a thread of sqlx. Goroutines continue, also with one P.
#[gmp::test(tokio, max_procs = 1)]
async fn a_statement_that_waits_delays_no_goroutine() {
    let folder = Folder::new("lock");
    let options = SqliteConnectOptions::new()
        .filename(folder.file("lock.db"))
        .create_if_missing(true)
        .busy_timeout(LONG);
    let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
    let first = pool.begin_with("BEGIN EXCLUSIVE").await.unwrap();
    let own = pool.clone();
    let second = gmp::go!(async move {
        own.begin_with("BEGIN EXCLUSIVE").await.unwrap().commit().await.unwrap();
    });
    for _ in 0..100 {
        gmp::sleep(Duration::from_micros(100)).await;
    }
    assert!(!second.is_finished());
    first.commit().await.unwrap();
    second.await.unwrap();
}
