//! HTTP/1: `examples/http.rs` and the clients.

use crate::client::{self, request, send, text};
use crate::curl::curl;
use crate::server::Server;
use gmp::go;
use std::process::{Command, Output};

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_http"), &[])
}

/// Runs the example's client.
pub(crate) fn http_client(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_http_client")).args(args).output().unwrap()
}

#[gmp::test]
async fn many_connections_serve_many_requests() {
    let server = start();
    let addr = server.addr();
    let clients: Vec<_> = (0..50)
        .map(|n| {
            go!(async move {
                let mut sender = client::http1(addr).await;
                for round in 0..20 {
                    let asked = request("GET", &format!("/{n}-{round}"), "");
                    let (status, text) = text(send(&mut sender, asked).await).await;
                    assert_eq!((status.as_u16(), text), (200, format!("Hello, {n}-{round}!\n")));
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
}

#[test]
fn curl_keeps_the_connection() {
    let server = start();
    let Some(answer) = curl(&[&server.url("/one"), &server.url("/two"), "-w", "%{num_connects} "])
    else {
        return;
    };
    assert_eq!(answer.text(), "Hello, one!\n1 Hello, two!\n0 ");
}

#[test]
fn the_client_asks_several_servers() {
    let (one, other) = (start(), start());
    let output = http_client(&[&one.url("/a"), &other.url("/b"), &one.url("/c")]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Hello, a!\nHello, b!\nHello, c!\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "HTTP/1.1 200 OK\n".repeat(3));
    assert!(output.status.success());
}

#[test]
fn the_client_reports_its_errors() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, complaint) in
        [(format!("http://{nobody}/"), "refused"), ("/nowhere".to_owned(), "a host")]
    {
        let output = http_client(&[&url]);
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(complaint), "{url}: {stderr}");
    }
}

/// Four requests run at the same time, so about four connections are needed, not one per request.
#[test]
fn a_pool_keeps_its_connections() {
    let server = start();
    let output = Command::new(env!("CARGO_BIN_EXE_http_pool"))
        .args([&server.url("/you"), "400"])
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let connections = stdout.trim().strip_prefix("400 answers over ");
    let connections = connections.and_then(|rest| rest.strip_suffix(" connections"));
    let connections: usize = connections.unwrap_or_else(|| panic!("{output:?}")).parse().unwrap();
    assert!((1..40).contains(&connections), "{connections}");
}
