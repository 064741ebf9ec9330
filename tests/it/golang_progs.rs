//! Go's test programs that consist of channels: two prime sieves (`test/chan/sieve1.go`,
//! `sieve2.go`), multiplexers (`doubleselect.go`), all forms against all (`ken/chan.go`). Own code,
//! same construction.

use gmp::chan::{Receiver, Sender};
use gmp::{chan, go, select};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The primes below a hundred.
const PRIMES: [u32; 25] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
];

/// Waits until all goroutines but this one have ended, as they do when their receivers are dropped.
async fn all_have_ended() {
    while gmp::num_goroutine() > 1 {
        gmp::yield_now().await;
    }
}

/// `test/chan/sieve1.go`: each prime is a goroutine that passes on the numbers that it does not
/// divide.
#[gmp::test(max_procs = 2)]
async fn a_chain_of_filters_finds_primes() {
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

/// `test/chan/sieve2.go`: the odd multiples of each prime are a channel. A heap merges them into
/// the channel of composites. Odd numbers that are not in it are prime. The primes return to the
/// merger through a queue that never blocks: a select whose send case is on while the queue is not
/// empty.
#[gmp::test(max_procs = 2)]
async fn merged_channels_of_multiples_find_primes() {
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
    // The odd numbers from 5 on that are not composite.
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

/// Passes on what it receives, and stores what the receiver does not take yet.
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

/// Sends the odd multiples of all received primes in order, each once.
async fn merge(primes: Receiver<u32>, composites: Sender<u32>) {
    async fn multiples(prime: u32, tx: Sender<u32>) {
        for n in (prime * prime..).step_by(2 * prime as usize) {
            if tx.send(n).await.is_err() {
                return;
            }
        }
    }
    // The next multiple of each prime, and the source of its further multiples.
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
    let mut sources: Vec<Receiver<u32>> = Vec::new();
    let mut last = 0;
    while let Ok(prime) = primes.recv().await {
        let (tx, rx) = chan(10);
        go!(multiples(prime, tx));
        let first = rx.recv().await.unwrap();
        sources.push(rx);
        heap.push(Reverse((first, sources.len() - 1)));
        // No multiple is missing below the square of the next prime, which is above that of this
        // one.
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

/// `test/chan/doubleselect.go`: no select completes two of its cases.
#[gmp::test(max_procs = 2)]
async fn no_select_completes_two_cases() {
    const N: usize = 5000;
    let ends: [_; 4] = std::array::from_fn(|_| chan::<usize>(0));
    let (mixed, out) = chan(0);
    for (_, rx) in &ends {
        let (rx, mixed) = (rx.clone(), mixed.clone());
        go!({
            while let Ok(n) = rx.recv().await {
                mixed.send(n).await.unwrap();
            }
        });
    }
    drop(mixed);
    let [t0, t1, t2, t3] = ends.map(|(tx, _)| tx);
    go!({
        for n in 0..N {
            select! {
                sent = t0.send(n) => sent.unwrap(),
                sent = t1.send(n) => sent.unwrap(),
                sent = t2.send(n) => sent.unwrap(),
                sent = t3.send(n) => sent.unwrap(),
            }
        }
    });
    let mut seen = vec![false; N];
    while let Ok(n) = out.recv().await {
        assert!(!std::mem::replace(&mut seen[n], true), "{n} twice");
    }
    assert!(seen.into_iter().all(|seen| seen));
}

/// `test/ken/chan.go`: values from all forms of sending to all forms of receiving over channels of
/// all sizes. All values arrive, and those of one sender in order.
#[gmp::test(max_procs = 4)]
async fn all_forms_of_sends_meet_all_forms_of_receives() {
    const EACH: usize = 200;
    async fn send(form: usize, tx: Sender<(usize, usize)>) {
        for n in 0..EACH {
            let (_quit, never) = chan::<()>(0);
            match form {
                0 => tx.send((form, n)).await.unwrap(),
                1 => select! { s = tx.send((form, n)) => s.unwrap(), _ = never.recv() => panic!() },
                _ => loop {
                    select! {
                        s = tx.send((form, n)) => { s.unwrap(); break }
                        default => gmp::yield_now().await,
                    }
                },
            }
        }
    }
    async fn receive(form: usize, rx: Receiver<(usize, usize)>) -> usize {
        let (mut count, mut next) = (0, [0; 3]);
        loop {
            let (_quit, never) = chan::<()>(0);
            let got = match form {
                0 => rx.recv().await,
                1 => select! { v = rx.recv() => v, _ = never.recv() => panic!() },
                _ => loop {
                    select! { v = rx.recv() => break v, default => gmp::yield_now().await }
                },
            };
            let Ok((from, n)) = got else { return count };
            assert!(n >= next[from], "sender {from}: {n} after {}", next[from]);
            next[from] = n + 1;
            count += 1;
        }
    }
    for cap in [0, 1, 3, 100] {
        let (tx, rx) = chan(cap);
        let receivers: Vec<_> = (0..3).map(|form| go!(receive(form, rx.clone()))).collect();
        (0..3).for_each(|form| drop(go!(send(form, tx.clone()))));
        drop(tx);
        let mut count = 0;
        for receiver in receivers {
            count += receiver.await.unwrap();
        }
        assert_eq!(count, 3 * EACH, "cap {cap}");
    }
}

/// `test/fixedbugs/issue19182.go` has no channel. It has a goroutine that never waits next to one
/// that does. Here a select that is always ready yields.
#[gmp::test(max_procs = 1)]
async fn a_select_that_is_always_ready_yields() {
    let stop = Arc::new(AtomicBool::new(false));
    let (tx, rx) = chan(1);
    let busy = {
        let stop = stop.clone();
        go!({
            while !stop.load(Ordering::Relaxed) {
                select! { s = tx.send(1) => s.unwrap(), v = rx.recv() => assert_eq!(v, Ok(1)) }
            }
        })
    };
    gmp::sleep(Duration::from_millis(30)).await;
    stop.store(true, Ordering::Relaxed);
    busy.await.unwrap();
}
