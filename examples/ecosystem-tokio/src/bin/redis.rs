//! Counts words in Redis, with many goroutines over one connection: `cargo run --release -p
//! gmp-ecosystem-tokio --bin redis -- redis://127.0.0.1:6379 FILE`.
//!
//! The connection is a Tokio task of the redis crate. `ConnectionManager` reconnects if the server
//! goes away.

use gmp::{WaitGroup, chan, go};
use redis::AsyncCommands;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use std::error::Error;
use std::time::Duration;

const WORKERS: usize = 8;
const WORDS: &str = "words";

async fn connect(url: &str) -> redis::RedisResult<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(2)
        .set_connection_timeout(Some(Duration::from_secs(2)))
        .set_response_timeout(Some(Duration::from_secs(5)));
    ConnectionManager::new_with_config(redis::Client::open(url)?, config).await
}

#[gmp::main(tokio)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (Some(url), Some(file)) = (std::env::args().nth(1), std::env::args().nth(2)) else {
        return Err("usage: redis URL FILE".into());
    };
    let mut connection = connect(&url).await?;
    let (words, next) = chan::<String>(0);
    let workers = WaitGroup::new();
    let (errors, failed) = chan(WORKERS);
    for _ in 0..WORKERS {
        let (next, errors, mut connection) = (next.clone(), errors.clone(), connection.clone());
        workers.go(async move {
            while let Ok(word) = next.recv().await {
                let counted: Result<i64, _> = connection.hincr(WORDS, word, 1).await;
                if let Err(error) = counted {
                    let _ = errors.send(error).await;
                    return;
                }
            }
        });
    }
    drop((next, errors));
    let text = std::fs::read_to_string(file)?;
    go!(async move {
        for word in text.split_whitespace() {
            if words.send(word.to_lowercase()).await.is_err() {
                return; // all workers have failed
            }
        }
    });
    workers.wait().await;
    if let Ok(error) = failed.recv().await {
        return Err(error.into());
    }
    let mut counts: Vec<(String, i64)> = connection.hgetall(WORDS).await?;
    counts.sort_by_key(|(word, count)| (-count, word.clone()));
    for (word, count) in counts.iter().take(10) {
        println!("{count} {word}");
    }
    Ok(())
}
