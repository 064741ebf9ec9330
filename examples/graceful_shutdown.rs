//! A server with a graceful shutdown. On Ctrl-C or SIGTERM it accepts no more connections, waits
//! until the open ones have finished, and ends.
//!
//! By default it runs three clients and sends itself a SIGTERM. With `LISTEN=127.0.0.1:8080` in the
//! environment it listens there until it gets a signal.

use gmp::context::Context;
use gmp::net::{TcpListener, TcpStream};
use gmp::signal::{SignalKind, ctrl_c, signal};
use gmp::{WaitGroup, go, select};
use std::io;
use std::time::Duration;

/// Maximum time for connections to finish.
const GRACE: Duration = Duration::from_secs(5);

/// Echoes until the client finishes. At a shutdown it sends a goodbye and ends.
async fn serve(stream: TcpStream, ending: Context) -> io::Result<()> {
    let mut buf = [0; 1024];
    loop {
        select! {
            n = stream.read(&mut buf) => match n? {
                0 => return Ok(()),
                n => stream.write_all(&buf[..n]).await?,
            },
            _ = ending.done() => return stream.write_all(b"goodbye\n").await,
        }
    }
}

/// Runs three clients, and then sends the signal.
async fn demo(addr: std::net::SocketAddr) -> io::Result<()> {
    let mut clients = Vec::new();
    for n in 0..3u8 {
        let client = TcpStream::connect(addr).await?;
        client.write_all(&[b'0' + n]).await?;
        client.read_exact(&mut [0]).await?;
        clients.push(client);
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)?;
    for client in clients {
        let mut goodbye = [0; 8];
        client.read_exact(&mut goodbye).await?;
        assert_eq!(&goodbye, b"goodbye\n");
    }
    Ok(())
}

// The integration tests call it too.
#[gmp::main]
pub(crate) async fn main() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = std::pin::pin!(ctrl_c());
    let addr = std::env::var("LISTEN").ok();
    let listener = TcpListener::bind(addr.as_deref().unwrap_or("127.0.0.1:0")).await?;
    println!("listening on {}", listener.local_addr()?);
    if addr.is_none() {
        go!(demo(listener.local_addr()?));
    }
    let (ending, end) = Context::background().with_cancel();
    let connections = WaitGroup::new();
    loop {
        select! {
            accepted = listener.accept() => {
                let (stream, _peer) = accepted?;
                connections.go(serve(stream, ending.clone()));
            }
            _ = terminate.recv() => break,
            _ = interrupt.as_mut() => break,
        }
    }
    println!("ending");
    drop(listener);
    end.cancel();
    match gmp::timeout(GRACE, connections.wait()).await {
        Ok(()) => println!("all connections have finished"),
        Err(_elapsed) => println!("some connections did not finish in time"),
    }
    Ok(())
}
