//! Transfers money between accounts in SQLite, with sqlx's pool: `cargo run --release -p
//! gmp-ecosystem-tokio --bin sqlite -- bank.db 100`.
//!
//! Each transfer is a goroutine with a transaction. A transfer that is aborted, here by a timeout,
//! rolls back: sqlx returns the connection to the pool by a task that its destructor spawns.

use gmp::go;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{Row, SqlitePool};
use std::error::Error;
use std::time::Duration;

const ACCOUNTS: i64 = 10;
const START: i64 = 1000;

async fn open(path: &str) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(30));
    let pool = SqlitePoolOptions::new().max_connections(4).connect_with(options).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS accounts (id INTEGER PRIMARY KEY, amount INTEGER)")
        .execute(&pool)
        .await?;
    for id in 0..ACCOUNTS {
        let insert = sqlx::query("INSERT OR REPLACE INTO accounts VALUES (?, ?)");
        insert.bind(id).bind(START).execute(&pool).await?;
    }
    Ok(pool)
}

/// Moves 1 from one account to another one. Waits for ever in between if `stalls`.
async fn transfer(pool: SqlitePool, from: i64, to: i64, stalls: bool) -> sqlx::Result<()> {
    let add = "UPDATE accounts SET amount = amount + ? WHERE id = ?";
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query(add).bind(-1).bind(from).execute(&mut *transaction).await?;
    if stalls {
        std::future::pending::<()>().await;
    }
    sqlx::query(add).bind(1).bind(to).execute(&mut *transaction).await?;
    transaction.commit().await
}

#[gmp::main(tokio)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (path, count) = (std::env::args().nth(1), std::env::args().nth(2));
    let path = path.ok_or("usage: sqlite FILE [TRANSFERS]")?;
    let count: i64 = count.as_deref().unwrap_or("100").parse()?;
    let pool = open(&path).await?;
    let transfers: Vec<_> = (0..count)
        .map(|n| {
            let stalls = n % 10 == 9;
            let transfer = transfer(pool.clone(), n % ACCOUNTS, n * 7 % ACCOUNTS, stalls);
            go!(async move {
                match stalls {
                    true => gmp::timeout(Duration::from_millis(20), transfer).await.ok(),
                    false => Some(transfer.await),
                }
            })
        })
        .collect();
    let (mut done, mut rolled_back) = (0, 0);
    for transfer in transfers {
        match transfer.await? {
            Some(result) => result.map(|()| done += 1)?,
            None => rolled_back += 1,
        }
    }
    let row = sqlx::query("SELECT SUM(amount) FROM accounts").fetch_one(&pool).await?;
    println!("{done} transfers, {rolled_back} rolled back, sum {}", row.get::<i64, _>(0));
    pool.close().await;
    Ok(())
}
