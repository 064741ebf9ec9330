//! Foreign crates that use their own traits, on sockets of gmp.

use super::net_tcp::pair;
use futures::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use gmp::compat::hyper::{Executor, FuturesIo, Timer};
use gmp::go;
use gmp::net::{Async, TcpListener, TcpStream, UnixStream};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor as _, Timer as _};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
    Ok(Response::new(Full::from(format!("{path} {body}"))))
}

/// Keep-alive connections with many requests each. Both ends use hyper.
#[gmp::test]
async fn hyper_works_as_server_and_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let server = go!(async move {
        while let Ok((stream, _)) = listener.accept().await {
            go!(async move {
                let mut http = hyper::server::conn::http1::Builder::new();
                let connection = http
                    .timer(Timer)
                    .header_read_timeout(Duration::from_secs(30))
                    .serve_connection(stream, service_fn(answer));
                connection.await.unwrap();
            });
        }
    });
    let clients: Vec<_> = (0..20)
        .map(|n| {
            go!(async move {
                let stream = TcpStream::connect(addr).await.unwrap();
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(stream).await.unwrap();
                Executor.execute(connection);
                for round in 0..50 {
                    let body = vec![b'x'; round * 700];
                    let request = Request::post(format!("/{n}/{round}"))
                        .header("host", "localhost")
                        .body(Full::<Bytes>::from(body))
                        .unwrap();
                    sender.ready().await.unwrap();
                    let response = sender.send_request(request).await.unwrap();
                    let text = response.into_body().collect().await.unwrap().to_bytes();
                    assert_eq!(text, format!("/{n}/{round} {}", round * 700));
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    server.abort();
}

/// The server does not wait for a client that sends half a request.
#[gmp::test]
async fn hyper_header_timeouts_fire_on_gmp_timers() {
    let (client, server) = pair().await;
    client.write_all(b"GET / HTT").await.unwrap();
    let mut http = hyper::server::conn::http1::Builder::new();
    let connection = http
        .timer(Timer)
        .header_read_timeout(Duration::from_millis(50))
        .serve_connection(server, service_fn(answer));
    assert!(connection.await.unwrap_err().is_timeout());
}

#[gmp::test]
async fn a_hyper_timer_is_reset_in_place() {
    let start = Instant::now();
    let mut sleep = Timer.sleep(Duration::from_secs(3600));
    let first = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
    assert!(first.is_pending());
    let before: *const dyn hyper::rt::Sleep = &*sleep;
    Timer.reset(&mut sleep, start + Duration::from_millis(10));
    assert!(std::ptr::addr_eq(before, &*sleep), "a new allocation");
    sleep.await;
    assert!(start.elapsed() >= Duration::from_millis(10));
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// Tokio's traits, without Tokio's runtime.
#[gmp::test]
async fn streams_implement_the_traits_of_tokio() {
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    let (mut client, mut server) = pair().await;
    let sent = poll_fn(|cx| AsyncWrite::poll_write(Pin::new(&mut client), cx, b"ping")).await;
    assert_eq!(sent.unwrap(), 4);
    assert!(AsyncWrite::is_write_vectored(&client));
    let mut space = [std::mem::MaybeUninit::uninit(); 16];
    let mut buf = ReadBuf::uninit(&mut space);
    poll_fn(|cx| AsyncRead::poll_read(Pin::new(&mut server), cx, &mut buf)).await.unwrap();
    assert_eq!(buf.filled(), b"ping");
    poll_fn(|cx| AsyncWrite::poll_shutdown(Pin::new(&mut client), cx)).await.unwrap();
    buf.clear();
    poll_fn(|cx| AsyncRead::poll_read(Pin::new(&mut server), cx, &mut buf)).await.unwrap();
    assert!(buf.filled().is_empty());
}

/// A stream with only the traits of `futures` is served. The bodies are larger than one read.
#[gmp::test]
async fn hyper_serves_streams_with_the_traits_of_futures() {
    let (client, server) = UnixStream::pair().unwrap();
    let (client, server) = (FuturesIo::new(BufReader::new(client)), FuturesIo::new(server));
    let serving = go!(async move {
        hyper::server::conn::http1::Builder::new()
            .serve_connection(server, service_fn(answer))
            .await
            .unwrap();
    });
    let (mut sender, connection) = hyper::client::conn::http1::handshake(client).await.unwrap();
    Executor.execute(connection);
    for size in [0, 1, 5_000, 100_000, 3_000_000] {
        let request = Request::post("/wrapped").header("host", "localhost");
        let request = request.body(Full::<Bytes>::from(vec![b'x'; size])).unwrap();
        sender.ready().await.unwrap();
        let response = sender.send_request(request).await.unwrap();
        let text = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(text, format!("/wrapped {size}"));
    }
    drop(sender);
    serving.await.unwrap();
}

/// After an upgrade the connection implements the traits of `futures`, for code that knows neither
/// hyper nor gmp.
#[gmp::test]
async fn an_upgraded_connection_has_the_traits_of_futures() {
    async fn upgrade(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        go!(async move {
            let mut echo = FuturesIo::new(hyper::upgrade::on(request).await.unwrap());
            let mut word = [0; 4];
            echo.read_exact(&mut word).await.unwrap();
            echo.write_all(&word).await.unwrap();
            echo.close().await.unwrap();
        });
        let response = Response::builder().status(101).header("upgrade", "echo");
        Ok(response.header("connection", "upgrade").body(Full::default()).unwrap())
    }
    let (client, server) = pair().await;
    let serving = go!(async move {
        let http = hyper::server::conn::http1::Builder::new();
        http.serve_connection(server, service_fn(upgrade)).with_upgrades().await.unwrap();
    });
    let (mut sender, connection) = hyper::client::conn::http1::handshake(client).await.unwrap();
    Executor.execute(connection.with_upgrades());
    let request = Request::get("/").header("host", "localhost").header("upgrade", "echo");
    let request = request.header("connection", "upgrade").body(Full::<Bytes>::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 101);
    let mut stream = FuturesIo::new(hyper::upgrade::on(response).await.unwrap());
    stream.write_all(b"ping").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"ping");
    serving.await.unwrap();
}

/// A reader that reports a wrong length must not make hyper read uninitialised memory.
#[test]
#[should_panic(expected = "a reader says it has read 17 bytes into a buffer of 16")]
fn a_reader_that_reports_a_wrong_length_exposes_no_memory() {
    struct Liar;
    impl futures::AsyncRead for Liar {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut [u8],
        ) -> Poll<std::io::Result<usize>> {
            Poll::Ready(Ok(buf.len() + 1))
        }
    }
    let mut space = [std::mem::MaybeUninit::uninit(); 16];
    let mut buf = hyper::rt::ReadBuf::uninit(&mut space);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut liar = FuturesIo::new(Liar);
    let _ = hyper::rt::Read::poll_read(Pin::new(&mut liar), &mut cx, buf.unfilled());
}

/// Sends and receives a word through Tokio's traits.
async fn through_tokios(
    mut write: impl tokio::io::AsyncWrite + Unpin,
    mut read: impl tokio::io::AsyncRead + Unpin,
) {
    let sent = poll_fn(|cx| Pin::new(&mut write).poll_write(cx, b"word")).await;
    assert_eq!(sent.unwrap(), 4);
    poll_fn(|cx| Pin::new(&mut write).poll_flush(cx)).await.unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); 16];
    let mut buf = tokio::io::ReadBuf::uninit(&mut space);
    buf.put_slice(b"a ");
    poll_fn(|cx| Pin::new(&mut read).poll_read(cx, &mut buf)).await.unwrap();
    assert_eq!(buf.filled(), b"a word");
    poll_fn(|cx| Pin::new(&mut write).poll_shutdown(cx)).await.unwrap();
    drop(write);
    poll_fn(|cx| Pin::new(&mut read).poll_read(cx, &mut buf)).await.unwrap();
    assert_eq!(buf.filled(), b"a word");
}

#[gmp::test]
async fn halves_and_descriptors_implement_the_traits_of_tokio() {
    let (mut client, mut server) = pair().await;
    through_tokios(&client, &server).await;
    through_tokios(TcpStream::split(&mut server).1, TcpStream::split(&mut client).0).await;
    let (client, server) = pair().await;
    let ((_open, to_server), (from_client, _too)) = (client.into_split(), server.into_split());
    through_tokios(to_server, from_client).await;
    let (mut one, mut other) = UnixStream::pair().unwrap();
    through_tokios(&one, &other).await;
    through_tokios(UnixStream::split(&mut other).1, UnixStream::split(&mut one).0).await;
    let (one, other) = UnixStream::pair().unwrap();
    through_tokios(other, one).await;
    let (one, other) = UnixStream::pair().unwrap();
    let ((_open, to_other), (from_one, _too)) = (one.into_split(), other.into_split());
    through_tokios(to_other, from_one).await;
    let (reader, writer) = std::io::pipe().unwrap();
    through_tokios(Async::new(writer).unwrap(), Async::new(reader).unwrap()).await;
}
