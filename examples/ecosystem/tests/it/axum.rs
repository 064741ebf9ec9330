//! The axum example.

use crate::client::{self, request, send, text};
use crate::curl::curl;
use crate::server::Server;
use gmp::go;
use std::collections::HashSet;

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_axum"), &[])
}

fn note(text: &str) -> hyper::Request<http_body_util::Full<hyper::body::Bytes>> {
    let mut asked = request("POST", "/notes", serde_json::json!({ "text": text }).to_string());
    asked.headers_mut().insert("content-type", "application/json".parse().unwrap());
    asked
}

#[gmp::test]
async fn paths_state_and_json_work() {
    let server = start();
    let mut sender = client::http1(server.addr()).await;
    let response = send(&mut sender, request("GET", "/hello/a%20b", "")).await;
    assert_eq!(text(response).await, (200.try_into().unwrap(), "Hello, a b!\n".to_owned()));

    let response = send(&mut sender, note("milk")).await;
    assert_eq!(response.status(), 201);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    text(response).await;
    let response = send(&mut sender, request("GET", &location, "")).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let json: serde_json::Value = serde_json::from_str(&text(response).await.1).unwrap();
    assert_eq!(json, serde_json::json!({ "text": "milk" }));
}

#[gmp::test]
async fn invalid_requests_get_their_4xx_status() {
    let server = start();
    let mut sender = client::http1(server.addr()).await;
    let mut broken = note("");
    *broken.body_mut() = "{".into();
    let mut other = note("");
    *other.body_mut() = r#"{"txt": 1}"#.into();
    for (asked, status) in [
        (request("GET", "/nowhere", ""), 404),
        (request("GET", "/notes/0", ""), 404),
        (request("GET", "/notes/1", ""), 404),
        (request("GET", "/notes/one", ""), 400),
        (request("GET", "/notes", ""), 405),
        (request("POST", "/notes", "{}"), 415),
        (broken, 400),
        (other, 422),
    ] {
        let uri = asked.uri().clone();
        let response = send(&mut sender, asked).await;
        let (got, why) = text(response).await;
        assert_eq!(got, status, "{uri}: {why}");
    }
}

/// The time limit works on gmp's timers, and a waiting handler does not delay other requests.
#[gmp::test]
async fn a_handler_that_takes_too_long_is_ended() {
    let server = start();
    let addr = server.addr();
    let slow = go!(async move {
        let mut sender = client::http1(addr).await;
        let response = send(&mut sender, request("GET", "/forever", "")).await;
        let late = text(response).await;
        let response = send(&mut sender, request("GET", "/hello/you", "")).await;
        (late, text(response).await)
    });
    let mut sender = client::http2(addr).await;
    let asked = hyper::Request::get(server.url("/hello/me")).body("".into()).unwrap();
    assert_eq!(text(sender.send_request(asked).await.unwrap()).await.1, "Hello, me!\n");
    let (late, after) = slow.await.unwrap();
    assert_eq!(late, (504.try_into().unwrap(), "it took too long\n".to_owned()));
    assert_eq!(after.1, "Hello, you!\n");
}

#[gmp::test]
async fn state_is_shared_by_connections() {
    let server = start();
    let addr = server.addr();
    let clients: Vec<_> = (0..20)
        .map(|n| {
            go!(async move {
                let mut sender = client::http1(addr).await;
                let mut places = Vec::new();
                for round in 0..10 {
                    let response = send(&mut sender, note(&format!("{n} {round}"))).await;
                    places.push(response.headers()["location"].to_str().unwrap().to_owned());
                    text(response).await;
                }
                places
            })
        })
        .collect();
    let mut places = HashSet::new();
    for client in clients {
        places.extend(client.await.unwrap());
    }
    let all: HashSet<_> = (1..=200).map(|n| format!("/notes/{n}")).collect();
    assert_eq!(places, all);
}

#[test]
fn curl_reads_what_it_wrote() {
    let server = start();
    let (notes, first) = (server.url("/notes"), server.url("/notes/1"));
    let json = ["-H", "content-type: application/json", "--data", r#"{"text":"eggs"}"#, &notes];
    let Some(answer) = curl(&json) else { return };
    assert!(answer.received("HTTP/1.1 201 Created"), "{}", answer.log);
    assert_eq!(curl(&[&first]).unwrap().text(), r#"{"text":"eggs"}"#);
    assert_eq!(curl(&["--http2-prior-knowledge", &first]).unwrap().text(), r#"{"text":"eggs"}"#);
}
