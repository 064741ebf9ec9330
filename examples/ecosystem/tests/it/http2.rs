//! HTTP/2, and the graceful shutdown of a server.

use crate::client::{self, request, text};
use crate::curl::curl;
use crate::http::http_client;
use crate::server::Server;
use gmp::compat::hyper::{Executor, Timer};
use gmp::go;
use gmp::net::TcpStream;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_http2"), &[])
}

/// Runs concurrent streams with bodies larger than their windows.
#[gmp::test]
async fn streams_of_one_connection_run_concurrently() {
    let server = start();
    let sender = client::http2(server.addr()).await;
    let streams: Vec<_> = (0..100_usize)
        .map(|n| {
            let (mut sender, url) = (sender.clone(), server.url("/echo"));
            go!(async move {
                let body: Vec<u8> = (0..n * 4_000).map(|at| (at % (n + 1)) as u8).collect();
                let asked = Request::post(url).body(Full::from(body.clone())).unwrap();
                let response = sender.send_request(asked).await.unwrap();
                assert_eq!(response.version(), Version::HTTP_2);
                let echoed = response.into_body().collect().await.unwrap().to_bytes();
                assert!(echoed == body, "stream {n}");
            })
        })
        .collect();
    for stream in streams {
        stream.await.unwrap();
    }
}

/// A stream that is not read does not delay the others.
#[gmp::test]
async fn a_stream_that_is_not_read_delays_no_other() {
    let server = start();
    let mut sender = client::http2(server.addr()).await;
    let asked = Request::post(server.url("/echo")).body(Full::from(vec![7; 5_000_000])).unwrap();
    let unread = sender.send_request(asked).await.unwrap();
    for _ in 0..50 {
        let asked = Request::get(server.url("/you")).body(Full::default()).unwrap();
        let (_, text) = text(sender.send_request(asked).await.unwrap()).await;
        assert_eq!(text, "Hello, you, by HTTP/2.0!\n");
    }
    assert_eq!(unread.into_body().collect().await.unwrap().to_bytes().len(), 5_000_000);
}

#[gmp::test]
async fn one_port_serves_both_versions() {
    let server = start();
    let mut sender = client::http1(server.addr()).await;
    let response = sender.send_request(request("GET", "/you", "")).await.unwrap();
    assert_eq!(text(response).await.1, "Hello, you, by HTTP/1.1!\n");
    let output =
        gmp::block_in_place(|| http_client(&["--http2", &server.url("/a"), &server.url("/b")]));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout, "Hello, a, by HTTP/2.0!\nHello, b, by HTTP/2.0!\n");
}

#[test]
fn curl_gets_answers_in_both_versions() {
    let server = start();
    let url = server.url("/curl");
    let Some(second) = curl(&["--http2-prior-knowledge", &url]) else { return };
    assert_eq!(second.text(), "Hello, curl, by HTTP/2.0!\n");
    let first = curl(&["--http1.1", &url]).unwrap();
    assert_eq!(first.text(), "Hello, curl, by HTTP/1.1!\n");
    let echo = curl(&["--http2-prior-knowledge", "--data-binary", "echo this", &url]).unwrap();
    assert_eq!(echo.text(), "echo this");
}

/// A request body that the test keeps open.
type Open = StreamBody<gmp::chan::Receiver<Result<Frame<Bytes>, Infallible>>>;

fn data(text: &'static str) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

async fn next(response: &mut Response<Incoming>) -> Bytes {
    response.frame().await.unwrap().unwrap().into_data().unwrap()
}

/// Sends SIGTERM to a server during a request: the request still finishes.
async fn ends_after_the_last_answer<S, F>(mut server: Server, send: S)
where
    S: FnOnce(Request<Open>) -> F,
    F: Future<Output = hyper::Result<Response<Incoming>>>,
{
    let (tx, rx) = gmp::chan(1);
    let asked = Request::post(server.url("/echo")).header("host", "localhost");
    let asked = asked.body(StreamBody::new(rx)).unwrap();
    tx.send(data("before")).await.unwrap();
    let mut response = send(asked).await.unwrap();
    assert_eq!(next(&mut response).await, "before");

    server.terminate();
    // The server has handled the signal when connections fail.
    let ending = async { while TcpStream::connect(server.addr()).await.is_ok() {} };
    gmp::timeout(Duration::from_secs(60), ending).await.unwrap();
    tx.send(data("after")).await.unwrap();
    assert_eq!(next(&mut response).await, "after");
    tx.close();
    let rest = response.into_body().collect().await.unwrap();
    assert!(rest.to_bytes().is_empty());
    let status = gmp::block_in_place(|| server.wait());
    assert!(status.success(), "{status}");
}

#[gmp::test]
async fn a_server_ends_after_its_last_answer_http1() {
    let server = start();
    let mut sender = open_http1(server.addr()).await;
    ends_after_the_last_answer(server, |asked| sender.send_request(asked)).await;
}

#[gmp::test]
async fn a_server_ends_after_its_last_answer_http2() {
    let server = start();
    let stream = TcpStream::connect(server.addr()).await.unwrap();
    let (mut sender, connection) = http2::handshake(Executor, stream).await.unwrap();
    go!(connection);
    ends_after_the_last_answer(server, |asked| sender.send_request(asked)).await;
}

async fn open_http1(addr: SocketAddr) -> http1::SendRequest<Open> {
    let (sender, connection) =
        http1::handshake(TcpStream::connect(addr).await.unwrap()).await.unwrap();
    go!(connection);
    sender
}

/// Idle and silent connections do not keep a server alive.
#[gmp::test]
async fn idle_connections_do_not_delay_the_end() {
    let mut server = start();
    let silent = TcpStream::connect(server.addr()).await.unwrap();
    let mut idle = client::http1(server.addr()).await;
    let mut idle_too = client::http2(server.addr()).await;
    text(idle.send_request(request("GET", "/", "")).await.unwrap()).await;
    let asked = Request::get(server.url("/")).body(Full::default()).unwrap();
    text(idle_too.send_request(asked).await.unwrap()).await;
    server.terminate();
    let status = gmp::block_in_place(|| server.wait());
    assert!(status.success(), "{status}");
    drop(silent);
}

/// hyper's pings use gmp's timers: a connection whose peer does not answer them ends.
#[gmp::test]
async fn a_peer_that_does_not_answer_pings_is_disconnected() {
    let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    // The preface and an empty settings frame, then nothing.
    peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let mut http = hyper::server::conn::http2::Builder::new(Executor);
    http.timer(Timer)
        .keep_alive_interval(Duration::from_millis(20))
        .keep_alive_timeout(Duration::from_millis(50));
    let serving = http.serve_connection(stream, service_fn(never));
    let error = gmp::timeout(Duration::from_secs(60), serving).await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

async fn never(
    _: Request<Incoming>,
) -> Result<Response<impl Body<Data = Bytes, Error = Infallible>>, Infallible> {
    Ok(Response::new(Full::<Bytes>::default()))
}
