//! tonic's own transport, with handlers that start goroutines.

use crate::server::Server;
use crate::{stderr, stdout};
use gmp::go;
use std::process::{Command, Output};

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_tonic"), &[])
}

fn ask(url: &str, name: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tonic")).args([url, name]).output().unwrap()
}

#[test]
fn its_own_client_gets_replies_and_statuses() {
    let server = start();
    let url = server.url("");
    assert_eq!(stdout(&ask(&url, "you")), "Hello, you!\n");
    let refused = stderr(&ask(&url, ""));
    assert!(
        refused.contains("InvalidArgument") && refused.contains("the name is empty"),
        "{refused}"
    );
}

#[gmp::test(tokio)]
async fn many_clients_are_served_at_a_time() {
    let server = start();
    let clients = (0..8).map(|n| {
        let url = server.url("");
        go!({ (n, stdout(&ask(&url, &n.to_string()))) })
    });
    for client in clients.collect::<Vec<_>>() {
        let (n, reply) = client.await.unwrap();
        assert_eq!(reply, format!("Hello, {n}!\n"));
    }
}

#[test]
fn a_client_without_a_server_gets_an_error() {
    let server = start();
    let url = server.url("");
    drop(server);
    let refused = stderr(&ask(&url, "you"));
    assert!(refused.contains("ConnectionRefused"), "{refused}");
}
