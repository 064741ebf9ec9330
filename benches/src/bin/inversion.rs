//! Waits for something that threads without a P use as well: a channel, a std mutex, malloc.
//!
//! `cargo run --release -p gmp-bench --bin inversion` runs goroutines that compute and use it in
//! turn, without an await. They lose their P, and at most `max_procs` of their threads run at a
//! time. The others are paused, perhaps while they hold the lock of what they use. Two further
//! goroutines compute and yield, so the CPUs are never idle. One goroutine uses the same thing
//! every 200 µs and measures how long that takes.
//!
//! The lateness of a control thread in the same time is not counted: the machine caused it.

use gmp::chan::{Receiver, Sender};
use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const HELP: &str = "\
inversion: waits for what threads without a P use as well

usage: inversion [--op NAME] [--hogs N] [--pause on|off] [--seconds N]

  --op NAME     chan, mutex or malloc (default: each in turn)
  --hogs N      goroutines that compute and use it, without an await (default: 10, then 50)
  --pause P     whether their threads are paused: on or off (default: on)
  --seconds N   time of each measurement (default: 8)

Exit status: 0 no wait was longer than 0.3 s, 1 one was, 2 bad arguments.";

/// The longest wait that is allowed.
const LIMIT: Duration = Duration::from_millis(300);

/// Between two uses by the goroutine that is measured.
const GAP: Duration = Duration::from_micros(200);

/// The time that a wait may go on after the end of a measurement.
const GRACE: Duration = Duration::from_secs(60);

/// The sleep of the control thread.
const TICK: Duration = Duration::from_millis(1);

/// `spin_loop` hints of a hog between two uses: few, so that many pauses hit it inside of one.
const HOG_SPINS: u32 = 100;

/// Time that the other goroutines compute before they yield.
const POLL: Duration = Duration::from_micros(50);

/// Bytes that are allocated: less than glibc takes from the OS for each allocation.
const BYTES: usize = 64 * 1024;

/// What is used by all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Chan,
    Mutex,
    Malloc,
}

impl Op {
    const ALL: [Self; 3] = [Self::Chan, Self::Mutex, Self::Malloc];

    fn name(self) -> &'static str {
        match self {
            Self::Chan => "chan",
            Self::Mutex => "mutex",
            Self::Malloc => "malloc",
        }
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|op| op.name() == name).ok_or(())
    }
}

/// The thing that is used.
struct Shared {
    op: Op,
    tx: Sender<u64>,
    rx: Receiver<u64>,
    mutex: Mutex<u64>,
    stop: AtomicBool,
}

impl Shared {
    fn new(op: Op) -> Self {
        let (tx, rx) = gmp::chan(64);
        Self { op, tx, rx, mutex: Mutex::new(0), stop: AtomicBool::new(false) }
    }

    /// Uses it as a hog does.
    fn use_as_hog(&self) {
        match self.op {
            Op::Chan => drop(self.tx.try_send(1)),
            Op::Mutex | Op::Malloc => self.use_once(),
        }
    }

