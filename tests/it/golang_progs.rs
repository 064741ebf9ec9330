//! Go's test programs made of channels: two prime sieves (`test/chan/sieve1.go`, `sieve2.go`). Own
//! code, same construction.

use gmp::sync::{Receiver, Sender};
use gmp::{chan, go, select};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The primes below a hundred.
const PRIMES: [u32; 25] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
];

/// Whether all goroutines but this one have ended, as they do when nobody listens any more.
async fn all_have_ended() {
    while gmp::num_goroutine() > 1 {
        gmp::yield_now().await;
    }
}

/// `test/chan/sieve1.go`: each prime is a goroutine that lets through what it does not divide.
#[gmp::test(procs = 2)]
async fn sieve_of_filters() {
    async fn generate(tx: Sender<u32>) {
        for n in 2.. {
            if tx.send(n).await.is_err() {
                return;
            }
        }
    }
    async fn filter(rx: Receiver<u32>, tx: Sender<u32>, prime: u32) {
        while let Ok(n) = rx.recv().await {
            if n % prime != 0 && tx.send(n).await.is_err() {
                return;
            }
        }
    }
    async fn sieve(primes: Sender<u32>) {
        let (tx, mut rx) = chan(0);
        go!(generate(tx));
        while let Ok(prime) = rx.recv().await {
            if primes.send(prime).await.is_err() {
                return;
            }
            let (tx, next) = chan(0);
            go!(filter(rx, tx, prime));
            rx = next;
        }
    }
    let (tx, primes) = chan(0);
    go!(sieve(tx));
    for prime in PRIMES {
        assert_eq!(primes.recv().await, Ok(prime));
    }
    drop(primes);
    all_have_ended().await;
}

/// `test/chan/sieve2.go`: the odd multiples of each prime are a channel; they are merged through a
/// heap into the channel of composites, and what is not in it is prime. The primes go back to the
/// merger through a queue that never blocks: a select whose send case is on while it has something.
#[gmp::test(procs = 2)]
async fn sieve_of_merged_multiples() {
    let (tx, primes) = chan(10);
    go!(merged_sieve(tx));
    for prime in PRIMES {
        assert_eq!(primes.recv().await, Ok(prime));
    }
    // Far enough for dozens of merged channels.
    let mut last = 0;
    for _ in PRIMES.len()..300 {
        last = primes.recv().await.unwrap();
    }
    assert_eq!(last, 1987, "the 300th prime");
    drop(primes);
    all_have_ended().await;
}

async fn merged_sieve(out: Sender<u32>) {
    for prime in [2, 3] {
        out.send(prime).await.unwrap();
    }
    let (composites_tx, composites) = chan(50);
    let (feedback, found) = chan(10);
    let (queue, queued) = chan(10);
    go!(never_blocking(queued, feedback));
    queue.send(3).await.unwrap();
    go!(merge(found, composites_tx));
    // What is odd and no composite, from 5 on.
    let mut candidate = 5;
    while let Ok(composite) = composites.recv().await {
        while candidate < composite {
            if out.send(candidate).await.is_err() {
                return;
            }
            queue.send(candidate).await.unwrap();
            candidate += 2;
        }
        candidate = composite + 2;
    }
}

/// Passes on what it gets, and keeps what is not wanted yet.
async fn never_blocking(rx: Receiver<u32>, tx: Sender<u32>) {
    let mut kept = VecDeque::new();
    loop {
        select! {
            got = rx.recv() => match got {
                Ok(n) => kept.push_back(n),
                Err(_) => return,
            },
            sent = tx.send(kept.pop_front().unwrap()), if !kept.is_empty() => if sent.is_err() { return },
        }
    }
}

/// The odd multiples of each prime that comes, of all of them in order, each once.
async fn merge(primes: Receiver<u32>, composites: Sender<u32>) {
    async fn multiples(prime: u32, tx: Sender<u32>) {
        for n in (prime * prime..).step_by(2 * prime as usize) {
            if tx.send(n).await.is_err() {
                return;
            }
        }
    }
    // The next multiple of each prime so far, and where the ones after it come from.
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
    let mut sources: Vec<Receiver<u32>> = Vec::new();
    let mut last = 0;
    while let Ok(prime) = primes.recv().await {
        let (tx, rx) = chan(10);
        go!(multiples(prime, tx));
        let first = rx.recv().await.unwrap();
        sources.push(rx);
        heap.push(Reverse((first, sources.len() - 1)));
        // Until the square of the next prime, which is beyond that of this one, none is missing.
        while let Some(&Reverse((n, source))) = heap.peek()
            && n <= first
        {
            if n != last && composites.send(n).await.is_err() {
                return;
            }
            last = n;
            heap.pop();
            let next = sources[source].recv().await.unwrap();
            heap.push(Reverse((next, source)));
        }
    }
}
