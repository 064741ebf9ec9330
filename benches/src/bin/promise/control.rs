//! Threads that only sleep, one on each CPU. If one is late, its CPU was busy or stood still: a
//! hypervisor may stop one CPU and not the others.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread sleeps at a time.
const TICK: Duration = Duration::from_millis(1);

/// The greatest lateness of all threads since the last reset. Relaxed: one number.
#[derive(Clone, Debug)]
pub(crate) struct Control(Arc<AtomicU64>);

impl Control {
    /// Starts the threads. They end with the process.
    pub(crate) fn start() -> Self {
        let control = Self(Arc::new(AtomicU64::new(0)));
        let allowed = sched_getaffinity(None).expect("the process may run");
        for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)) {
            let control = control.clone();
            thread::spawn(move || {
                let mut own = CpuSet::new();
                own.set(cpu);
                sched_setaffinity(None, &own).expect("the process may use this CPU");
                control.watch();
            });
        }
        control
    }

    fn watch(&self) -> ! {
        loop {
            let start = Instant::now();
            thread::sleep(TICK);
            let late = start.elapsed().saturating_sub(TICK);
            self.0.fetch_max(late.as_micros() as u64, Relaxed);
        }
    }

    /// Forgets what was before.
    pub(crate) fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns the greatest lateness since the last reset.
    pub(crate) fn worst(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }

    /// Waits until the threads have noted their lateness of the last moments.
    pub(crate) fn settle() {
        thread::sleep(20 * TICK);
    }
}
