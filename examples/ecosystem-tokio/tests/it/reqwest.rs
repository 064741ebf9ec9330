//! reqwest in goroutines.

use crate::server::Server;
use crate::{LONG, stderr, stdout};
use gmp::go;
use reqwest::Client;
use std::process::{Command, Output};
use std::time::Duration;
use tokio::net::TcpListener;

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reqwest")).args(args).output().unwrap()
}

#[test]
fn the_program_fetches_many_pages() {
    let server = Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[]);
    let output = program(&[&server.url("/hello/you"), "200"]);
    assert_eq!(stdout(&output), "200 pages, 2400 bytes\n");
}

#[test]
fn the_program_fails_without_a_server_and_without_a_page() {
    let server = Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[]);
    let missing = stderr(&program(&[&server.url("/nowhere")]));
    assert!(missing.contains("404"), "{missing}");
    let url = server.url("/hello/you");
    drop(server);
    let refused = stderr(&program(&[&url]));
    assert!(refused.contains("ConnectionRefused"), "{refused}");
}

/// The timeout is a timer of Tokio, and the goroutine a task of gmp.
#[gmp::test(tokio)]
async fn a_server_that_never_answers_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let client = Client::builder().timeout(Duration::from_millis(50)).build().unwrap();
    let fetch = go!(async move { client.get(url).send().await });
    let error = fetch.await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[gmp::test(tokio)]
async fn a_server_that_goes_away_is_an_error() {
    let server = Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[]);
    let client = Client::builder().timeout(LONG).build().unwrap();
    let get = |path: &str| client.get(server.url(path)).send();
    assert_eq!(get("/hello/you").await.unwrap().text().await.unwrap(), "Hello, you!\n");
    let waits: Vec<_> = (0..5).map(|_| go!(get("/wait/60000"))).collect();
    assert_eq!(get("/hello/me").await.unwrap().text().await.unwrap(), "Hello, me!\n");
    gmp::block_in_place(|| drop(server));
    for wait in waits {
        let error = wait.await.unwrap().unwrap_err();
        assert!(!error.is_timeout(), "{error:?}");
    }
}

/// An aborted goroutine drops its request in Tokio's context, and the client works on.
#[gmp::test(tokio)]
async fn a_request_can_be_aborted() {
    let server = Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[]);
    let client = Client::new();
    for round in 0..20u64 {
        let request = client.get(server.url("/wait/60000")).send();
        let aborted = go!(request);
        gmp::sleep(Duration::from_micros(100 * round)).await;
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
    }
    let response = client.get(server.url("/hello/you")).send().await.unwrap();
    assert_eq!(response.status(), 200);
}

/// The free `block_on` of a goroutine, and a client with its own runtime on a thread of its own.
#[gmp::test(tokio)]
async fn a_goroutine_can_block_on_a_request() {
    let server = Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[]);
    let url = server.url("/hello/you");
    let text =
        go!({ gmp::block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() }) });
    assert_eq!(text.await.unwrap(), "Hello, you!\n");
}
