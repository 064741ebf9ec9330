//! A day in small: bursts of all kinds for a long time. The resources and the cost of a tick at the
//! end are compared with those at the beginning.
//!
//! Each cycle is a burst of blocking calls, of connections, and of changes of `max_procs`; in every
//! fourth cycle also a million goroutines. Then the runtime rests until unused threads have ended,
//! and a sample is taken. The first cycles fill caches and are not judged. Of the others, the
//! median of the first third is compared with that of the last third.

use crate::Verdict;
use crate::alloc::live_bytes;
use crate::cost::Cost;
use crate::echo::{self, Client};
use crate::options::Day;
use crate::process::{Descriptors, entries, rss};
use crate::rand::Rand;
use gmp_rt::dev_hooks::p_objects;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

/// Threads without work end after this time.
const KEEP_ALIVE: Duration = Duration::from_millis(200);

/// Cycles that are not judged. A million goroutines run in two of them.
const WARM_UP: usize = 8;

/// A million goroutines run in every cycle whose number is a multiple of this.
const MILLION_EVERY: usize = 4;

/// Blocking calls in a burst, and how long each one takes.
const BLOCKING: usize = 400;
const BLOCK: Duration = Duration::from_millis(100);

/// Connections in a burst, by how many clients.
const CONNECTIONS: usize = 400;
const CLIENTS: usize = 8;

/// The resources in use while nothing runs.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rss: u64,
    heap: u64,
    descriptors: u64,
    threads: u64,
    p_objects: u64,
    tick: u64,
    fan: u64,
}

/// A figure of a sample, and its allowed growth over the run.
struct Figure {
    name: &'static str,
    unit: &'static str,
    value: fn(&Sample) -> u64,
    /// In percent of the beginning, and in units.
    allowed: (u64, u64),
}

const FIGURES: [Figure; 7] = [
    Figure { name: "resident memory", unit: "KiB", value: |s| s.rss, allowed: (5, 4096) },
    Figure { name: "live heap", unit: "KiB", value: |s| s.heap, allowed: (2, 256) },
    Figure { name: "descriptors", unit: "", value: |s| s.descriptors, allowed: (0, 0) },
    Figure { name: "threads", unit: "", value: |s| s.threads, allowed: (0, 0) },
    // Up to `max_procs` spare ones are kept.
    Figure { name: "P objects", unit: "", value: |s| s.p_objects, allowed: (0, 2) },
    Figure { name: "CPU time of a tick", unit: "ns", value: |s| s.tick, allowed: (10, 1000) },
    Figure { name: "CPU time of a fan-out", unit: "ns", value: |s| s.fan, allowed: (10, 5000) },
];

/// Runs the mode.
pub(crate) fn run(options: &Day) -> Verdict {
    let builder =
        gmp::runtime::Builder::new().max_procs(options.procs).thread_keep_alive(KEEP_ALIVE);
    let runtime = builder.build().expect("a runtime");
    let addr = echo::serve(&runtime);
    let mut rand = Rand::new(options.seed);
    let start = Instant::now();
    let mut samples = Vec::new();
    for cycle in 0.. {
        blocking(&runtime, &mut rand);
        connections(addr);
        resizes(&runtime, &mut rand, options.procs);
        if cycle % MILLION_EVERY == 0 {
            million(&runtime);
        }
        let sample = Sample::take(&runtime);
        println!("{:>5} s: {sample:?}", start.elapsed().as_secs());
        if cycle >= WARM_UP {
            samples.push(sample);
        }
        if start.elapsed() >= options.time && samples.len() >= 3 {
            break;
        }
    }
    judge(&samples)
}

impl Sample {
    /// Takes a sample after unused threads have ended.
    fn take(runtime: &gmp::Runtime) -> Self {
        thread::sleep(4 * KEEP_ALIVE);
        let cost = Cost::measure(runtime);
        thread::sleep(2 * KEEP_ALIVE);
        let descriptors = Descriptors::count();
        Self {
            rss: rss() / 1024,
            heap: live_bytes() as u64 / 1024,
            descriptors: (descriptors.pipes + descriptors.others) as u64,
            threads: entries("/proc/self/task") as u64,
            p_objects: p_objects(runtime.handle()) as u64,
            tick: cost.tick.as_nanos() as u64,
            fan: cost.fan.as_nanos() as u64,
        }
    }
}

