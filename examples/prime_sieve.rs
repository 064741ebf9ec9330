//! The prime sieve: each prime has a goroutine that drops the multiples of its prime.

use gmp::chan::{Receiver, Sender};
use gmp::{chan, go};

async fn numbers(tx: Sender<u32>) {
    for n in 2.. {
        // All receivers are gone.
        if tx.send(n).await.is_err() {
            return;
        }
    }
}

async fn filter(prime: u32, from: Receiver<u32>, to: Sender<u32>) {
    while let Ok(n) = from.recv().await {
        if n % prime != 0 && to.send(n).await.is_err() {
            return;
        }
    }
}

#[gmp::main]
async fn main() {
    let (tx, mut rx) = chan(0);
    go!(numbers(tx));
    let mut primes = Vec::new();
    while primes.len() < 100 {
        let prime = rx.recv().await.unwrap();
        primes.push(prime);
        let (tx, next) = chan(0);
        go!(filter(prime, rx, tx));
        rx = next;
    }
    for line in primes.chunks(10) {
        println!("{}", line.iter().map(|p| format!("{p:4}")).collect::<String>());
    }
    assert_eq!(primes.last(), Some(&541));
    println!("by {} goroutines", gmp::num_goroutine() - 1);
}
