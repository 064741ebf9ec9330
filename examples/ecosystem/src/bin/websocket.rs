//! A WebSocket echo server with async-tungstenite: `cargo run --release -p gmp-ecosystem --bin
//! websocket`. An argument sets the address to listen at. In the console of a browser: `s = new
//! WebSocket("ws://127.0.0.1:8080"); s.onmessage = m => console.log(m.data); s.onopen = () =>
//! s.send("hello")`.

use async_tungstenite::accept_async;
use async_tungstenite::tungstenite::Error;
use futures::StreamExt;
use gmp::go;
use gmp::net::{TcpListener, TcpStream};

/// Echoes messages. The library answers pings and the closing handshake during reads.
async fn echo(stream: TcpStream) -> Result<(), Error> {
    let mut socket = accept_async(stream).await?;
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() || message.is_binary() {
            socket.send(message).await?;
        }
    }
    Ok(())
}

#[gmp::main]
async fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(addr).await?;
    println!("listening at ws://{}", listener.local_addr()?);
    loop {
        let (stream, peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        go!(async move {
            if let Err(error) = echo(stream).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}
