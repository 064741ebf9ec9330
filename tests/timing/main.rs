//! Tests whose result depends on the machine: CPU time, lateness, context switches, memory.
//!
//! Every test begins with [`alone`], so they run one at a time although the harness starts several
//! threads (`tests/tidy.rs` checks this). `cargo test` runs the test binaries one after the other,
//! so no other test of this project runs concurrently. Other processes may: an assertion here also
//! holds on a busy machine, because it compares with the kernel's figures for the same period.

mod adaptive;
#[cfg(unix)]
mod golang_chan;
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

/// Waits until no other test of this binary runs. The test holds the guard until its end.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A failed test leaves the lock poisoned, but nothing of it still runs.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
