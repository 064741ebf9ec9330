//! Probe goroutines: each is woken at a known time and records when it runs.
//!
//! Every runtime of the run has four of them. A timer, a channel, a socket and a waker wake one
//! each. An external thread causes the last three. The watchdog reports wake-ups whose goroutine
//! has not run.

use crate::home::{Child, From, Home};
use crate::lateness::{Cause, Pending};
use crate::rand::Rand;
use crate::violation::violation;
use crate::world::{World, the_world};
use gmp::chan::{Receiver, Sender};
use gmp::net::UnixStream;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::io::Write;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Time between two wake-ups of a probe.
const PERIOD: Duration = Duration::from_millis(10);

/// The wake-ups of one runtime.
#[derive(Debug)]
struct Wakes {
    timer: Pending,
    channel: Pending,
    socket: Pending,
    thread: Pending,
    slot: Mutex<Slot>,
}

/// Where the probe of an external thread waits.
#[derive(Debug, Default)]
struct Slot {
    waker: Option<Waker>,
    woken: bool,
    ended: bool,
}

/// The probes of all runtimes.
#[derive(Debug)]
pub(crate) struct Probes(Vec<Arc<Wakes>>);

impl Probes {
    /// Creates the probes of `runtimes` runtimes; none runs yet.
    pub(crate) fn new(runtimes: usize) -> Self {
        let wakes = || Wakes {
            timer: Pending::new(Cause::Timer),
            channel: Pending::new(Cause::Channel),
            socket: Pending::new(Cause::Socket),
            thread: Pending::new(Cause::Thread),
            slot: Mutex::default(),
        };
        Self((0..runtimes).map(|_| Arc::new(wakes())).collect())
    }

    /// Reports a probe that is ready for longer than the bound.
    pub(crate) fn check(&self, world: &World) {
        for (wakes, home) in self.0.iter().zip(&world.homes) {
            for pending in [&wakes.timer, &wakes.channel, &wakes.socket, &wakes.thread] {
                pending.check(&home.name, &world.lateness);
            }
        }
    }

    fn forget(&self) {
        for wakes in &self.0 {
            for pending in [&wakes.timer, &wakes.channel, &wakes.socket, &wakes.thread] {
                pending.forget();
            }
            *wakes.slot.lock() = Slot::default();
        }
    }
}

/// Runs the probes of all runtimes on its own thread until the load is over.
pub(crate) fn run(world: &'static World) {
    world.probes.forget();
    let mut ends: Vec<Ends> =
        world.homes.iter().zip(&world.probes.0).map(|(home, wakes)| start(home, wakes)).collect();
    while !world.stopping() {
        std::thread::sleep(PERIOD);
        ends.iter_mut().for_each(Ends::wake);
    }
    for end in ends {
        end.finish();
    }
    world.probes.forget();
}

/// The external thread's handles to the probes of one runtime.
struct Ends {
    wakes: Arc<Wakes>,
    home: Home,
    values: Sender<()>,
    socket: std::os::unix::net::UnixStream,
    goroutines: Vec<Child<()>>,
}

fn start(home: &Home, wakes: &Arc<Wakes>) -> Ends {
    let (values, receiver) = gmp::chan::unbounded();
    let (socket, other) = match std::os::unix::net::UnixStream::pair() {
        Ok(pair) => pair,
        Err(error) => violation(format!("no socket pair for a probe: {error}")),
    };
    let mut rand = Rand::new(1);
    let mut goroutines = Vec::new();
    let mut spawn = |wakes: Arc<Wakes>, make: fn(Arc<Wakes>) -> Boxed| {
        goroutines.push(home.spawn(From::Elsewhere, &mut rand, make(wakes)));
    };
    spawn(wakes.clone(), |wakes| Box::pin(by_timer(wakes)));
    spawn(wakes.clone(), |wakes| Box::pin(by_thread(wakes)));
    goroutines.push(home.spawn(
        From::Elsewhere,
        &mut rand,
        Box::pin(by_channel(wakes.clone(), receiver)) as Boxed,
    ));
    let by_socket = Box::pin(by_socket(wakes.clone(), other)) as Boxed;
    goroutines.push(home.spawn(From::Elsewhere, &mut rand, by_socket));
    Ends { wakes: wakes.clone(), home: home.clone(), values, socket, goroutines }
}

type Boxed = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

impl Ends {
    /// Wakes the probes that have run since the last time.
    fn wake(&mut self) {
        if !self.wakes.channel.is_pending() {
            self.wakes.channel.wake_in(Duration::ZERO);
            if self.values.try_send(()).is_err() {
                violation("a probe's channel is closed although its receiver lives");
            }
        }
        if !self.wakes.socket.is_pending() {
            self.wakes.socket.wake_in(Duration::ZERO);
            if let Err(error) = self.socket.write_all(b"!") {
                violation(format!("a probe's socket: {error}"));
            }
        }
        if !self.wakes.thread.is_pending() {
            self.wakes.thread.wake_in(Duration::ZERO);
            self.wakes.set(|slot| slot.woken = true);
        }
    }

    fn finish(self) {
        let Self { wakes, home, values, socket, goroutines } = self;
        drop((values, socket));
        wakes.set(|slot| slot.ended = true);
        for goroutine in goroutines {
            if let Err(error) = home.handle.block_on(goroutine.join()) {
                violation(format!("a probe of runtime {} ended with {error}", home.name));
            }
        }
    }
}

impl Wakes {
    fn set(&self, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.slot.lock();
        change(&mut slot);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn ran(&self, pending: &Pending) {
        pending.ran(&the_world().lateness);
    }
}

async fn by_timer(wakes: Arc<Wakes>) {
    while !the_world().stopping() {
        let deadline = Instant::now() + PERIOD;
        wakes.timer.wake_in(PERIOD);
        gmp::sleep_until(deadline).await;
        the_world().lateness.timer("probe", deadline);
        wakes.timer.forget();
    }
}

async fn by_thread(wakes: Arc<Wakes>) {
    let wait = || {
        poll_fn(|cx| {
            let mut slot = wakes.slot.lock();
            if slot.ended {
                return Poll::Ready(false);
            }
            if std::mem::take(&mut slot.woken) {
                return Poll::Ready(true);
            }
            slot.waker = Some(cx.waker().clone());
            Poll::Pending
        })
    };
    while wait().await {
        wakes.ran(&wakes.thread);
    }
}

async fn by_channel(wakes: Arc<Wakes>, values: Receiver<()>) {
    while values.recv().await.is_ok() {
        wakes.ran(&wakes.channel);
    }
}

async fn by_socket(wakes: Arc<Wakes>, socket: std::os::unix::net::UnixStream) {
    let socket = match UnixStream::from_std(socket) {
        Ok(socket) => socket,
        Err(error) => violation(format!("from_std: {error}")),
    };
    let mut byte = [0];
    while let Ok(1) = socket.read(&mut byte).await {
        wakes.ran(&wakes.socket);
    }
}
