//! A sample of the memory and the descriptors that the run has in use.

use crate::alloc::live_bytes;
use crate::process::{Descriptors, rss};
use crate::trim::trim;
use crate::world::World;

/// A sample, taken while nothing runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// Operations that were begun before.
    pub(crate) operations: u64,
    /// Resident memory in bytes, without free memory of the allocator.
    pub(crate) rss: u64,
    /// Bytes that the program has allocated and not freed.
    pub(crate) heap: u64,
    /// Bytes of goroutine memory.
    pub(crate) goroutine_heap: u64,
    pub(crate) descriptors: Descriptors,
}

impl Sample {
    /// Takes a sample.
    pub(crate) fn take(world: &World) -> Self {
        trim();
        Self {
            operations: world.traces.begun(),
            rss: rss(),
            heap: live_bytes() as u64,
            goroutine_heap: world.homes[0].handle.metrics().heap_bytes as u64,
            descriptors: Descriptors::count(),
        }
    }
}
