//! An HTTP/1 server with hyper and keep-alive: `cargo run --release --features hyper --example
//! http`, then `curl http://127.0.0.1:8080/you`. An argument sets the address to listen at.

use gmp::compat::hyper::Timer;
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;

async fn hello(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    Ok(Response::new(format!("Hello, {}!\n", request.uri().path().trim_start_matches('/'))))
}

async fn serve(stream: TcpStream) {
    if let Err(error) =
        http1::Builder::new().timer(Timer).serve_connection(stream, service_fn(hello)).await
    {
        eprintln!("connection: {error}");
    }
}

#[gmp::main]
async fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(addr).await?;
    println!("listening at http://{}", listener.local_addr()?);
    loop {
        let (stream, _peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        go!(serve(stream));
    }
}
