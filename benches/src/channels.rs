//! The workloads over channels.

use crate::contestant::{Contestant, Gmp, Smol, Tokio};
use crate::link::{AsyncChannel, Flume, GmpChan, Kanal, Link, Shared, TokioMpsc};
use crate::selects::Select;
use crate::workload::per_op;

/// The channels that a contestant uses.
pub(crate) trait Channels: Contestant {
    /// Several senders, one receiver.
    type Single: Select;
    /// Several senders, several receivers.
    type Many: Shared;
    /// Without a buffer.
    type Zero: Shared;
}

impl Channels for Gmp {
    type Single = GmpChan;
    type Many = GmpChan;
    type Zero = GmpChan;
}

impl Channels for Tokio {
    type Single = TokioMpsc;
    type Many = AsyncChannel;
    type Zero = Kanal;
}

impl Channels for Smol {
    type Single = AsyncChannel;
    type Many = AsyncChannel;
    type Zero = Flume;
}

/// Runs a workload over channels and returns its figure.
pub(crate) fn run<C: Channels>(name: &str) -> Option<f64> {
    Some(match name {
        "pairs" => C::run(per_op(1_000, pairs::<C>)),
        "ping_pong" => C::run(per_op(2_000, ping_pong::<C>)),
        "fan_in" => C::run(per_op(40_000, fan::<C, C::Single>)),
        "many" => C::run(per_op(40_000, mesh::<C, C::Many>)),
        "rendezvous" => C::run(per_op(40_000, rendezvous::<C>)),
        "workers" => C::run(per_op(10_000, workers::<C>)),
        "pipeline" => C::run(per_op(10_000, pipeline::<C>)),
        "select" => C::run(per_op(20_000, selects::<C>)),
        _ => return None,
    })
}

/// Spawns 1000 pairs that each exchange a ping and a pong.
async fn pairs<C: Channels>() {
    let (done, mut all_done) = C::Single::new(1_000);
    for n in 0..1_000u64 {
        let done = done.clone();
        C::go(async move {
            let (ping, mut pinged) = C::Single::new(1);
            let (pong, mut ponged) = C::Single::new(1);
            C::go(async move {
                let n = C::Single::recv(&mut pinged).await.unwrap();
                C::Single::send(&pong, n + 1).await;
            });
            C::Single::send(&ping, n).await;
            let n = C::Single::recv(&mut ponged).await.unwrap();
            C::Single::send(&done, n).await;
        });
    }
    let mut sum = 0;
    for _ in 0..1_000 {
        sum += C::Single::recv(&mut all_done).await.unwrap();
    }
    assert_eq!(sum, 500 * 1_001);
}

/// A value passes back and forth over two channels with room for one, 1000 times.
async fn ping_pong<C: Channels>() {
    let (ping, mut pinged) = C::Single::new(1);
    let (pong, mut ponged) = C::Single::new(1);
    let other = C::spawn(async move {
        while let Some(n) = C::Single::recv(&mut pinged).await {
            C::Single::send(&pong, n + 1).await;
        }
    });
    for n in 0..1_000 {
        C::Single::send(&ping, n).await;
        assert_eq!(C::Single::recv(&mut ponged).await, Some(n + 1));
    }
    drop(ping);
    other.await;
}

/// Sends its share of the 40,000 values.
async fn produce<L: Link>(tx: L::Tx) {
    for n in 0..10_000 {
        L::send(&tx, n).await;
    }
}

async fn consume<L: Link>(mut rx: L::Rx) -> (u64, u64) {
    let (mut count, mut sum) = (0, 0);
    while let Some(n) = L::recv(&mut rx).await {
        count += 1;
        sum += n;
    }
    (count, sum)
}

const SUM: u64 = 4 * (9_999 * 5_000);

/// Four senders, one receiver, room for 128.
async fn fan<C: Channels, L: Link>() {
    let (tx, rx) = L::new(128);
    for _ in 0..4 {
        C::go(produce::<L>(tx.clone()));
    }
    drop(tx);
    assert_eq!(consume::<L>(rx).await, (40_000, SUM));
}

/// Four senders, four receivers.
async fn four_to_four<C: Channels, L: Shared>(cap: usize) {
    let (tx, rx) = L::new(cap);
    let receivers: Vec<_> = (0..4).map(|_| C::spawn(consume::<L>(L::share(&rx)))).collect();
    drop(rx);
    for _ in 0..4 {
        C::go(produce::<L>(tx.clone()));
    }
    drop(tx);
    let (mut count, mut sum) = (0, 0);
    for receiver in receivers {
        let (n, part) = receiver.await;
        count += n;
        sum += part;
    }
    assert_eq!((count, sum), (40_000, SUM));
}

/// `four_to_four` with room for 128.
async fn mesh<C: Channels, L: Shared>() {
    four_to_four::<C, L>(128).await;
}

/// `four_to_four` without a buffer.
async fn rendezvous<C: Channels>() {
    four_to_four::<C, C::Zero>(0).await;
}

/// Two senders, each on its own channel; one receiver that selects.
async fn selects<C: Channels>() {
    let (tx1, mut rx1) = C::Single::new(16);
    let (tx2, mut rx2) = C::Single::new(16);
    let senders = [tx1, tx2].map(|tx| {
        C::spawn(async move {
            for n in 0..10_000 {
                C::Single::send(&tx, n).await;
            }
            tx
        })
    });
    let mut sum = 0;
    for _ in 0..20_000 {
        sum += C::Single::either(&mut rx1, &mut rx2).await.unwrap();
    }
    assert_eq!(sum, 9_999 * 10_000);
    for sender in senders {
        drop(sender.await);
    }
}

/// Eight workers take 10,000 jobs from one channel and put the results into another.
async fn workers<C: Channels>() {
    let (jobs, work) = C::Many::new(64);
    let (results, mut done) = C::Single::new(64);
    for _ in 0..8 {
        let (mut work, results) = (C::Many::share(&work), results.clone());
        C::go(async move {
            while let Some(n) = C::Many::recv(&mut work).await {
                C::Single::send(&results, n * 2).await;
            }
        });
    }
    drop((work, results));
    C::go(async move {
        for n in 0..10_000 {
            C::Many::send(&jobs, n).await;
        }
    });
    let mut sum = 0;
    while let Some(n) = C::Single::recv(&mut done).await {
        sum += n;
    }
    assert_eq!(sum, 9_999 * 10_000);
}

/// A thousand values go through ten stages.
async fn pipeline<C: Channels>() {
    let (first, mut stage) = C::Single::new(16);
    for _ in 0..10 {
        let (next, after) = C::Single::new(16);
        let mut before = std::mem::replace(&mut stage, after);
        C::go(async move {
            while let Some(n) = C::Single::recv(&mut before).await {
                C::Single::send(&next, n + 1).await;
            }
        });
    }
    C::go(async move {
        for n in 0..1_000 {
            C::Single::send(&first, n).await;
        }
    });
    let mut sum = 0;
    while let Some(n) = C::Single::recv(&mut stage).await {
        sum += n;
    }
    assert_eq!(sum, 999 * 500 + 10 * 1_000);
}
