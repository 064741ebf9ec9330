//! Blocks all Ps unmarked at a random time of an idle runtime. A goroutine that becomes runnable
//! meanwhile has to run long before the blocks end.

use crate::Verdict;
use crate::control::Control;
use crate::options::{Kind, Race};
use crate::rand::Rand;
use gmp::JoinHandle;
use gmp::net::UnixStream;
use gmp::runtime::Handle;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Tries between two lines of progress.
const REPORT_EVERY: usize = 500;

/// Repetitions that are allowed: one in [`REPEAT_ONE_IN`] tries, and [`REPEAT_MORE`]. Chosen.
const REPEAT_ONE_IN: usize = 20;
const REPEAT_MORE: usize = 10;

/// Misses that are printed.
const PRINTED: usize = 12;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// What one try gave.
struct Try {
    waited: Duration,
    blocked: Vec<JoinHandle<()>>,
}

/// What the tries need.
struct Bench {
    handle: Handle,
    procs: usize,
    block: Duration,
    near: UnixStream,
    far: Arc<UnixStream>,
    rand: Rand,
}

/// Runs the mode.
pub(crate) fn run(options: &Race) -> Verdict {
    let builder = gmp::runtime::Builder::new().max_procs(options.procs);
    let runtime = builder.build().expect("a runtime");
    let (near, far) = runtime.block_on(async { UnixStream::pair() }).expect("a pair of sockets");
    let mut bench = Bench {
        handle: runtime.handle().clone(),
        procs: options.procs,
        block: options.block,
        near,
        far: Arc::new(far),
        rand: Rand::new(options.seed),
    };
    let control = Control::start();
    let mut tally = Tally::default();
    while tally.judged < options.blocks {
        let (waited, late) = bench.attempt(options.kind, &control);
        tally.add(options.block, waited, late);
        if tally.is_late(options.blocks) {
            break;
        }
    }
    let Tally { judged, missed, repeated, worst } = tally;
    println!(
        "{judged} blocks of {:?}, {} procs, {:?}: {missed} missed, worst wait {worst:.2?}; \
         {repeated} tries repeated because the machine was late, at most {} allowed",
        options.block,
        options.procs,
        options.kind,
        allowed(options.blocks)
    );
    tally.verdict(options.blocks)
}

/// The results of the tries.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    judged: usize,
    missed: usize,
    repeated: usize,
    worst: Duration,
}

/// Returns how many tries may be repeated in a run of `blocks`.
fn allowed(blocks: usize) -> usize {
    blocks / REPEAT_ONE_IN + REPEAT_MORE
}

impl Tally {
    /// Adds a try with blocks of the length `block`, whose goroutine waited for `waited` while a
    /// control thread was late by `late`.
    fn add(&mut self, block: Duration, waited: Duration, late: Duration) {
        // A wait that the blocks alone explain.
        let is_long = waited > block * 3 / 4;
        if is_long && late > block * 3 / 8 {
            self.repeated += 1;
            return;
        }
        self.judged += 1;
        self.missed += usize::from(is_long);
        self.worst = self.worst.max(waited);
        let Self { judged, missed, repeated, worst } = self;
        if is_long && *missed <= PRINTED {
            println!("try {judged}: waited {waited:.2?}, control {late:.2?} late");
        }
        if *judged % REPORT_EVERY == 0 {
            println!("{judged:>6} tries: {missed} missed, {repeated} repeated, worst {worst:.2?}");
        }
    }

    /// Whether more tries were repeated than a run of `blocks` allows.
    fn is_late(&self, blocks: usize) -> bool {
        self.repeated > allowed(blocks)
    }

    fn verdict(&self, blocks: usize) -> Verdict {
        match self.missed {
            0 if self.is_late(blocks) => Verdict::NotJudged,
            0 => Verdict::Kept,
            _ => Verdict::Broken,
        }
    }
}

impl Bench {
    /// Makes one try. Returns how long the other goroutine waited, and how late the control threads
    /// were meanwhile.
    fn attempt(&mut self, kind: Kind, control: &Control) -> (Duration, Duration) {
        self.idle();
        control.reset();
        let Try { waited, blocked } = match kind {
            Kind::External => self.external(),
            Kind::Queued => self.queued(),
            Kind::Timer => self.timer(),
            Kind::Socket => self.socket(),
            Kind::Woken => self.woken(),
            Kind::Nested => self.nested(),
        };
        let late = control.worst();
        for goroutine in blocked {
            gmp::block_on(goroutine).expect("nothing here panics");
        }
        (waited, late)
    }

    /// Is idle for a random time, with few events.
    fn idle(&mut self) {
        match self.rand.below(4) {
            0 => {}
            1 => thread::sleep(self.rand.micros(300)),
            2 => thread::sleep(self.rand.micros(3000)),
            _ => {
                let sleep = self.handle.spawn(gmp::sleep(self.rand.micros(500)));
                gmp::block_on(sleep).expect("nothing here panics");
                spin(self.rand.micros(400));
            }
        }
    }

