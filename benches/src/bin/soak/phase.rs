//! A phase: load, drain, check of the ledgers, sample of the resources.

use crate::bounds::{DRAIN_BOUND, LEAK_PER_OPERATION, THREAD_KEEP_ALIVE, WARM_UP_PHASES, caches};
use crate::commons::Commons;
use crate::ledger;
use crate::ops::runtime::largest_size;
use crate::options::{Build, Options};
use crate::probe;
use crate::process::{Descriptors, entries, thread_names};
use crate::resources::Sample;
use crate::trend::{Limits, growing};
use crate::violation::{print, violation};
use crate::worker;
use crate::world::World;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Threads of the soak itself while nothing runs: main, the watchdog and the control thread.
const OWN_THREADS: usize = 3;

/// The samples of a run.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    samples: Vec<Sample>,
}

impl Phases {
    /// Runs one phase.
    pub(crate) fn run(&mut self, world: &'static World) {
        let number = world.phase.fetch_add(1, Relaxed);
        world.stop.store(false, Relaxed);
        let commons = Arc::new(Commons::new());
        *world.commons.lock() = Some(commons.clone());
        let probes = std::thread::spawn(move || probe::run(world));
        let workers = worker::start(world, &commons, number);
        std::thread::sleep(world.options.phase);
        world.stop.store(true, Relaxed);
        workers.join();
        if probes.join().is_err() {
            violation("the thread of the probes panicked");
        }
        drain(world);
        commons.judge();
        *world.commons.lock() = None;
        if Arc::into_inner(commons).is_none() {
            violation("a shared object is still in use, but all goroutines have ended");
        }
        check_ledgers(world);
        let sample = settle(world, &self.samples);
        self.samples.push(sample);
        self.judge(world);
    }

    /// Compares the samples: descriptors and threads are flat, memory has no trend.
    fn judge(&self, world: &World) {
        let Some(judged) = self.samples.get(WARM_UP_PHASES..) else { return };
        let per_phase = |samples: &[Sample]| match samples {
            [first, .., last] => {
                (last.operations - first.operations) as f64 / (samples.len() - 1) as f64
            }
            _ => 0.0,
        };
        let caches = caches(largest_size(&world.options));
        let limits = Limits { slope: LEAK_PER_OPERATION * per_phase(judged), caches };
        let mut series: Vec<(&str, Vec<f64>)> = vec![
            ("live heap bytes", judged.iter().map(|s| s.heap as f64).collect()),
            ("goroutine heap bytes", judged.iter().map(|s| s.goroutine_heap as f64).collect()),
        ];
        if world.options.build == Build::Plain {
            series.push(("resident bytes", judged.iter().map(|s| s.rss as f64).collect()));
        }
        // Threads of a runtime follow its size, which operations change: their bound is in
        // `settle`.
        for (name, samples) in series {
            if let Some(growth) = growing(&samples, limits) {
                violation(format!(
                    "{name} grow by {:.0} per phase: {growth:?}, {limits:?}, in {samples:?}",
                    growth.slope
                ));
            }
        }
    }

    /// Prints the first and the last sample.
    pub(crate) fn summary(&self) {
        for (name, sample) in [("first", self.samples.first()), ("last", self.samples.last())] {
            if let Some(sample) = sample {
                print(&format!("{name} sample at rest: {sample:?}\n"));
            }
        }
    }
}

/// Waits until `at_rest`, or reports what remains.
fn wait_until(at_rest: impl Fn() -> bool, what: impl Fn() -> String) {
    let limit = Instant::now() + DRAIN_BOUND;
    while !at_rest() {
        if Instant::now() > limit {
            violation(format!("not at rest {DRAIN_BOUND:?} after the load: {}", what()));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Waits until no goroutine lives, no timer is pending and no value exists. Operations that were
/// aborted leave goroutines that end by themselves.
fn drain(world: &World) {
    wait_until(
        || world.live() == 0 && world.guests.lock().is_empty(),
        || format!("{} goroutines live", world.live()),
    );
    let balanced = || world.homes.iter().all(|home| home.census.count().is_balanced());
    wait_until(balanced, || {
        let counts: Vec<_> =
            world.homes.iter().map(|home| (&home.name, home.census.count())).collect();
        format!("goroutines that did not end once: {counts:?}")
    });
}

/// Checks the invariants of a run at rest.
fn check_ledgers(world: &World) {
    if ledger::alive() != 0 {
        violation(format!("{} values are alive, but no channel is", ledger::alive()));
    }
    for home in &world.homes {
        let metrics = home.handle.metrics();
        if metrics.goroutines.live() != 0 {
            violation(format!(
                "runtime {} counts goroutines that do not live: {metrics:?}",
                home.name
            ));
        }
        if metrics.goroutines.runnable != 0 {
            violation(format!(
                "runtime {} has dead goroutines in its queues: {metrics:?}",
                home.name
            ));
        }
    }
}

/// Returns the largest number of threads of a runtime at rest.
///
/// A thread that goes to sleep while the runtime has at most `max_procs` threads stays, also if
/// `max_procs` becomes smaller. The thread that waits for the network and the one that waits for a
/// timer stay as well. Sysmon is one more.
fn threads_at_rest(options: &Options) -> usize {
    largest_size(options) + 3
}

/// Waits until descriptors, timers and threads are back to what an idle run has, and takes a
/// sample.
///
/// Descriptors: as many as after the first phase, which has opened the pollers. Threads: those of
/// the soak and [`threads_at_rest`]; all others end after [`THREAD_KEEP_ALIVE`].
fn settle(world: &World, before: &[Sample]) -> Sample {
    wait_until(
        || before.first().is_none_or(|f| Descriptors::count().is_flat_since(f.descriptors)),
        || {
            let first = before.first().map(|first| first.descriptors);
            format!("{:?} are open, at first {first:?}", Descriptors::count())
        },
    );
    let timers =
        || world.homes.iter().map(|home| home.handle.metrics().timers.pending).sum::<usize>();
    wait_until(|| timers() == 0, || format!("{} timers are pending", timers()));
    std::thread::sleep(THREAD_KEEP_ALIVE);
    let bound = OWN_THREADS + world.homes.len() * threads_at_rest(&world.options);
    wait_until(
        || entries("/proc/self/task") <= bound,
        || {
            let (threads, names) = (entries("/proc/self/task"), thread_names());
            format!("{threads} threads, at most {bound} expected: {names:?}")
        },
    );
    Sample::take(world)
}
