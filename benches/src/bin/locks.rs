//! Waiting times at a lock: gmp's, std's and `parking_lot`'s.
//!
//! `cargo run --release -p gmp-bench --bin locks [rounds]` prints for each lock, on two CPUs:
//!
//! - the cost of a lock and an unlock that no other thread wants;
//! - the delay from an unlock to the return of `lock` in a thread that waits, after a holder that
//!   slept for [`HELD`], as a descheduled holder does;
//! - the waits of threads that take one lock again and again, with [`GAP`] of computing in between.
//!
//! A round runs every lock once. The tables cover all rounds. "2 hogs" means that two processes
//! compute at the same time, so holders and waiters are descheduled.

#![expect(unsafe_code, reason = "gmp's lock has no guard")]

use gmp_rt::prim::RawLock;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::hint::black_box;
use std::process::{Child, Command};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The argument that makes this program compute until it is killed.
const HOG: &str = "--hog";
const ROUND: Duration = Duration::from_millis(300);
/// Computing between two sections of a thread.
const GAP: Duration = Duration::from_micros(1);
/// The time for which a holder sleeps before it unlocks.
const HELD: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(2)];
const SECTIONS: [Duration; 2] = [Duration::from_nanos(50), Duration::from_micros(1)];

fn main() {
    let argument = std::env::args().nth(1);
    use_two_cpus();
    if argument.as_deref() == Some(HOG) {
        loop {
            black_box(0);
        }
    }
    let rounds = argument.and_then(|n| n.parse().ok()).unwrap_or(5);
    let work = Work::calibrate();
    println!("nanoseconds per uncontended lock and unlock");
    for lock in &SUBJECTS {
        println!("    {:<12} {:>6.2}", lock.name, (lock.uncontended)());
    }
    for hogs in [0, 2] {
        let _hogs: Vec<Hog> = (0..hogs).map(|_| Hog::start()).collect();
        for held in HELD {
            println!("delay after a holder that slept for {held:?}, {hogs} hogs");
            table(|lock| (lock.handover)(held), rounds);
        }
        for threads in [2, 8] {
            for section in SECTIONS {
                println!("waits of {threads} threads, section {section:?}, {hogs} hogs");
                let load = Load { threads, section, work };
                table(|lock| (lock.waits)(&load), rounds);
            }
        }
    }
}

/// Restricts this process to two CPUs, so that the figures of two machines can be compared.
fn use_two_cpus() {
    let allowed = sched_getaffinity(None).expect("the CPUs of this process are known");
    let mut two = CpuSet::new();
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    cpus.take(2).for_each(|cpu| two.set(cpu));
    sched_setaffinity(None, &two).expect("a process may give up CPUs");
}

/// A process that computes until it is dropped.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        let program = std::env::current_exe().expect("the path of this program is known");
        Self(Command::new(program).arg(HOG).spawn().expect("this program can be started"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.kill().expect("the process is a child of this one");
        self.0.wait().expect("the process is a child of this one");
    }
}

/// A lock to measure.
trait Lock: Default + Sync {
    /// Locks, calls `locked`, then `section`, and unlocks.
    fn with(&self, locked: impl FnOnce(), section: impl FnOnce());
}

impl Lock for RawLock {
    fn with(&self, locked: impl FnOnce(), section: impl FnOnce()) {
        self.lock();
        locked();
        section();
        // SAFETY: this thread locked it above.
        unsafe { self.unlock() };
    }
}

impl Lock for std::sync::Mutex<()> {
    fn with(&self, locked: impl FnOnce(), section: impl FnOnce()) {
        let _guard = self.lock().expect("no section panics");
        locked();
        section();
    }
}

impl Lock for parking_lot::Mutex<()> {
    fn with(&self, locked: impl FnOnce(), section: impl FnOnce()) {
        let _guard = self.lock();
        locked();
        section();
    }
}

/// A computation of a given length that reads no clock.
#[derive(Clone, Copy)]
struct Work {
    steps_per_micro: f64,
}

impl Work {
    /// Takes the fastest of several runs: another process may interrupt some of them.
    fn calibrate() -> Self {
        const STEPS: u64 = 100_000;
        let time = |_| {
            let start = Instant::now();
            compute(STEPS);
            start.elapsed()
        };
        let fastest = (0..20).map(time).min().expect("several runs");
        Self { steps_per_micro: STEPS as f64 / (fastest.as_secs_f64() * 1e6) }
    }

    /// Returns the number of steps that take `time`.
    fn steps(self, time: Duration) -> u64 {
        (time.as_secs_f64() * 1e6 * self.steps_per_micro) as u64
    }
}

fn compute(steps: u64) {
    for n in 0..steps {
        black_box(n);
    }
}

/// The work of the threads in one line of the table.
struct Load {
    threads: usize,
    section: Duration,
    work: Work,
}

