//! Threads that only sleep, one on each CPU. If one is late, its CPU was busy or stopped: a
//! hypervisor may stop one CPU and not the others.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread sleeps at a time.
const TICK: Duration = Duration::from_millis(1);

/// The lateness of all threads. Relaxed: each number stands for itself.
#[derive(Debug)]
pub(crate) struct Control {
    start: Instant,
    /// The greatest lateness since the last reset, in microseconds.
    worst: AtomicU64,
    /// When the present sleep of each thread began, in microseconds after `start`.
    asleep: Vec<AtomicU64>,
}

impl Control {
    /// Starts the threads. They end with the process.
    pub(crate) fn start() -> Arc<Self> {
        let allowed = sched_getaffinity(None).expect("the process may run");
        let cpus: Vec<_> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let control = Arc::new(Self {
            start: Instant::now(),
            worst: AtomicU64::new(0),
            asleep: cpus.iter().map(|_| AtomicU64::new(0)).collect(),
        });
        for (number, cpu) in cpus.into_iter().enumerate() {
            let control = control.clone();
            thread::spawn(move || {
                let mut own = CpuSet::new();
                own.set(cpu);
                sched_setaffinity(None, &own).expect("the process may use this CPU");
                control.watch(&control.asleep[number]);
            });
        }
        control
    }

    fn watch(&self, asleep: &AtomicU64) -> ! {
        loop {
            let before = self.now();
            asleep.store(before, Relaxed);
            thread::sleep(TICK);
            self.worst.fetch_max(late(before, self.now()), Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    /// Forgets what was before.
    pub(crate) fn reset(&self) {
        self.worst.store(0, Relaxed);
    }

    /// Returns the greatest lateness since the last reset. A thread that should have woken by now
    /// counts.
    pub(crate) fn worst(&self) -> Duration {
        let now = self.now();
        let present = self.asleep.iter().map(|before| late(before.load(Relaxed), now));
        let worst = present.fold(self.worst.load(Relaxed), u64::max);
        Duration::from_micros(worst)
    }
}

/// Returns how late a sleep is that began at `before`, in microseconds.
fn late(before: u64, now: u64) -> u64 {
    now.saturating_sub(before + TICK.as_micros() as u64)
}
