//! A small Redis with one goroutine per client: `cargo run --release --example mini_redis`, then
//! `redis-cli -p 6380 set k v ex 10` or `redis-benchmark -p 6380 -t ping,set,get -P 16`. An
//! argument sets the address to listen at. It supports PING, ECHO, GET, SET (NX, XX, EX, PX), DEL,
//! EXISTS, EXPIRE, PEXPIRE, PERSIST, TTL, PTTL, DBSIZE, FLUSHALL and QUIT, and pipelining.

mod command;
mod resp;
mod session;
mod store;

use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use session::{Session, Then};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

async fn serve(stream: TcpStream, store: Arc<Store>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut session = Session::default();
    loop {
        let n = stream.read(session.room()).await?;
        if n == 0 {
            return Ok(());
        }
        session.advance(n);
        loop {
            let then = session.answer(&store);
            stream.write_all(&session.out).await?;
            match then {
                Then::Read => break,
                Then::Answer => {}
                Then::HangUp => return Ok(()),
            }
        }
    }
}

/// Frees expired keys every second.
async fn sweep(store: Arc<Store>) {
    let mut ticker = gmp::Ticker::new(Duration::from_secs(1));
    loop {
        ticker.tick().await;
        store.sweep();
    }
}

/// Serves clients until the listener is closed.
pub(crate) async fn listen(listener: TcpListener) -> io::Result<()> {
    let store = Arc::new(Store::default());
    let sweeper = go!(sweep(store.clone()));
    let end = loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => break error,
        };
        let store = store.clone();
        go!(async move {
            if let Err(error) = serve(stream, store).await {
                eprintln!("{peer}: {error}");
            }
        });
    };
    sweeper.abort();
    Err(end)
}

#[gmp::main]
async fn main() -> io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:6380".to_owned());
    let listener = TcpListener::bind(addr).await?;
    println!("listening at {}", listener.local_addr()?);
    listen(listener).await
}
