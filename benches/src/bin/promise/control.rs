//! A thread that only sleeps. If it is late, the machine was busy or stood still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How long the thread sleeps at a time.
const TICK: Duration = Duration::from_millis(1);

/// The greatest lateness of the thread since the last reset. Relaxed: one number.
#[derive(Clone, Debug)]
pub(crate) struct Control(Arc<AtomicU64>);

impl Control {
    /// Starts the thread. It ends with the process.
    pub(crate) fn start() -> Self {
        let worst = Arc::new(AtomicU64::new(0));
        let written = worst.clone();
        thread::spawn(move || {
            loop {
                let start = Instant::now();
                thread::sleep(TICK);
                let late = start.elapsed().saturating_sub(TICK);
                written.fetch_max(late.as_micros() as u64, Relaxed);
            }
        });
        Self(worst)
    }

    /// Forgets what was before.
    pub(crate) fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns the greatest lateness since the last reset.
    pub(crate) fn worst(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }

    /// Waits until the thread has noted its lateness of the last moments.
    pub(crate) fn settle() {
        thread::sleep(20 * TICK);
    }
}
