//! Random goroutines on one channel. Whatever they do and whichever of them are aborted, each value
//! that was sent is received once and in order.
//!
//! Each round has a seed, which is printed if the round fails. `GMP_CHAN_SEED=n` runs that round
//! alone. Senders and receivers choose another form of their operation each time. A send or receive
//! is logged in the poll that completes it, so an abort never falls between the two.

use super::support::Mutex;
use futures::{SinkExt, StreamExt};
use gmp::chan::{Receiver, Sender, TryRecvError};
use gmp::{JoinHandle, chan, go, select};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Duration of the test, and the least number of rounds.
const TIME: Duration = Duration::from_secs(2);
const ROUNDS: u64 = 10;

/// Number of forms of a send.
const SEND_FORMS: u64 = 10;

/// A small random generator for the choices of one goroutine.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Yields a few times, or not at all.
    async fn rest(&mut self) {
        for _ in 0..self.below(3) {
            gmp::yield_now().await;
        }
    }

    /// Returns a generator for another goroutine.
    fn fork(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }
}

/// The goroutines that are aborted in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aborts {
    Nobody,
    Senders,
    All,
}

/// A value: its sender, and its number among the values of that sender. All values of a round share
/// the counter.
#[derive(Debug)]
struct Value {
    from: usize,
    number: u32,
    _alive: Arc<()>,
}

/// The completed operations, in order.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<(usize, u32)>,
    /// Receiver, sender and number of the value.
    received: Vec<(usize, usize, u32)>,
}

impl Log {
    fn receive(&mut self, by: usize, value: &Value) {
        self.received.push((by, value.from, value.number));
    }
}

/// State that all goroutines of a round share.
#[derive(Clone, Debug, Default)]
struct Shared {
    log: Arc<Mutex<Log>>,
    /// Each value holds a clone.
    alive: Arc<()>,
}

impl Shared {
    fn note(&self, f: impl FnOnce(&mut Log)) {
        f(&mut self.log.lock().unwrap());
    }
}

async fn send(id: usize, count: u32, mut tx: Sender<Value>, mut random: Random, shared: Shared) {
    let (_quit, never) = chan::<()>(0);
    for number in 0..count {
        let value = || Value { from: id, number, _alive: shared.alive.clone() };
        let mut form = random.below(SEND_FORMS);
        let sent = loop {
            let sent = match form {
                0 | 1 => Some(tx.send(value()).await.is_ok()),
                2 => Some(select! { s = tx.send(value()) => s.is_ok(), _ = never.recv() => false }),
                3 => select! { s = tx.send(value()) => Some(s.is_ok()), default => None },
                4 => tx.try_send(value()).map_or_else(
                    |e| matches!(e, gmp::chan::TrySendError::Closed(_)).then_some(false),
                    |()| Some(true),
                ),
                5 => {
                    match tx.send_timeout(value(), Duration::from_micros(random.below(50))).await {
                        Ok(()) => Some(true),
                        Err(gmp::chan::SendTimeoutError::Closed(_)) => Some(false),
                        Err(gmp::chan::SendTimeoutError::Timeout(_)) => None,
                    }
                }
                6 => match tx.reserve().await {
                    Ok(permit) => {
                        random.rest().await;
                        Some(permit.send(value()).is_ok())
                    }
                    Err(_) => Some(false),
                },
                7 => match tx.clone().reserve_owned().await {
                    Ok(permit) => {
                        random.rest().await;
                        Some(permit.send(value()).is_ok())
                    }
                    Err(_) => Some(false),
                },
                8 => match tx.try_reserve() {
                    Ok(permit) => Some(permit.send(value()).is_ok()),
                    Err(error) => (error == gmp::chan::TrySendError::Closed(())).then_some(false),
                },
                _ => Some(SinkExt::send(&mut tx, value()).await.is_ok()),
            };
            match sent {
                Some(sent) => break sent,
                None => gmp::yield_now().await,
            }
            // A stream cannot serve every form, so the sender changes its form.
            form = random.below(SEND_FORMS);
        };
        if !sent {
            return;
        }
        shared.note(|log| log.sent.push((id, number)));
    }
}

async fn receive(id: usize, mut rx: Receiver<Value>, mut random: Random, shared: Shared) {
    let (_quit, never) = chan::<()>(0);
    loop {
        let got = match random.below(10) {
            7 => {
                let mut values = Vec::new();
                let max = 1 + random.below(4) as usize;
                let end = rx.recv_many(&mut values, max).await.is_err();
                shared.note(|log| values.iter().for_each(|v| log.receive(id, v)));
                if end {
                    return;
                }
                continue;
            }
            8 => {
                let mut values = Vec::new();
                let end = rx.try_recv_many(&mut values, 3) == Err(TryRecvError::Closed);
                shared.note(|log| values.iter().for_each(|v| log.receive(id, v)));
                if end {
                    return;
                }
                gmp::yield_now().await;
                continue;
            }
            9 => {
                let drained = rx.drain();
                shared.note(|log| drained.for_each(|v| log.receive(id, &v)));
                gmp::yield_now().await;
                continue;
            }
            0 | 1 => rx.recv().await.ok(),
            2 => select! { v = rx.recv() => v.ok(), _ = never.recv() => None },
            3 => select! {
                v = rx.recv() => v.ok(),
                v = rx.recv() => v.ok(),
                () = gmp::sleep(Duration::from_micros(random.below(50))) => continue,
            },
            4 => match rx.try_recv() {
                Err(TryRecvError::Empty) => {
                    gmp::yield_now().await;
                    continue;
                }
                got => got.ok(),
            },
            5 => match rx.recv_timeout(Duration::from_micros(random.below(50))).await {
                Err(gmp::chan::RecvTimeoutError::Timeout) => continue,
                got => got.ok(),
            },
            _ => rx.next().await,
        };
        match got {
            Some(v) => shared.note(|log| log.receive(id, &v)),
            None => return,
        }
    }
}

