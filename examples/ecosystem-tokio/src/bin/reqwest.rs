//! Fetches a page with reqwest, many times concurrently: `cargo run --release -p
//! gmp-ecosystem-tokio --bin reqwest -- http://127.0.0.1:8080/hello/you 100`.
//!
//! Each request is a goroutine. reqwest's connections and timeouts are served by Tokio's worker.

use gmp::go;
use std::error::Error;
use std::time::Duration;

/// No page takes longer.
const LIMIT: Duration = Duration::from_secs(5);

async fn fetch(client: reqwest::Client, url: String) -> reqwest::Result<usize> {
    let response = client.get(url).send().await?.error_for_status()?;
    Ok(response.bytes().await?.len())
}

#[gmp::main(tokio)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (url, count) = (std::env::args().nth(1), std::env::args().nth(2));
    let url = url.ok_or("usage: reqwest URL [COUNT]")?;
    let count: usize = count.as_deref().unwrap_or("1").parse()?;
    let client = reqwest::Client::builder().timeout(LIMIT).build()?;
    let fetches: Vec<_> = (0..count).map(|_| go!(fetch(client.clone(), url.clone()))).collect();
    let mut bytes = 0;
    for fetch in fetches {
        bytes += fetch.await??;
    }
    println!("{count} pages, {bytes} bytes");
    Ok(())
}
