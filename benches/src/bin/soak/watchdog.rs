//! A thread that prints progress and reports operations without progress.

use crate::bounds::OPERATION_BOUND;
use crate::process::{entries, rss};
use crate::violation::{print, violation};
use crate::world::{World, now_micros};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Time between two progress lines.
const PERIOD: Duration = Duration::from_secs(1);

/// Watches the run until the process ends.
pub(crate) fn run(world: &'static World) {
    let mut operations = world.traces.begun();
    let mut progressed = Instant::now();
    let mut last = Instant::now();
    loop {
        std::thread::sleep(PERIOD);
        let now = world.traces.begun();
        if now != operations {
            progressed = Instant::now();
        }
        let rate = (now - operations) as f64 / last.elapsed().as_secs_f64();
        (operations, last) = (now, Instant::now());
        line(world, rate);
        world.probes.check(world);
        if let Some((worker, name, span)) = world.traces.longest()
            && span > OPERATION_BOUND
        {
            violation(format!("{name} of worker {worker} has not ended for {span:?}"));
        }
        if progressed.elapsed() > world.options.stuck {
            violation(format!("no progress for {:?}", progressed.elapsed()));
        }
    }
}

fn line(world: &World, rate: f64) {
    print(&format!(
        "{:7.1} s  phase {:3} {}  {rate:6.0} op/s  live {:5}  late {:9.1?}  RSS {:4} MB  heap {:6} kB  \
         threads {:3}  fds {:3}\n",
        now_micros() as f64 / 1e6,
        world.phase.load(Relaxed),
        if world.stopping() { "rest" } else { "load" },
        world.live(),
        world.lateness.take_recent(),
        rss() >> 20,
        crate::alloc::live_bytes() >> 10,
        entries("/proc/self/task"),
        entries("/proc/self/fd"),
    ));
}
