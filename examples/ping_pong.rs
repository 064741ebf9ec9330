//! Two goroutines pass a ball back and forth over unbuffered channels.

use gmp::chan::{Receiver, Sender};
use gmp::{chan, go};
use std::time::Instant;

const ROUNDS: u32 = 100_000;

async fn player(name: &'static str, from: Receiver<u32>, to: Sender<u32>) -> u32 {
    let mut hits = 0;
    while let Ok(ball) = from.recv().await {
        hits += 1;
        if ball < 4 {
            println!("{name} {ball}");
        }
        // The send fails if the other player has stopped.
        if ball == ROUNDS || to.send(ball + 1).await.is_err() {
            break;
        }
    }
    hits
}

#[gmp::main]
async fn main() {
    let (to_ping, ping) = chan(0);
    let (to_pong, pong) = chan(0);
    let start = Instant::now();
    let pong = go!(player("    pong", pong, to_ping.clone()));
    let ping = go!(player("ping", ping, to_pong));
    to_ping.send(1).await.unwrap();
    drop(to_ping);
    let hits = ping.await.unwrap() + pong.await.unwrap();
    assert_eq!(hits, ROUNDS);
    let each = start.elapsed() / ROUNDS;
    println!("… and so on, {hits} times, {each:?} each");
}
