//! rustls over gmp's sockets.

use crate::curl::curl;
use crate::server::Server;
use futures::io::{AsyncReadExt, AsyncWriteExt};
use futures_rustls::client::TlsStream;
use futures_rustls::pki_types::pem::PemObject;
use futures_rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use futures_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use futures_rustls::{TlsAcceptor, TlsConnector};
use gmp::compat::hyper::{Executor, FuturesIo};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The example server, and the file of its certificate.
struct Https {
    server: Server,
    file: PathBuf,
}

impl Https {
    fn start(test: &str) -> Self {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{test}-{}.pem", std::process::id()));
        let server = Server::start(env!("CARGO_BIN_EXE_tls"), &[file.to_str().unwrap()]);
        Self { server, file }
    }

    async fn connect(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        let certificate = CertificateDer::from_pem_file(&self.file).unwrap();
        connect(self.server.addr(), certificate, protocol).await.unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.server.addr().port())
    }
}

impl Drop for Https {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Connects, and trusts only `certificate`.
async fn connect(
    addr: SocketAddr,
    certificate: CertificateDer<'static>,
    protocol: &[u8],
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TcpStream::connect(addr).await?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[gmp::test]
async fn http1_works_over_tls() {
    let https = Https::start("http1_works_over_tls");
    let stream = FuturesIo::new(https.connect(b"http/1.1").await);
    let (mut sender, connection) = http1::handshake(stream).await.unwrap();
    go!(connection);
    for n in 0..20 {
        let asked = Request::get(format!("/{n}")).header("host", "localhost");
        let asked = asked.body(Empty::<Bytes>::new()).unwrap();
        sender.ready().await.unwrap();
        let response = sender.send_request(asked).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, format!("Hello, {n}, by HTTP/1.1, in private!\n"));
    }
}

/// hyper's shutdown of a connection reaches the socket through the TLS stream. Without TLS's close
/// message a client could not distinguish the end from a broken connection.
#[gmp::test]
async fn a_shutdown_sends_the_close_message_of_tls() {
    let https = Https::start("a_shutdown_sends_the_close_message_of_tls");
    let mut stream = https.connect(b"http/1.1").await;
    let asked = b"GET /you HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(asked).await.unwrap();
    // The TLS stream may buffer a write that was deferred by the budget, until it is flushed.
    stream.flush().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nHello, you, by HTTP/1.1, in private!\n"), "{answer}");
}

#[gmp::test]
async fn http2_works_over_tls() {
    let https = Https::start("http2_works_over_tls");
    let stream = https.connect(b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) = http2::handshake(Executor, FuturesIo::new(stream)).await.unwrap();
    go!(connection);
    let asked: Vec<_> = (0..50)
        .map(|n| {
            let (mut sender, url) = (sender.clone(), https.url(&format!("/{n}")));
            go!(async move {
                let asked = Request::get(url).body(Empty::<Bytes>::new()).unwrap();
                let response = sender.send_request(asked).await.unwrap();
                let body = response.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(body, format!("Hello, {n}, by HTTP/2.0, in private!\n"));
            })
        })
        .collect();
    for asked in asked {
        asked.await.unwrap();
    }
}

/// Clients that cannot connect do not delay others: one sends nothing, one does not speak TLS, one
/// does not trust the certificate.
#[gmp::test]
async fn failed_handshakes_delay_no_other_client() {
    let https = Https::start("failed_handshakes_delay_no_other_client");
    let silent = TcpStream::connect(https.server.addr()).await.unwrap();

    let plain = TcpStream::connect(https.server.addr()).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut end = Vec::new();
    // An alert, then the end or a reset.
    let _ = (&plain).read_to_end(&mut end).await;
    assert!(!end.starts_with(b"HTTP"), "{end:?}");

    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let refused = connect(https.server.addr(), other.cert.der().clone(), b"h2").await;
    assert!(refused.unwrap_err().to_string().contains("invalid peer certificate"));

    https.connect(b"h2").await;
    drop(silent);
}

/// Sends more than all buffers hold, in both directions at once.
#[gmp::test]
async fn megabytes_pass_in_both_directions_at_once() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate.clone()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let echo = go!(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap();
        let (reader, mut writer) = stream.split();
        let copied = futures::io::copy(reader, &mut writer).await.unwrap();
        writer.close().await.unwrap();
        copied
    });
    let (mut reader, mut writer) = connect(addr, certificate, b"echo").await.unwrap().split();
    let sent: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let expected = sent.clone();
    let sending = go!(async move {
        writer.write_all(&sent).await.unwrap();
        writer.close().await.unwrap();
    });
    let mut echoed = vec![0; expected.len()];
    reader.read_exact(&mut echoed).await.unwrap();
    assert_eq!(reader.read(&mut [0]).await.unwrap(), 0);
    sending.await.unwrap();
    assert_eq!(echo.await.unwrap(), 8_000_000);
    assert!(echoed == expected);
}

#[test]
fn curl_trusts_the_certificate_of_a_given_file() {
    let https = Https::start("curl");
    let (file, url) = (https.file.to_str().unwrap(), https.url("/curl"));
    let Some(second) = curl(&["--cacert", file, &url]) else { return };
    assert_eq!(second.text(), "Hello, curl, by HTTP/2.0, in private!\n", "{}", second.log);
    let first = curl(&["--cacert", file, "--http1.1", "--tls-max", "1.2", &url]).unwrap();
    assert_eq!(first.text(), "Hello, curl, by HTTP/1.1, in private!\n", "{}", first.log);
    let careless = curl(&["--insecure", &url]).unwrap();
    assert_eq!(careless.text(), "Hello, curl, by HTTP/2.0, in private!\n", "{}", careless.log);
    // "Peer certificate cannot be authenticated with known CA certificates."
    assert_eq!(curl(&[&url]).unwrap().code, 60);
}