impl Load {
    /// Runs the threads for [`ROUND`]. Returns the waits of all of them.
    fn run<L: Lock>(&self) -> Waits {
        let (lock, stop) = (L::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let thread = || self.lock_until(&lock, &stop);
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(thread)).collect();
            std::thread::sleep(ROUND);
            stop.store(true, Ordering::Relaxed);
            let mut all = Waits::default();
            for thread in threads {
                all.add(&thread.join().expect("no thread panics"));
            }
            all
        })
    }

    fn lock_until<L: Lock>(&self, lock: &L, stop: &AtomicBool) -> Waits {
        let (section, gap) = (self.work.steps(self.section), self.work.steps(GAP));
        let mut waits = Waits::default();
        while !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            let mut waited = Duration::ZERO;
            lock.with(|| waited = start.elapsed(), || compute(section));
            waits.record(waited);
            compute(gap);
        }
        waits
    }
}

/// A histogram of waits in nanoseconds, with a resolution of a sixteenth.
struct Waits {
    counts: Vec<u64>,
    max: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { counts: vec![0; 16 * 64], max: 0 }
    }
}

impl Waits {
    fn record(&mut self, wait: Duration) {
        let nanos = wait.as_nanos() as u64;
        self.counts[Self::bucket(nanos)] += 1;
        self.max = self.max.max(nanos);
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.max = self.max.max(other.max);
    }

    /// Values below 32 have a bucket each, larger ones 16 for each power of two.
    fn bucket(nanos: u64) -> usize {
        let shift = (64 - nanos.leading_zeros()).saturating_sub(5);
        16 * shift as usize + (nanos >> shift) as usize
    }

    /// Returns the smallest value of a bucket.
    fn least(bucket: usize) -> u64 {
        let shift = (bucket / 16).saturating_sub(1);
        ((bucket - 16 * shift) as u64) << shift
    }

    fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the wait, in µs, that a `share` of all waits does not exceed.
    fn percentile(&self, share: f64) -> f64 {
        let mut left = (share * self.len() as f64) as u64;
        let is_there = |(_, count): &(usize, &u64)| {
            let is_last = left < **count;
            left = left.saturating_sub(**count);
            is_last
        };
        let bucket = self.counts.iter().enumerate().find(is_there).map_or(0, |(n, _)| n);
        Self::least(bucket) as f64 / 1e3
    }
}

/// The measurements of one kind of lock.
struct Subject {
    name: &'static str,
    uncontended: fn() -> f64,
    handover: fn(Duration) -> Waits,
    waits: fn(&Load) -> Waits,
}

impl Subject {
    const fn new<L: Lock>(name: &'static str) -> Self {
        Self { name, uncontended: uncontended::<L>, handover: handover::<L>, waits: Load::run::<L> }
    }
}

const SUBJECTS: [Subject; 3] = [
    Subject::new::<RawLock>("gmp"),
    Subject::new::<std::sync::Mutex<()>>("std"),
    Subject::new::<parking_lot::Mutex<()>>("parking_lot"),
];

/// Returns the nanoseconds of a lock and an unlock, the fewest of several runs.
fn uncontended<L: Lock>() -> f64 {
    const TIMES: u32 = 100_000;
    let lock = L::default();
    let time = |_| {
        let start = Instant::now();
        (0..TIMES).for_each(|_| black_box(&lock).with(|| (), || ()));
        start.elapsed()
    };
    let fastest = (0..20).map(time).min().expect("several runs");
    fastest.as_nanos() as f64 / f64::from(TIMES)
}

/// One thread repeatedly sleeps under the lock for `held`, while another one waits for the lock.
/// Returns the delays from the unlock to the lock of the waiter.
fn handover<L: Lock>(held: Duration) -> Waits {
    let (lock, epoch, unlocked) = (L::default(), Instant::now(), AtomicU64::new(0));
    let nanos = || epoch.elapsed().as_nanos() as u64;
    let (is_held, has_waited) = (Barrier::new(2), Barrier::new(2));
    let times = (ROUND.as_nanos() / held.as_nanos()) as usize;
    let mut delays = Waits::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..times {
                let locked = || {
                    is_held.wait();
                };
                lock.with(locked, || {
                    std::thread::sleep(held);
                    unlocked.store(nanos(), Ordering::Relaxed);
                });
                has_waited.wait();
            }
        });
        for _ in 0..times {
            is_held.wait();
            let mut locked_at = 0;
            lock.with(|| locked_at = nanos(), || ());
            let delay = locked_at.saturating_sub(unlocked.load(Ordering::Relaxed));
            delays.record(Duration::from_nanos(delay));
            has_waited.wait();
        }
    });
    delays
}

/// Runs `measure` for every lock in each of `rounds`, and prints the distributions.
fn table(measure: impl Fn(&Subject) -> Waits, rounds: u32) {
    let mut all: Vec<Waits> = SUBJECTS.iter().map(|_| Waits::default()).collect();
    for _ in 0..rounds {
        for (waits, lock) in all.iter_mut().zip(&SUBJECTS) {
            waits.add(&measure(lock));
        }
    }
    for (Subject { name, .. }, waits) in SUBJECTS.iter().zip(&all) {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|p| waits.percentile(p));
        println!(
            "    {name:<12} p50 {p50:>8.2}  p90 {p90:>8.1}  p99 {p99:>8.1}  p99.9 {p999:>8.1}  \
             max {:>8.0} µs  of {:>8}",
            waits.max as f64 / 1e3,
            waits.len(),
        );
    }
}
