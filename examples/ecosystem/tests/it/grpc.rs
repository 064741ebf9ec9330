//! gRPC: the example's own client, and the bytes on the wire.

use crate::client;
use crate::curl::curl;
use crate::server::Server;
use gmp::go;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::{HeaderMap, Request, Response};
use std::process::{Command, Output};

const SAY_HELLO: &str = "/helloworld.Greeter/SayHello";

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_grpc"), &[])
}

/// Runs the example's client.
fn ask(server: &Server, name: &str) -> Output {
    let addr = server.addr().to_string();
    Command::new(env!("CARGO_BIN_EXE_grpc")).args([&addr, name]).output().unwrap()
}

/// Returns a message on the wire: the flag "not compressed", the length, and one field, a string
/// with tag 1.
fn message(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).unwrap();
    assert!(len < 128, "the length is one byte");
    [&[0, 0, 0, 0, len + 2, 0x0a, len], text.as_bytes()].concat()
}

async fn call(
    sender: &mut SendRequest<Full<Bytes>>,
    url: String,
    body: Vec<u8>,
) -> Response<Incoming> {
    let asked = Request::post(url).header("content-type", "application/grpc");
    let asked = asked.header("te", "trailers").body(body.into()).unwrap();
    let response = sender.send_request(asked).await.unwrap();
    // The HTTP status is always 200. The gRPC status is separate.
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/grpc");
    response
}

/// Returns the data and the trailers.
async fn parts(response: Response<Incoming>) -> (Bytes, HeaderMap) {
    let body = response.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned().unwrap_or_default();
    (body.to_bytes(), trailers)
}

#[test]
fn the_client_gets_replies_and_errors() {
    let server = start();
    let good = ask(&server, "you");
    assert_eq!(String::from_utf8_lossy(&good.stdout), "Hello, you!\n");
    assert!(good.status.success());
    let bad = ask(&server, "");
    let stderr = String::from_utf8_lossy(&bad.stderr);
    assert!(stderr.contains("InvalidArgument") && stderr.contains("the name is empty"), "{stderr}");
    assert!(!bad.status.success());
}

/// Runs many calls concurrently, each as a stream of the same connection.
#[gmp::test]
async fn many_calls_share_a_connection() {
    let server = start();
    let sender = client::http2(server.addr()).await;
    let calls: Vec<_> = (0..300)
        .map(|n| {
            let (mut sender, url) = (sender.clone(), server.url(SAY_HELLO));
            go!(async move {
                let response = call(&mut sender, url, message(&n.to_string())).await;
                let (data, trailers) = parts(response).await;
                assert_eq!(data, message(&format!("Hello, {n}!")));
                assert_eq!(trailers["grpc-status"], "0");
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

/// Without data the gRPC status is in the header.
#[gmp::test]
async fn invalid_requests_get_a_grpc_status() {
    let server = start();
    let mut sender = client::http2(server.addr()).await;
    let no_protobuf = vec![0, 0, 0, 0, 2, 0xff, 0xff];
    for (path, body, status) in [
        (SAY_HELLO, message(""), "3"),
        ("/helloworld.Greeter/SayGoodbye", message("you"), "12"),
        (SAY_HELLO, no_protobuf, "13"),
    ] {
        let response = call(&mut sender, server.url(path), body).await;
        assert_eq!(response.headers()["grpc-status"], status, "{response:?}");
        assert!(parts(response).await.0.is_empty());
    }
}

#[test]
fn curl_sees_the_trailers() {
    let server = start();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("hello-{}.bin", std::process::id()));
    std::fs::write(&file, message("curl")).unwrap();
    let (data, url) = (format!("@{}", file.display()), server.url(SAY_HELLO));
    let grpc = ["--http2-prior-knowledge", "-H", "content-type: application/grpc"];
    let args = [&grpc[..], &["-H", "te: trailers", "--data-binary", &data, &url]].concat();
    let answer = curl(&args);
    std::fs::remove_file(&file).unwrap();
    let Some(answer) = answer else { return };
    assert_eq!(answer.body, message("Hello, curl!"));
    assert!(answer.received("grpc-status: 0"), "{}", answer.log);
    let headers = answer.log.find("< content-type: application/grpc").unwrap();
    assert!(answer.log.find("< grpc-status").unwrap() > headers);
}
