//! The loads: goroutines that run without end beside a source.

use super::face::Face;
use super::names::Load;
use super::random::Random;
use crate::link::Link;
use crate::mixed;
use crate::workload::Countdown;
use rustix::time::ClockId;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The clock that measures polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// CPU time of the thread. The OS may run something else meanwhile.
    Cpu,
    /// Wall time, for polls that block.
    Wall,
}

impl Clock {
    fn nanos(self) -> u64 {
        let time = rustix::time::clock_gettime(match self {
            Self::Cpu => ClockId::ThreadCPUTime,
            Self::Wall => ClockId::Monotonic,
        });
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// Spawns the goroutines of a load. With a meter it measures their longest poll, which costs two
/// reads of the clock for each poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spawner {
    meter: Option<Meter>,
}

#[derive(Clone, Debug)]
struct Meter {
    clock: Clock,
    /// The longest poll in ns.
    longest: Arc<AtomicU64>,
}

impl Spawner {
    /// A spawner that measures the polls of this load.
    pub(crate) fn with_meter(load: Load) -> Self {
        let clock = if load == Load::Blockers { Clock::Wall } else { Clock::Cpu };
        Self { meter: Some(Meter { clock, longest: Arc::default() }) }
    }

    /// The longest poll in ns.
    pub(crate) fn longest(&self) -> u64 {
        self.meter.as_ref().map_or(0, |meter| meter.longest.load(Ordering::Relaxed))
    }

    fn go<C: Face>(&self, future: impl Future<Output = ()> + Send + 'static) {
        match self.meter.clone() {
            Some(meter) => C::go(Timed { future: Box::pin(future), meter }),
            None => C::go(future),
        }
    }
}

/// A future whose polls are measured.
struct Timed<F> {
    future: Pin<Box<F>>,
    meter: Meter,
}

impl<F: Future> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let clock = self.meter.clock;
        let start = clock.nanos();
        let poll = self.future.as_mut().poll(cx);
        self.meter.longest.fetch_max(clock.nanos() - start, Ordering::Relaxed);
        poll
    }
}

/// Starts a load.
pub(crate) async fn start<C: Face>(load: Load, spawner: &Spawner) {
    let micros = Duration::from_micros;
    match load {
        Load::None => {}
        Load::ComputeFew => polls::<C>(spawner, 4, compute, micros(50)),
        Load::ComputeMany => polls::<C>(spawner, 100, compute, micros(50)),
        Load::ComputeLong => polls::<C>(spawner, 4, compute, micros(1_000)),
        Load::Checkpoint => checkpoints::<C>(spawner),
        Load::PairsFew => pairs::<C>(spawner, 4),
        Load::PairsMany => pairs::<C>(spawner, 100),
        Load::Mutex => mutex::<C>(spawner),
        Load::SpawnJoin => spawn_join::<C>(spawner),
        Load::FanOut => fan_out::<C>(spawner),
        Load::Echo => echo::<C>(spawner).await,
        Load::Hogs => polls::<C>(spawner, 2, compute, micros(5_000)),
        Load::Blockers => polls::<C>(spawner, 4, std::thread::sleep, micros(5_000)),
    }
}

/// Computes for a span of wall time.
fn compute(span: Duration) {
    let start = Instant::now();
    while start.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// `count` goroutines call `work` for about `span`, then yield.
fn polls<C: Face>(spawner: &Spawner, count: u64, work: fn(Duration), span: Duration) {
    for n in 0..count {
        spawner.go::<C>(async move {
            let mut random = Random::new(n);
            loop {
                work(random.about(span));
                C::yield_now().await;
            }
        });
    }
}

/// 100 goroutines with 20 ms of work, in steps of 50 µs with a checkpoint after each.
fn checkpoints<C: Face>(spawner: &Spawner) {
    for n in 0..100 {
        spawner.go::<C>(async move {
            let mut random = Random::new(n);
            loop {
                for _ in 0..400 {
                    compute(random.about(Duration::from_micros(50)));
                    C::checkpoint().await;
                }
                C::yield_now().await;
            }
        });
    }
}

/// Pairs that pass a value back and forth over two channels with room for one.
fn pairs<C: Face>(spawner: &Spawner, count: usize) {
    for _ in 0..count {
        let (ping, mut pinged) = C::Single::new(1);
        let (pong, mut ponged) = C::Single::new(1);
        spawner.go::<C>(async move {
            while let Some(n) = C::Single::recv(&mut pinged).await {
                C::Single::send(&pong, n + 1).await;
            }
        });
        spawner.go::<C>(async move {
            let mut n = 0;
            loop {
                C::Single::send(&ping, n).await;
                n = C::Single::recv(&mut ponged).await.expect("the other one runs");
            }
        });
    }
}

/// 8 goroutines that lock one mutex again and again.
fn mutex<C: Face>(spawner: &Spawner) {
    let mutex = Arc::new(C::Mutex::default());
    for _ in 0..8 {
        let mutex = mutex.clone();
        spawner.go::<C>(async move {
            loop {
                C::bump(&mutex).await;
            }
        });
    }
}

/// 4 goroutines that spawn one and join it, again and again.
fn spawn_join<C: Face>(spawner: &Spawner) {
    for _ in 0..4 {
        spawner.go::<C>(async {
            loop {
                C::spawn(async {}).await;
            }
        });
    }
}

/// A goroutine that spawns 1,000 and waits for all, again and again.
fn fan_out<C: Face>(spawner: &Spawner) {
    spawner.go::<C>(async {
        loop {
            let (countdown, done) = Countdown::new(1_000);
            for _ in 0..1_000 {
                let countdown = countdown.clone();
                C::go(async move { countdown.count() });
            }
            done.await.expect("all goroutines count");
        }
    });
}

/// An echo server and 32 clients in this process, which send 64 bytes and wait for them.
async fn echo<C: Face>(spawner: &Spawner) {
    let (listener, addr) = C::listen().await;
    let server = spawner.clone();
    spawner.go::<C>(async move {
        loop {
            let stream = C::accept(&listener).await;
            server.go::<C>(mixed::echo::<C>(stream));
        }
    });
    for _ in 0..32 {
        spawner.go::<C>(async move { ask::<C>(C::connect(addr).await).await });
    }
}

/// A client of the echo server.
async fn ask<C: Face>(mut stream: C::Stream) {
    let (ping, mut pong) = ([7; 64], [0; 64]);
    loop {
        C::write_all(&mut stream, &ping).await.expect("send to the server");
        let mut got = 0;
        while got < pong.len() {
            let n = C::read(&mut stream, &mut pong[got..]).await.expect("an answer");
            assert!(n > 0, "the server hung up");
            got += n;
        }
        assert_eq!(pong, ping);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest poll of a future that blocks 2 ms, by the meter of this load.
    fn longest(load: Load) -> Duration {
        let spawner = Spawner::with_meter(load);
        let meter = spawner.meter.clone().unwrap();
        let future = Box::pin(async { std::thread::sleep(Duration::from_millis(2)) });
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut Timed { future, meter }).poll(&mut cx).is_ready());
        Duration::from_nanos(spawner.longest())
    }

    #[test]
    fn the_longest_poll_is_wall_time_for_blockers_and_cpu_time_for_others() {
        assert!(longest(Load::Blockers) >= Duration::from_millis(2));
        let cpu = longest(Load::FanOut);
        assert!(cpu > Duration::ZERO && cpu < Duration::from_millis(2), "{cpu:?}");
        assert_eq!(Spawner::default().longest(), 0);
    }
}