    /// Uses it as the goroutine does that is measured.
    fn use_once(&self) {
        match self.op {
            Op::Chan => drop(self.rx.try_recv()),
            Op::Mutex => *self.mutex.lock().expect("nothing panics with the lock") += 1,
            Op::Malloc => drop(black_box(Vec::<u8>::with_capacity(BYTES))),
        }
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    fn hog(&self) {
        while self.goes_on() {
            (0..HOG_SPINS).for_each(|_| spin_loop());
            self.use_as_hog();
        }
    }

    async fn compute_and_yield(&self) {
        while self.goes_on() {
            let start = Instant::now();
            while start.elapsed() < POLL {
                spin_loop();
            }
            gmp::yield_now().await;
        }
    }

    /// Returns the waits, without what `control` says that the machine caused.
    async fn measure(&self, control: &Control, time: Duration) -> Vec<Duration> {
        let (start, mut waits) = (Instant::now(), Vec::new());
        while start.elapsed() < time {
            gmp::sleep(GAP).await;
            let (before, began) = (control.lost(), Instant::now());
            self.use_once();
            let wait = began.elapsed();
            waits.push(wait.saturating_sub(control.lost().saturating_sub(before)));
        }
        waits
    }
}

/// A thread that only sleeps. Relaxed: each number stands for itself.
struct Control {
    start: Instant,
    /// The sum of its lateness, in nanoseconds.
    lost: AtomicU64,
    /// When the present sleep began, in nanoseconds after `start`.
    asleep: AtomicU64,
}

impl Control {
    /// Starts the thread. It ends with the process.
    fn start() -> Arc<Self> {
        let (lost, asleep) = (AtomicU64::new(0), AtomicU64::new(0));
        let control = Arc::new(Self { start: Instant::now(), lost, asleep });
        let watching = control.clone();
        thread::spawn(move || {
            loop {
                watching.asleep.store(watching.now(), Relaxed);
                thread::sleep(TICK);
                watching.lost.fetch_add(watching.late(), Relaxed);
            }
        });
        control
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Returns how late the present sleep is. Less than a tick is usual.
    fn late(&self) -> u64 {
        let asleep = self.now().saturating_sub(self.asleep.load(Relaxed));
        if asleep > 2 * TICK.as_nanos() as u64 { asleep - TICK.as_nanos() as u64 } else { 0 }
    }

    /// Returns by how much the thread was late in all. Grows, except if it woke up just now.
    fn lost(&self) -> Duration {
        Duration::from_nanos(self.lost.load(Relaxed) + self.late())
    }
}

/// The command line.
struct Options {
    ops: Vec<Op>,
    hogs: Vec<usize>,
    pause: bool,
    time: Duration,
}

impl Options {
    /// Parses the arguments. `Ok(None)` asks for help.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let (ops, hogs, time) = (Op::ALL.to_vec(), vec![10, 50], Duration::from_secs(8));
        let mut options = Self { ops, hogs, pause: true, time };
        while let Some(name) = arguments.next() {
            if name == "--help" || name == "-h" {
                return Ok(None);
            }
            let value = arguments.next().ok_or_else(|| format!("{name}: value missing"))?;
            options.set(&name, &value).ok_or_else(|| {
                format!("{name} {value}: unknown argument or not a valid value; see --help")
            })?;
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let positive = || value.parse().ok().filter(|n: &usize| *n > 0);
        match name {
            "--op" => self.ops = vec![value.parse().ok()?],
            "--hogs" => self.hogs = vec![positive()?],
            "--seconds" => self.time = Duration::from_secs(positive()? as u64),
            "--pause" => {
                self.pause = [("on", true), ("off", false)].iter().find(|on| on.0 == value)?.1
            }
            _ => return None,
        }
        Some(())
    }
}

/// Measures one thing beside `hogs` goroutines that use it. Returns the waits in order.
fn measure(op: Op, hogs: usize, options: &Options, control: &Arc<Control>) -> Vec<Duration> {
    let builder = gmp::runtime::Builder::new().max_procs(2).pause_cpu_bound(options.pause);
    let runtime = builder.build().expect("a runtime");
    let shared = Arc::new(Shared::new(op));
    let mut others: Vec<_> = (0..2)
        .map(|_| shared.clone())
        .map(|shared| runtime.spawn(async move { shared.compute_and_yield().await }))
        .collect();
    others.extend(
        (0..hogs).map(|_| shared.clone()).map(|shared| runtime.spawn(async move { shared.hog() })),
    );
    let (sharing, control, time) = (shared.clone(), control.clone(), options.time);
    let measured = runtime.spawn(async move { sharing.measure(&control, time).await });
    let waits = gmp::block_on(gmp::timeout(time + GRACE, measured));
    let metrics = runtime.handle().metrics();
    println!(
        "{:>24} hogs without a P, {} paused",
        metrics.threads.cpu_bound, metrics.threads.paused
    );
    shared.stop.store(true, Relaxed);
    others.into_iter().for_each(|other| gmp::block_on(other).expect("no panic"));
    let mut waits = waits.map_or(vec![time + GRACE], |waits| waits.expect("no panic"));
    waits.sort_unstable();
    waits
}

/// Measures and prints all. Returns whether no wait was too long.
fn run(options: &Options) -> bool {
    let control = Control::start();
    let mut is_kept = true;
    for op in &options.ops {
        for hogs in &options.hogs {
            let waits = measure(*op, *hogs, options, &control);
            let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64();
            let worst = waits.last().is_some_and(|worst| *worst > LIMIT);
            println!(
                "{:>6} {hogs:>4} hogs, pause {:<3}: {:>6} uses; waits: p50 {:.3}, p99 {:.3}, max {:.3} ms{}",
                op.name(),
                if options.pause { "on" } else { "off" },
                waits.len(),
                at(0.5) * 1e3,
                at(0.99) * 1e3,
                at(1.0) * 1e3,
                if worst { "  *** too long" } else { "" },
            );
            is_kept &= !worst;
        }
    }
    is_kept
}

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) if run(&options) => ExitCode::SUCCESS,
        Ok(Some(_)) => ExitCode::FAILURE,
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("inversion: {error}");
            ExitCode::from(2)
        }
    }
}
