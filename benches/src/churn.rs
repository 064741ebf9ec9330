//! Short connections: connect, one byte in each direction, close.

use crate::contestant::Contestant;
use crate::workload::{Countdown, per_op};
use std::net::SocketAddr;
use std::time::Duration;

/// Concurrent clients.
const CLIENTS: usize = 32;
/// Connections that each client makes in a round.
const CONNECTIONS: usize = 20;

/// Runs the workload and returns nanoseconds per connection.
pub(crate) fn run<C: Contestant>(name: &str) -> Option<f64> {
    (name == "churn").then(|| C::run(churn::<C>()))
}

/// Starts the server, then measures rounds of connections to it.
async fn churn<C: Contestant>() -> f64 {
    let (listener, addr) = C::listen().await;
    C::go(async move {
        loop {
            C::go(answer::<C>(C::accept(&listener).await));
        }
    });
    let ops = u32::try_from(CLIENTS * CONNECTIONS).expect("a small product");
    per_op(ops, move || round::<C>(addr)).await
}

/// Sends one byte back and closes the connection.
async fn answer<C: Contestant>(mut stream: C::Stream) {
    let mut byte = [0];
    let n = C::read(&mut stream, &mut byte).await.expect("a byte from the client");
    assert_eq!(n, 1, "the client closed before its byte");
    C::write_all(&mut stream, &byte).await.expect("send the byte back");
}

/// Runs all clients once.
async fn round<C: Contestant>(addr: SocketAddr) {
    let (countdown, done) = Countdown::new(CLIENTS);
    for _ in 0..CLIENTS {
        let countdown = countdown.clone();
        C::go(async move {
            for _ in 0..CONNECTIONS {
                ask::<C>(addr).await;
            }
            countdown.count();
        });
    }
    done.await.expect("the clients count to the end");
}

/// Makes one connection.
async fn ask<C: Contestant>(addr: SocketAddr) {
    let mut stream = C::connect(addr).await;
    // A reset instead of an orderly close, which would use up the ports of the machine in a second.
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("set SO_LINGER");
    C::write_all(&mut stream, b"x").await.expect("send a byte");
    let mut byte = [0];
    assert_eq!(C::read(&mut stream, &mut byte).await.expect("an answer"), 1);
    assert_eq!(byte, *b"x");
}
