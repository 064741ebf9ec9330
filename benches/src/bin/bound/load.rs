//! Goroutines that occupy the Ps.

use crate::clocks::{compute, counted};
use crate::rand::Rand;
use gmp::runtime::Handle;
use gmp::{JoinHandle, WaitGroup};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A time slice: how long a chain of goroutines that wake each other may keep a P.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// More than the longest poll of goroutines that only use channels and locks.
const SHORT: Duration = Duration::from_micros(5);

/// A number of goroutines that repeat something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// They compute and yield.
    Yield { n: u32, cpu: Duration },
    /// They compute between checkpoints.
    Checkpoint { n: u32, cpu: Duration },
    /// Pairs send a value there and back.
    Pairs { n: u32 },
    /// All goroutines lock one mutex.
    Mutex { n: u32 },
    /// They spawn a goroutine and join it.
    SpawnJoin { n: u32 },
    /// They spawn many goroutines and wait for all.
    FanOut { n: u32 },
    /// They use a channel that is always ready, so their polls end with their slice.
    Ready { n: u32 },
}

/// Goroutines of one [`Load::FanOut`].
const FAN: u32 = 200;

impl Load {
    /// Draws one to three loads.
    pub(crate) fn draw_some(rand: &mut Rand) -> Vec<Self> {
        let n = *rand.pick(&[1, 1, 2, 3]);
        (0..n).map(|_| Self::draw(rand)).collect()
    }

    fn draw(rand: &mut Rand) -> Self {
        let cpu = Duration::from_micros(*rand.pick(&[0, 2, 10, 20, 50, 200]));
        match rand.below(8) {
            0 | 1 => Self::Yield { n: *rand.pick(&[1, 4, 20, 100]), cpu },
            2 => Self::Checkpoint { n: *rand.pick(&[1, 4, 20]), cpu },
            3 => Self::Pairs { n: *rand.pick(&[1, 4, 50]) },
            4 => Self::Mutex { n: 8 },
            5 => Self::SpawnJoin { n: *rand.pick(&[1, 4, 20]) },
            6 => Self::FanOut { n: *rand.pick(&[1, 3]) },
            _ => Self::Ready { n: *rand.pick(&[1, 4]) },
        }
    }

    /// Returns the longest time of a P without an operation of gmp's own futures.
    pub(crate) fn longest_poll(self) -> Duration {
        match self {
            Self::Yield { cpu, .. } | Self::Checkpoint { cpu, .. } => cpu + SHORT,
            // A poll that spawns all.
            Self::FanOut { .. } => SHORT * FAN,
            Self::Pairs { .. } | Self::Mutex { .. } | Self::SpawnJoin { .. } => SHORT,
            Self::Ready { .. } => SHORT,
        }
    }

    /// Returns the time that the queued goroutines of this load may take before another one runs:
    /// one slice each.
    pub(crate) fn queue(self) -> Duration {
        match self {
            Self::Yield { n, cpu } => (cpu + SHORT) * n,
            Self::Pairs { n } => SLICE * (2 * n),
            Self::FanOut { n } => SLICE * n + SHORT * (n * FAN),
            Self::Checkpoint { n, .. }
            | Self::Mutex { n }
            | Self::SpawnJoin { n }
            | Self::Ready { n } => SLICE * n,
        }
    }

    /// Starts the goroutines. They end after `stop` is set.
    pub(crate) fn spawn(self, handle: &Handle, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
        match self {
            Self::Yield { n, cpu } => each(n, handle, stop, move |stop| async move {
                while !stop.load(Relaxed) {
                    compute(cpu);
                    gmp::yield_now().await;
                }
            }),
            Self::Checkpoint { n, cpu } => each(n, handle, stop, move |stop| async move {
                while !stop.load(Relaxed) {
                    compute(cpu);
                    gmp::checkpoint().await;
                }
            }),
            Self::Pairs { n } => pairs(n, handle, stop),
            Self::Mutex { n } => {
                let mutex = Arc::new(gmp::sync::Mutex::new(0_u64));
                each(n, handle, stop, |stop| {
                    let mutex = mutex.clone();
                    async move {
                        while !stop.load(Relaxed) {
                            *mutex.lock().await += 1;
                        }
                    }
                })
            }
            Self::SpawnJoin { n } => each(n, handle, stop, |stop| async move {
                while !stop.load(Relaxed) {
                    let _ = gmp::spawn(counted(async {})).await;
                }
            }),
            Self::FanOut { n } => each(n, handle, stop, |stop| async move {
                while !stop.load(Relaxed) {
                    fan_out().await;
                }
            }),
            Self::Ready { n } => each(n, handle, stop, |stop| async move {
                let (tx, rx) = gmp::chan(1);
                while !stop.load(Relaxed) {
                    let _ = tx.send(()).await;
                    let _ = rx.recv().await;
                }
            }),
        }
    }
}

/// Spawns `n` goroutines that run `body`.
fn each<F: Future<Output = ()> + Send + 'static>(
    n: u32,
    handle: &Handle,
    stop: &Arc<AtomicBool>,
    body: impl Fn(Arc<AtomicBool>) -> F,
) -> Vec<JoinHandle<()>> {
    (0..n).map(|_| handle.spawn(counted(body(stop.clone())))).collect()
}

async fn fan_out() {
    let wg = WaitGroup::new();
    for _ in 0..FAN {
        let guard = wg.clone();
        guard.add(1);
        gmp::spawn(counted(async move { guard.done() })).detach();
    }
    wg.wait().await;
}

fn pairs(n: u32, handle: &Handle, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<()>> {
    let pair = |_| {
        let ((ping, pinged), (pong, ponged)) = (gmp::chan(1), gmp::chan(1));
        let stop = stop.clone();
        let asks = async move {
            while !stop.load(Relaxed) {
                let _ = ping.send(()).await;
                let _ = ponged.recv().await;
            }
        };
        let answers = async move {
            while pinged.recv().await.is_ok() {
                let _ = pong.send(()).await;
            }
        };
        [handle.spawn(counted(asks)), handle.spawn(counted(answers))]
    };
    (0..n).flat_map(pair).collect()
}
