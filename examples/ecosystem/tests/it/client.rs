//! Requests with hyper, on gmp's sockets.

use gmp::compat::hyper::Executor;
use gmp::go;
use gmp::net::TcpStream;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, StatusCode};
use std::net::SocketAddr;

/// Opens a connection for HTTP/1.
pub(crate) async fn http1(addr: SocketAddr) -> http1::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (sender, connection) = http1::handshake(stream).await.unwrap();
    go!(connection);
    sender
}

/// Sends a request by HTTP/1, after the previous answer has been read to its end.
pub(crate) async fn send(
    sender: &mut http1::SendRequest<Full<Bytes>>,
    asked: Request<Full<Bytes>>,
) -> Response<Incoming> {
    sender.ready().await.unwrap();
    sender.send_request(asked).await.unwrap()
}

/// Opens a connection for HTTP/2.
pub(crate) async fn http2(addr: SocketAddr) -> http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (sender, connection) = http2::handshake(Executor, stream).await.unwrap();
    go!(connection);
    sender
}

/// Returns an HTTP/1 request to `path` at localhost.
pub(crate) fn request(
    method: &str,
    path: &str,
    body: impl Into<Full<Bytes>>,
) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.body(body.into()).unwrap()
}

/// Returns the status and the whole body as text.
pub(crate) async fn text(response: Response<Incoming>) -> (StatusCode, String) {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}
