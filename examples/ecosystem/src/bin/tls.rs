//! HTTPS with rustls and hyper, with HTTP/2 if the client supports it: `cargo run --release -p
//! gmp-ecosystem --bin tls`, then `curl --cacert localhost.pem https://localhost:8443/you`. It
//! creates a certificate at the start and writes it to `localhost.pem`. Arguments set the address
//! to listen at and the file.

use futures_rustls::TlsAcceptor;
use futures_rustls::pki_types::PrivateKeyDer;
use futures_rustls::rustls::ServerConfig;
use gmp::compat::hyper::{Executor, FuturesIo, Timer};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

async fn hello(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let name = request.uri().path().trim_start_matches('/');
    Ok(Response::new(format!("Hello, {name}, by {:?}, in private!\n", request.version())))
}

/// Creates a self-signed certificate for this machine.
fn self_signed(file: &str) -> Result<ServerConfig, Failure> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)?;
    std::fs::write(file, made.cert.pem())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream) -> Result<(), Failure> {
    let stream = gmp::timeout(Duration::from_secs(10), acceptor.accept(stream)).await??;
    let mut http = auto::Builder::new(Executor);
    http.http1().timer(Timer).header_read_timeout(Duration::from_secs(30));
    http.http2().timer(Timer).keep_alive_interval(Duration::from_secs(20));
    http.serve_connection(FuturesIo::new(stream), service_fn(hello)).await
}

#[gmp::main]
async fn main() -> Result<(), Failure> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8443".to_owned());
    let file = std::env::args().nth(2).unwrap_or_else(|| "localhost.pem".to_owned());
    let acceptor = TlsAcceptor::from(Arc::new(self_signed(&file)?));
    let listener = TcpListener::bind(addr).await?;
    println!("listening at https://{}", listener.local_addr()?);
    loop {
        let (stream, peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        go!(async move {
            if let Err(error) = serve(acceptor, stream).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}
