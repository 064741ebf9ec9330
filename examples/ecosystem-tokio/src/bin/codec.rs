//! A line protocol with tokio-util's codecs: `cargo run --release -p gmp-ecosystem-tokio --bin
//! codec`, then `nc 127.0.0.1 7007`. It answers each line with its length and the line in capitals.
//! `tokio` as the second argument takes Tokio's sockets in place of gmp's. `Framed` works on both.

use futures::{SinkExt, StreamExt};
use gmp::go;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{Framed, LinesCodec, LinesCodecError};

/// Longer lines end the connection.
const LONGEST: usize = 1024;

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin) -> Result<(), LinesCodecError> {
    let mut lines = Framed::new(socket, LinesCodec::new_with_max_length(LONGEST));
    while let Some(line) = lines.next().await {
        let line = line?;
        lines.send(format!("{} {}", line.len(), line.to_uppercase())).await?;
    }
    Ok(())
}

/// Serves a connection in a goroutine.
fn start(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    go!(async move {
        if let Err(error) = serve(socket).await {
            eprintln!("connection: {error}");
        }
    });
}

#[gmp::main(tokio)]
async fn main() -> io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7007".to_owned());
    let on_tokio = std::env::args().nth(2).as_deref() == Some("tokio");
    if on_tokio {
        let listener = tokio::net::TcpListener::bind(addr).await?;
        println!("listening at {}", listener.local_addr()?);
        loop {
            start(listener.accept().await?.0);
        }
    }
    let listener = gmp::net::TcpListener::bind(addr).await?;
    println!("listening at {}", listener.local_addr()?);
    loop {
        start(listener.accept().await?.0);
    }
}