/// Blocking calls of all kinds at the same time.
fn blocking(runtime: &gmp::Runtime, rand: &mut Rand) {
    let block = |n| Duration::from_micros(n) + BLOCK;
    let calls: Vec<_> = (0..BLOCKING)
        .map(|n| {
            let time = block(rand.below(50_000));
            runtime.spawn(async move {
                match n % 4 {
                    0 => thread::sleep(time),
                    1 => gmp::block_in_place(|| thread::sleep(time)),
                    2 => gmp::block_on(gmp::sleep(time)),
                    _ => gmp::spawn_blocking(move || thread::sleep(time)).await.expect("no panic"),
                }
            })
        })
        .collect();
    for call in calls {
        gmp::block_on(call).expect("nothing here panics");
    }
}

/// Connections that echo once each.
fn connections(addr: SocketAddr) {
    let client = move || (0..CONNECTIONS / CLIENTS).for_each(|_| Client::connect(addr).echo());
    let clients: Vec<_> = (0..CLIENTS).map(|_| thread::spawn(client)).collect();
    for client in clients {
        client.join().expect("nothing here panics");
    }
}

/// Changes of the number of Ps while goroutines run.
fn resizes(runtime: &gmp::Runtime, rand: &mut Rand, procs: usize) {
    let yields = || async {
        for _ in 0..20_000 {
            gmp::yield_now().await;
        }
    };
    let load: Vec<_> = (0..16).map(|_| runtime.spawn(yields())).collect();
    for _ in 0..20 {
        runtime.handle().set_max_procs(1 + rand.size(16)).expect("a valid number");
        thread::sleep(rand.micros(2000));
    }
    runtime.handle().set_max_procs(procs).expect("a valid number");
    for goroutine in load {
        gmp::block_on(goroutine).expect("nothing here panics");
    }
}

/// A million goroutines that wait at the same time.
fn million(runtime: &gmp::Runtime) {
    let (hold, held) = gmp::chan::<()>(1);
    let wait = async move {
        let waiters: Vec<_> = (0..1_000_000)
            .map(|_| {
                let held = held.clone();
                gmp::spawn(async move { held.recv().await.is_err() })
            })
            .collect();
        drop(hold);
        for waiter in waiters {
            assert!(waiter.await.expect("nothing here panics"));
        }
    };
    gmp::block_on(runtime.spawn(wait)).expect("nothing here panics");
}

/// Compares the last third of the samples with the first.
fn judge(samples: &[Sample]) -> Verdict {
    let third = samples.len() / 3;
    let (first, last) = (&samples[..third], &samples[samples.len() - third..]);
    let mut verdict = Verdict::Kept;
    for figure in &FIGURES {
        let (before, after) = (figure.median(first), figure.median(last));
        let (percent, units) = figure.allowed;
        let grew = after > before + before * percent / 100 + units;
        let result = if grew { "GREW" } else { "ok" };
        let Figure { name, unit, .. } = figure;
        println!("{name}: {before} {unit} at the beginning, {after} {unit} at the end: {result}");
        if grew {
            verdict = Verdict::Broken;
        }
    }
    verdict
}

impl Figure {
    fn median(&self, samples: &[Sample]) -> u64 {
        let mut values: Vec<u64> = samples.iter().map(self.value).collect();
        values.sort_unstable();
        values[values.len() / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Sample = Sample {
        rss: 50_000,
        heap: 9000,
        descriptors: 12,
        threads: 6,
        p_objects: 4,
        tick: 20_000,
        fan: 300_000,
    };

    #[test]
    fn a_figure_that_grows_breaks_the_promise() {
        let mut samples = vec![SAMPLE; 9];
        assert_eq!(judge(&samples), Verdict::Kept);
        samples[4].threads = 50;
        assert_eq!(judge(&samples), Verdict::Kept, "one outlier in the middle");
        samples[6..].iter_mut().for_each(|sample| sample.threads = 7);
        assert_eq!(judge(&samples), Verdict::Broken);
        let mut samples = vec![SAMPLE; 9];
        samples[6..].iter_mut().for_each(|sample| sample.p_objects = 7);
        assert_eq!(judge(&samples), Verdict::Broken);
    }
}
