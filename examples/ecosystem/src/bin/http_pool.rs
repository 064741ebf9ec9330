//! An HTTP client of hyper-util that reuses its connections. `cargo run --release -p gmp-ecosystem
//! --bin http_pool -- http://127.0.0.1:8080/you 100` sends 100 requests to one of the servers in
//! this folder, four at a time, and prints the number of connections. The pool needs a connector,
//! an executor and a timer.

use gmp::compat::hyper::{Executor, Timer};
use gmp::go;
use gmp::net::TcpStream;
use http_body_util::{BodyExt, Empty};
use hyper::Uri;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

/// A connection in the pool.
struct Pooled(TcpStream);

impl Connection for Pooled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Pooled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Read::poll_read(Pin::new(&mut self.0), cx, buf)
    }
}

impl Write for Pooled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Write::poll_write(Pin::new(&mut self.0), cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_flush(Pin::new(&mut self.0), cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_shutdown(Pin::new(&mut self.0), cx)
    }
}

async fn connect(uri: Uri) -> io::Result<Pooled> {
    let host = uri.host().ok_or_else(|| io::Error::other("no host to connect to"))?;
    let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(80))).await?;
    stream.set_nodelay(true)?;
    Ok(Pooled(stream))
}

#[gmp::main]
async fn main() -> Result<(), Failure> {
    let uri = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8080/you".to_owned());
    let uri: Uri = uri.parse()?;
    let times: usize = std::env::args().nth(2).as_deref().unwrap_or("100").parse()?;
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = connections.clone();
    let client: Client<_, Empty<Bytes>> = Client::builder(Executor)
        .pool_timer(Timer)
        .pool_idle_timeout(Duration::from_secs(30))
        .timer(Timer)
        .build(tower::service_fn(move |uri| {
            counter.fetch_add(1, Ordering::Relaxed);
            Box::pin(connect(uri))
        }));
    let askers: Vec<_> = (0..4)
        .map(|asker| {
            let (client, uri) = (client.clone(), uri.clone());
            go!(async move {
                for _ in (asker..times).step_by(4) {
                    client.get(uri.clone()).await?.into_body().collect().await?;
                }
                Ok::<_, Failure>(())
            })
        })
        .collect();
    for asker in askers {
        asker.await??;
    }
    println!("{times} answers over {} connections", connections.load(Ordering::Relaxed));
    Ok(())
}