    /// Blocks all Ps by `block`, unmarked.
    fn block_all(&self, block: impl Fn() + Copy + Send + 'static) -> Vec<JoinHandle<()>> {
        (0..self.procs).map(|_| self.handle.spawn(async move { block() })).collect()
    }

    fn sleeper(&self) -> impl Fn() + Copy + Send + 'static {
        let block = self.block;
        move || thread::sleep(block)
    }

    /// An external thread spawns while all Ps block.
    fn external(&mut self) -> Try {
        let started = Arc::new(AtomicUsize::new(0));
        let block = self.block;
        let blocked = (0..self.procs).map(|_| {
            let started = started.clone();
            self.handle.spawn(async move {
                started.fetch_add(1, Relaxed);
                thread::sleep(block);
            })
        });
        let blocked = blocked.collect();
        let start = Instant::now();
        while started.load(Relaxed) < self.procs && start.elapsed() < us(50_000) {
            spin_loop();
        }
        spin(self.rand.micros(2000));
        Try { waited: self.spawn_and_wait(), blocked }
    }

    /// The goroutine that blocks has spawned another one before.
    fn queued(&mut self) -> Try {
        let (block, two) = (self.block, self.rand.once_in(2));
        let (tx, rx) = mpsc::channel();
        let blocker = self.handle.spawn(async move {
            let start = Instant::now();
            gmp::spawn(async move { tx.send(start.elapsed()).expect("it is received") }).detach();
            if two {
                gmp::spawn(async {}).detach();
            }
            thread::sleep(block);
        });
        Try { waited: rx.recv().expect("it is sent"), blocked: vec![blocker] }
    }

    /// A timer is due while all Ps block.
    fn timer(&mut self) -> Try {
        let sleeper = self.handle.spawn(async {
            let due = Instant::now() + us(3000);
            gmp::sleep_until(due).await;
            due.elapsed()
        });
        thread::sleep(self.rand.micros(2500));
        let blocked = self.block_all(self.sleeper());
        Try { waited: gmp::block_on(sleeper).expect("nothing here panics"), blocked }
    }

    /// A socket becomes readable while all Ps block.
    fn socket(&mut self) -> Try {
        let far = self.far.clone();
        let reader = self.handle.spawn(async move {
            far.read_exact(&mut [0; 8]).await.expect("the other end is open");
            Instant::now()
        });
        thread::sleep(self.rand.micros(1500));
        let blocked = self.block_all(self.sleeper());
        thread::sleep(self.rand.micros(1500));
        let start = Instant::now();
        assert_eq!(self.near.try_write(&[1; 8]).expect("the buffer has room"), 8);
        let end = gmp::block_on(reader).expect("nothing here panics");
        Try { waited: end.saturating_duration_since(start), blocked }
    }

    /// A goroutine that has blocked before wakes another one and blocks again.
    fn woken(&mut self) -> Try {
        let block = self.block;
        let (wake, woken) = gmp::chan::<()>(0);
        let waiter = self.handle.spawn(async move {
            woken.recv().await.ok();
            Instant::now()
        });
        thread::sleep(self.rand.micros(600));
        let (tx, rx) = mpsc::channel();
        let blocker = self.handle.spawn(async move {
            thread::sleep(us(2000));
            tx.send(Instant::now()).expect("the receiver waits");
            wake.try_send(()).ok();
            thread::sleep(block);
        });
        let start = rx.recv().expect("it is sent");
        let end = gmp::block_on(waiter).expect("nothing here panics");
        Try { waited: end.saturating_duration_since(start), blocked: vec![blocker] }
    }

    /// An external thread spawns while all Ps are in a nested `block_on`.
    fn nested(&mut self) -> Try {
        let block = self.block;
        let blocked = self.block_all(move || gmp::block_on(gmp::sleep(block)));
        thread::sleep(self.rand.micros(800));
        Try { waited: self.spawn_and_wait(), blocked }
    }

    fn spawn_and_wait(&self) -> Duration {
        let start = Instant::now();
        gmp::block_on(self.handle.spawn(async {})).expect("nothing here panics");
        start.elapsed()
    }
}

/// Computes for `time`.
fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Duration = Duration::from_millis(20);

    #[test]
    fn a_long_wait_on_a_machine_in_time_breaks_the_promise() {
        let mut tally = Tally::default();
        tally.add(BLOCK, BLOCK / 8, BLOCK);
        assert_eq!((tally.judged, tally.verdict(100)), (1, Verdict::Kept));
        tally.add(BLOCK, BLOCK, Duration::ZERO);
        assert_eq!((tally.judged, tally.verdict(100)), (2, Verdict::Broken));
    }

    #[test]
    fn too_many_repeated_tries_are_not_judged() {
        let mut tally = Tally::default();
        for _ in 0..allowed(100) {
            tally.add(BLOCK, BLOCK, BLOCK);
        }
        assert_eq!((tally.judged, tally.verdict(100)), (0, Verdict::Kept));
        tally.add(BLOCK, BLOCK, BLOCK);
        assert_eq!((tally.is_late(100), tally.verdict(100)), (true, Verdict::NotJudged));
        tally.add(BLOCK, BLOCK, Duration::ZERO);
        assert_eq!(tally.verdict(100), Verdict::Broken);
    }
}
