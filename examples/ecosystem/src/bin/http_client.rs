//! An HTTP client with hyper. `cargo run --release -p gmp-ecosystem --bin http_client --
//! http://127.0.0.1:8080/you` sends a request to one of the servers in this folder, by HTTP/2 if
//! `--http2` comes first. It sends several requests concurrently and prints the answers in order.

use gmp::compat::hyper::{Executor, Timer};
use gmp::go;
use gmp::net::TcpStream;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, Uri, header};
use std::error::Error;
use std::io::Write;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Copy)]
enum Version {
    Http1,
    Http2,
}

async fn get(uri: Uri, version: Version) -> Result<Response<Incoming>, Failure> {
    let authority = uri.authority().ok_or("an address begins with http:// and a host")?;
    let port = authority.port_u16().unwrap_or(80);
    let stream = TcpStream::connect((authority.host(), port)).await?;
    stream.set_nodelay(true)?;
    match version {
        Version::Http1 => {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            let request = Request::get(path).header(header::HOST, authority.as_str());
            let (mut sender, connection) = http1::handshake(stream).await?;
            go!(connection);
            Ok(sender.send_request(request.body(Empty::<Bytes>::new())?).await?)
        }
        Version::Http2 => {
            let request = Request::get(&uri).body(Empty::<Bytes>::new())?;
            let mut http = http2::Builder::new(Executor);
            http.timer(Timer).keep_alive_interval(Duration::from_secs(20));
            let (mut sender, connection) = http.handshake(stream).await?;
            go!(connection);
            Ok(sender.send_request(request).await?)
        }
    }
}

#[gmp::main]
async fn main() -> Result<(), Failure> {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    let version = match args.first().map(String::as_str) {
        Some("--http2") => Version::Http2,
        _ => Version::Http1,
    };
    args.retain(|arg| arg != "--http2");
    let limit = Duration::from_secs(10);
    let mut answers = Vec::new();
    for arg in args {
        let uri: Uri = arg.parse()?;
        answers.push(go!(async move { gmp::timeout(limit, get(uri, version)).await? }));
    }
    for answer in answers {
        let mut response = answer.await??;
        eprintln!("{:?} {}", response.version(), response.status());
        while let Some(frame) = response.frame().await {
            if let Ok(data) = frame?.into_data() {
                std::io::stdout().write_all(&data)?;
            }
        }
    }
    Ok(())
}
