//! The cost of the scheduler's scans over all Ps on this machine, with real code and many Ps.
//!
//! Few machines have 256 cores. The cost of a scan does not depend on the number of cores, but on
//! the number of lines and on whether another core has written them. So one thread acts as the Ms
//! of all other Ps, one poll each, and another thread scans ([`gmp_rt::dev_hooks::Probe`]).

use gmp_rt::dev_hooks::{Crowd, Global, Probe};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Number of timings of each scan.
const TIMES: usize = 101;

/// Number of scans in one timing if no other core has written the lines.
const IN_A_ROW: u32 = 200;

/// One kind of scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) name: &'static str,
    /// No other core has written since the previous scan, ns.
    pub(super) again: f64,
    /// All other Ps have made a poll on another core since, ns.
    pub(super) after_polls: f64,
    /// The additional cost of a poll of each other P after the scan, ns.
    pub(super) to_others: f64,
}

/// A scan that is called many times.
type Act<'a> = Box<dyn FnMut() + 'a>;

/// Number of repetitions of all measurements.
const ROUNDS: usize = 5;

/// Measures all scans for each number of Ps. Takes the upper quartile over rounds, because the two
/// CPUs of a virtual machine are sometimes two hyper-threads of one core, between which lines cost
/// a fifth.
pub(super) fn looks(procs: &[usize]) -> Vec<Vec<Look>> {
    let round = |_| procs.iter().map(|procs| apart(|| looks_once(*procs))).collect();
    let rounds: Vec<Vec<Vec<Look>>> = (0..ROUNDS).map(round).collect();
    let over_rounds = |at: usize, n: usize| {
        let of = |pick: fn(&Look) -> f64| upper(rounds.iter().map(|round| pick(&round[at][n])));
        Look {
            name: rounds[0][at][n].name,
            again: of(|look| look.again),
            after_polls: of(|look| look.after_polls),
            to_others: of(|look| look.to_others),
        }
    };
    let kinds = rounds[0][0].len();
    (0..procs.len()).map(|at| (0..kinds).map(|n| over_rounds(at, n)).collect()).collect()
}

fn looks_once(procs: usize) -> Vec<Look> {
    let (probe, crowd) = Probe::new(procs);
    pin(0);
    let stage = Stage::default();
    std::thread::scope(|scope| {
        scope.spawn(|| stage.play(crowd));
        let mut sysmon = probe.sysmon();
        let acts: Vec<(&str, Act<'_>)> = vec![
            (
                "next_timer",
                Box::new(|| {
                    black_box(probe.next_timer());
                }),
            ),
            ("any_work", Box::new(|| assert!(!probe.any_work()))),
            ("last look before sleep", Box::new(|| assert!(probe.last_look()))),
            ("steal pass", Box::new(|| assert!(!probe.steal_pass()))),
            ("sysmon round", Box::new(&mut sysmon)),
            (
                "num_goroutine",
                Box::new(|| {
                    black_box(probe.live());
                }),
            ),
        ];
        let mut looks: Vec<Look> =
            acts.into_iter().map(|(name, act)| stage.time(name, act, procs)).collect();
        stage.timers.store(true, Ordering::Relaxed);
        let next_timer = Box::new(|| {
            black_box(probe.next_timer());
        });
        looks.push(stage.time("next_timer, timers are set", next_timer, procs));
        stage.over.store(true, Ordering::Release);
        looks
    })
}

/// Synchronises the thread that scans with the thread that acts as the other Ps.
#[derive(Debug, Default)]
struct Stage {
    /// Requested and completed turns of the crowd.
    asked: AtomicUsize,
    taken: AtomicUsize,
    /// Whether its Ps also set timers.
    timers: AtomicBool,
    /// Duration of its last turn, ns.
    took: AtomicU64,
    over: AtomicBool,
}

impl Stage {
    fn play(&self, crowd: Crowd) {
        pin(1);
        let mut goroutines = crowd.goroutines();
        let mut turn = 0;
        while !self.over.load(Ordering::Acquire) {
            if self.asked.load(Ordering::Acquire) == turn {
                std::thread::yield_now();
                continue;
            }
            let start = Instant::now();
            crowd.work(&mut goroutines);
            if self.timers.load(Ordering::Relaxed) {
                crowd.set_timers();
            }
            self.took.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            turn += 1;
            self.taken.store(turn, Ordering::Release);
        }
    }