/// Aborts some of the goroutines at random times and waits for all.
async fn reap(mut goroutines: Vec<JoinHandle<()>>, aborts: u64, mut random: Random) {
    for _ in 0..aborts.min(goroutines.len() as u64) {
        for _ in 0..random.below(20) {
            gmp::yield_now().await;
        }
        let victim = random.below(goroutines.len() as u64) as usize;
        let victim = goroutines.swap_remove(victim);
        victim.abort();
        if let Err(gmp::JoinError::Panic(panic)) = victim.await {
            panic!("{panic:?}");
        }
    }
    for goroutine in goroutines {
        goroutine.await.unwrap();
    }
}

async fn round(seed: u64) {
    let mut random = Random(seed);
    let aborts = [Aborts::Nobody, Aborts::Senders, Aborts::All][random.below(3) as usize];
    let (tx, rx) = match random.below(5) {
        4 => chan::unbounded(),
        cap => chan(cap as usize),
    };
    let shared = Shared::default();
    let (senders, receivers) = (1 + random.below(5) as usize, 1 + random.below(5) as usize);
    let count = 1 + random.below(60) as u32;
    let sending: Vec<_> = (0..senders)
        .map(|id| go!(send(id, count, tx.clone(), random.fork(), shared.clone())))
        .collect();
    let receiving: Vec<_> = (0..receivers)
        .map(|id| go!(receive(id, rx.clone(), random.fork(), shared.clone())))
        .collect();
    let of_senders = if aborts == Aborts::Nobody { 0 } else { random.below(senders as u64 + 1) };
    // At least one receiver remains, or the senders would wait forever.
    let of_receivers = if aborts == Aborts::All { random.below(receivers as u64) } else { 0 };
    let reaper = go!(reap(sending, of_senders, random.fork()));
    let receivers_reaper = go!(reap(receiving, of_receivers, random.fork()));
    reaper.await.unwrap();
    let weak = tx.downgrade();
    assert!(weak.upgrade().is_some());
    drop(tx);
    assert!(weak.upgrade().is_none(), "no sender is left");
    receivers_reaper.await.unwrap();
    // Values that aborted receivers returned after the last receiver had ended.
    while let Ok(v) = rx.try_recv() {
        shared.note(|log| log.receive(usize::MAX, &v));
    }
    drop(rx);
    shared.note(|log| judge(log, aborts, senders, count));
    assert_eq!(Arc::strong_count(&shared.alive), 1, "a value was leaked");
}

fn judge(log: &Log, aborts: Aborts, senders: usize, count: u32) {
    let sent: HashSet<_> = log.sent.iter().copied().collect();
    if aborts == Aborts::Nobody {
        assert_eq!(sent.len(), senders * count as usize);
    }
    let mut received = HashSet::new();
    let mut last: HashMap<(usize, usize), u32> = HashMap::new();
    for (by, from, number) in &log.received {
        assert!(received.insert((*from, *number)), "{from}'s {number} received twice");
        // If receivers are aborted, an older value may return after a newer one was received.
        if let Some(before) = last.insert((*by, *from), *number) {
            assert!(aborts == Aborts::All || before < *number, "{from}: {number} after {before}");
        }
    }
    assert!(sent.is_subset(&received), "lost: {:?}", sent.difference(&received));
    // A send that was aborted before it was logged may have been received: the value after the last
    // logged one.
    for (from, number) in received.difference(&sent) {
        let next = log.sent.iter().filter(|(id, _)| id == from).count() as u32;
        assert!(aborts != Aborts::Nobody && *number == next, "{from}'s {number} was not sent");
    }
}

#[gmp::test(max_procs = 4)]
async fn random_operations_lose_and_double_no_value() {
    if let Ok(seed) = std::env::var("GMP_CHAN_SEED") {
        return round(seed.parse().expect("a number")).await;
    }
    struct Seed(u64);
    impl Drop for Seed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("GMP_CHAN_SEED={}", self.0);
            }
        }
    }
    let start = Instant::now();
    let first = super::support::test_seed() << 32;
    let mut rounds = 0;
    while rounds < ROUNDS || start.elapsed() < TIME {
        let seed = Seed(first + rounds);
        let limit = Duration::from_secs(60);
        gmp::timeout(limit, round(seed.0)).await.expect("the round ends");
        rounds += 1;
    }
}
