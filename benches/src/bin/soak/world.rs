//! State that all parts of a run share.

use crate::commons::Commons;
use crate::home::Home;
use crate::lateness::Lateness;
use crate::options::Options;
use crate::probe::Probes;
use crate::trace::Traces;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) options: Options,
    /// The runtimes that live as long as the run.
    pub(crate) homes: Vec<Home>,
    /// Runtimes that operations have started and not ended.
    pub(crate) guests: Mutex<Vec<Home>>,
    /// Goroutines of runtimes that have ended.
    pub(crate) past: Mutex<crate::fate::Count>,
    pub(crate) traces: Traces,
    pub(crate) lateness: Lateness,
    pub(crate) probes: Probes,
    /// Objects that all workers share in the running phase.
    pub(crate) commons: Mutex<Option<Arc<Commons>>>,
    pub(crate) stop: AtomicBool,
    pub(crate) phase: AtomicU64,
}

static WORLD: OnceLock<World> = OnceLock::new();
static START: OnceLock<Instant> = OnceLock::new();

/// Returns the run, if it has begun.
pub(crate) fn world() -> Option<&'static World> {
    WORLD.get()
}

/// Returns the run. Operations call it, and they exist only in a run.
pub(crate) fn the_world() -> &'static World {
    world().expect("operations run after the start")
}

/// Begins the run.
pub(crate) fn begin(world: World) -> &'static World {
    WORLD.get_or_init(|| world)
}

/// Returns the microseconds since the start.
pub(crate) fn now_micros() -> u64 {
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

impl World {
    /// Whether the load of this phase is over.
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Returns all runtimes: those of the run, then those of operations.
    pub(crate) fn all_homes(&self) -> Vec<Home> {
        let guests = self.guests.lock();
        self.homes.iter().chain(guests.iter()).cloned().collect()
    }

    /// Returns the number of goroutines of all runtimes.
    pub(crate) fn live(&self) -> u64 {
        self.all_homes().iter().map(|home| home.handle.num_goroutine()).sum()
    }
}

/// Returns the goroutines of each runtime.
pub(crate) fn dumps() -> Vec<(String, String)> {
    let homes = world().map(World::all_homes).unwrap_or_default();
    homes
        .iter()
        .map(|home| {
            let dump = home.handle.block_on(async { gmp::runtime::dump() });
            (format!("{}: {:?}", home.name, home.handle.metrics()), dump)
        })
        .collect()
}