    /// Lets each P of the crowd make a poll. Returns the duration, ns.
    fn turn(&self) -> f64 {
        let turn = self.asked.load(Ordering::Relaxed) + 1;
        self.asked.store(turn, Ordering::Release);
        while self.taken.load(Ordering::Acquire) != turn {
            std::thread::yield_now();
        }
        self.took.load(Ordering::Relaxed) as f64
    }

    fn time(&self, name: &'static str, mut act: Act<'_>, procs: usize) -> Look {
        let clock = median((0..TIMES).map(|_| nanos(|| ())));
        let again = median(
            (0..TIMES / 10)
                .map(|_| nanos(|| (0..IN_A_ROW).for_each(|_| act())) / f64::from(IN_A_ROW)),
        );
        let mut looked = Vec::new();
        let disturbed = median((0..TIMES).map(|_| {
            let took = self.turn();
            looked.push(nanos(&mut act) - clock);
            took
        }));
        let undisturbed = median((0..TIMES).map(|_| self.turn()));
        let others = (procs - 1).max(1) as f64;
        Look {
            name,
            again,
            after_polls: median(looked),
            to_others: (disturbed - undisturbed) / others,
        }
    }
}

/// Goroutines in a batch between a ring and the global queue.
const BATCH: usize = 129;

/// Returns the time to count a batch off the global queue under its lock, in ns per goroutine: if
/// this core has queued it, and if another core has.
pub(super) fn batch_off_queue() -> (f64, f64) {
    apart(batches_once)
}

fn batches_once() -> (f64, f64) {
    let (queue, hands) = (Global::default(), Mutex::new(Global::goroutines(BATCH)));
    let put = |cpu| {
        pin(cpu);
        queue.push_batch(&mut hands.lock().unwrap());
    };
    let take = || {
        let mut batch = Vec::with_capacity(BATCH);
        let took = nanos(|| queue.pop_batch(BATCH, &mut batch)) / BATCH as f64;
        *hands.lock().unwrap() = batch;
        took
    };
    pin(0);
    let own = median((0..TIMES).map(|_| {
        put(0);
        take()
    }));
    let foreign = median((0..TIMES).map(|_| {
        std::thread::scope(|scope| scope.spawn(|| put(1)).join().unwrap());
        take()
    }));
    (own, foreign)
}

/// Returns the CPU time of the process, in µs, to spawn a goroutine on an external thread, run it
/// and join it, while `procs - 1` other Ps are idle and their threads sleep.
pub(super) fn wake_up(procs: usize) -> f64 {
    let runtime = gmp_rt::runtime::Builder::new().max_procs(procs).build().unwrap();
    wake_all(&runtime, procs);
    // Long enough for its M to go to sleep again, which is part of the measurement.
    let pause = || std::thread::sleep(Duration::from_micros(500));
    median((0..TIMES).map(|_| {
        pause();
        let before = cpu_time();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        pause();
        (cpu_time() - before).as_nanos() as f64 / 1e3
    }))
}

/// Runs something on every P once, so that each has a thread.
fn wake_all(runtime: &gmp_rt::Runtime, procs: usize) {
    let here = std::sync::Arc::new(AtomicUsize::new(0));
    let spawned: Vec<_> = (0..procs)
        .map(|_| {
            let here = here.clone();
            runtime.spawn(async move {
                here.fetch_add(1, Ordering::AcqRel);
                while here.load(Ordering::Acquire) < procs {
                    std::thread::yield_now();
                }
            })
        })
        .collect();
    spawned.into_iter().for_each(|handle| runtime.block_on(handle).unwrap());
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn nanos(act: impl FnOnce()) -> f64 {
    let start = Instant::now();
    act();
    start.elapsed().as_nanos() as f64
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let values = sorted(values);
    values[values.len() / 2]
}

fn upper(values: impl IntoIterator<Item = f64>) -> f64 {
    let values = sorted(values);
    values[values.len() * 3 / 4]
}

/// Runs `f` on its own thread. That thread may be pinned without pinning later threads of the
/// caller.
fn apart<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(f).join().unwrap())
}

/// Pins the calling thread to one CPU. Has no effect if there is no CPU with this number.
fn pin(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    let _ = sched_setaffinity(None, &cpus);
}
