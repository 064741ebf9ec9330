//! HTTP/1 and HTTP/2 on one port with hyper, and a graceful shutdown.
//!
//! `cargo run --release -p gmp-ecosystem --bin http2`, then `curl --http2-prior-knowledge
//! http://127.0.0.1:8080/you`. It echoes the body of a POST as it arrives. On SIGTERM and Ctrl-C it
//! accepts no more connections, and open requests get ten seconds to finish. An argument sets the
//! address to listen at.

use gmp::compat::hyper::{Executor, Timer};
use gmp::net::{TcpListener, UnixStream};
use gmp::{go, select};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

async fn answer(
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Incoming>>, Infallible> {
    Ok(Response::new(match *request.method() {
        Method::POST => Either::Right(request.into_body()),
        _ => {
            let name = request.uri().path().trim_start_matches('/');
            Either::Left(Full::from(format!("Hello, {name}, by {:?}!\n", request.version())))
        }
    }))
}

/// Returns a stream that becomes readable at the first SIGINT or SIGTERM.
fn signals() -> io::Result<UnixStream> {
    let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    UnixStream::from_std(reader)
}

#[gmp::main]
async fn main() -> io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(addr).await?;
    let signals = signals()?;
    println!("listening at http://{}", listener.local_addr()?);

    let mut http = auto::Builder::new(Executor);
    http.http1().timer(Timer).header_read_timeout(Duration::from_secs(30));
    http.http2().timer(Timer).keep_alive_interval(Duration::from_secs(20));
    let connections = GracefulShutdown::new();
    loop {
        select! {
            accepted = listener.accept() => {
                let (stream, _peer) = accepted?;
                stream.set_nodelay(true)?;
                let connection = http.serve_connection(stream, service_fn(answer)).into_owned();
                let connection = connections.watch(connection);
                go!(async move {
                    if let Err(error) = connection.await {
                        eprintln!("connection: {error}");
                    }
                });
            },
            _ = signals.readable() => break,
        }
    }
    drop(listener);
    match gmp::timeout(Duration::from_secs(10), connections.shutdown()).await {
        Ok(()) => Ok(()),
        Err(_late) => Err(io::Error::other("some requests did not finish in time")),
    }
}
