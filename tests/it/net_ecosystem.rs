//! What others have written against their own traits, on sockets of gmp.

use super::net_tcp::pair;
use gmp::go;
use gmp::net::hyper::{Executor, Timer};
use gmp::net::{TcpListener, TcpStream};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor as _, Timer as _};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
    Ok(Response::new(Full::from(format!("{path} {body}"))))
}

/// Keep-alive connections with many requests each, both ends hyper's.
#[gmp::test]
async fn hyper_serves_and_asks() {
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

/// A client that sends half a request is not waited for.
#[gmp::test]
async fn hypers_timeouts_are_ours() {
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
async fn a_timer_is_moved_in_place() {
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

/// tokio's traits, without any of its runtime.
#[gmp::test]
async fn tokios_traits() {
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
