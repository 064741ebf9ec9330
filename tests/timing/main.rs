//! Tests whose result depends on the machine: CPU time, lateness, context switches, memory.
//!
//! Every test begins with [`alone`], so they run one at a time although the harness starts several
//! threads (`tests/tidy.rs` checks it). `cargo test` runs the test binaries one after the other, so
//! nothing of this project runs beside them either. Other processes may: an assertion here holds on
//! a busy machine too, because it compares with what the kernel says about the same period.

mod adaptive;
mod golang_memory;
mod hogs;
#[cfg(target_os = "linux")]
mod idle;
mod latency;
mod live_bytes;
mod memory;
#[cfg(target_os = "linux")]
mod net_scale;
mod overload;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test of this binary runs. The guard ends with the test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that failed leaves the lock poisoned and the machine free.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
