//! The WebSocket echo.

use crate::curl::curl;
use crate::server::Server;
use async_tungstenite::tungstenite::Message;
use async_tungstenite::tungstenite::protocol::CloseFrame;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::{WebSocketStream, client_async};
use futures::StreamExt;
use gmp::go;
use gmp::net::TcpStream;
use std::net::SocketAddr;

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_websocket"), &[])
}

async fn connect(addr: SocketAddr) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(addr).await.unwrap();
    client_async(format!("ws://{addr}/"), stream).await.unwrap().0
}

#[gmp::test]
async fn messages_of_all_kinds_are_echoed() {
    let server = start();
    let mut socket = connect(server.addr()).await;
    for message in [
        Message::text("hello"),
        Message::text(""),
        Message::text("über"),
        Message::binary(vec![0, 255]),
        Message::binary(vec![]),
        // The lengths at which the frame header changes.
        Message::binary(vec![1; 125]),
        Message::binary(vec![2; 126]),
        Message::binary(vec![3; 65_535]),
        Message::binary(vec![4; 65_536]),
        Message::text("x".repeat(8 << 20)),
    ] {
        socket.send(message.clone()).await.unwrap();
        assert!(socket.next().await.unwrap().unwrap() == message, "{} bytes", message.len());
    }
}

#[gmp::test]
async fn pings_and_closes_are_answered() {
    let server = start();
    let mut socket = connect(server.addr()).await;
    socket.send(Message::Ping("are you there?".into())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("are you there?".into()));
    let goodbye = CloseFrame { code: CloseCode::Away, reason: "home".into() };
    socket.close(Some(goodbye.clone())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::Close(Some(goodbye)));
    assert!(socket.next().await.is_none());
}

/// Sends all messages without waiting for answers, on concurrent connections.
#[gmp::test]
async fn many_connections_echo_many_messages() {
    let server = start();
    let addr = server.addr();
    let clients: Vec<_> = (0..20)
        .map(|client| {
            go!(async move {
                let (mut sender, mut receiver) = connect(addr).await.split();
                let sending = go!(async move {
                    for n in 0..500 {
                        sender.send(Message::text(format!("{client} {n}"))).await.unwrap();
                    }
                    sender
                });
                for n in 0..500 {
                    let message = receiver.next().await.unwrap().unwrap();
                    assert_eq!(message, Message::text(format!("{client} {n}")));
                }
                sending.await.unwrap().close(None).await.unwrap();
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
}

/// A client disconnects in the middle of a message.
#[gmp::test]
async fn a_client_that_leaves_ends_only_its_connection() {
    let server = start();
    let stream = connect(server.addr()).await.into_inner();
    // A masked binary frame of 100 bytes, cut off after two bytes.
    stream.write_all(&[0x82, 0x80 | 100, 1, 2, 3, 4, 5, 6]).await.unwrap();
    drop(stream);
    let mut socket = connect(server.addr()).await;
    socket.send(Message::text("still there?")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("still there?"));
}

/// The answer to the key of RFC 6455, section 1.3. A request without an upgrade gets none.
#[gmp::test]
async fn the_handshake_follows_the_rfc() {
    let server = start();
    let stream = TcpStream::connect(server.addr()).await.unwrap();
    let asked = "GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        answer.push(byte[0]);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");

    let Some(plain) = gmp::block_in_place(|| curl(&[&server.url("/")])) else { return };
    assert!(plain.code != 0 || plain.body.is_empty(), "{}", plain.log);
    connect(server.addr()).await;
}
