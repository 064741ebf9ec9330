//! Soak: random operations over the public API of gmp on the real scheduler, with invariants that
//! are checked all the time. `--help` lists the options. `README.md` of this package describes the
//! rest.
//!
//! [`table`] has the operations, [`known`] those that are left out because of a known defect. A run
//! is a sequence of [`phase`]s: load by [`worker`]s, then rest, then the checks. During the load
//! [`probe`]s measure how late wake-ups are, and the [`watchdog`] reports operations without
//! progress. [`ledger`] and [`fate`] check the end of each value and of each goroutine.

mod alloc;
mod bounds;
mod calls;
mod commons;
mod context;
mod control;
mod coverage;
mod fate;
mod home;
mod known;
mod lateness;
mod ledger;
mod ops;
mod options;
mod phase;
mod probe;
mod process;
mod rand;
mod resources;
mod table;
mod trace;
mod trend;
mod trim;
mod violation;
mod watchdog;
mod worker;
mod world;

use crate::bounds::THREAD_KEEP_ALIVE;
use crate::fate::Count;
use crate::home::{Home, Lifetime};
use crate::options::{Build, Command, Options};
use crate::phase::Phases;
use crate::violation::{print, violation};
use crate::world::World;
use parking_lot::Mutex;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// A run of this length draws every operation: the rarest have a weight of 2 in about 1,000, and
/// the slowest build, under ThreadSanitizer, makes more than 10,000 operations in this time.
const COVERED_AFTER: Duration = Duration::from_secs(60);

#[cfg(feature = "live-bytes")]
#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

fn main() -> ExitCode {
    match Command::parse(std::env::args().skip(1)) {
        Ok(Command::Help(text)) => print(&format!("{text}\n")),
        Ok(Command::List) => list(),
        Ok(Command::Run(options)) => {
            if let Err(error) = table::choose(&options) {
                eprintln!("soak: {error}");
                return ExitCode::from(2);
            }
            run(options);
        }
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn list() {
    for operation in table::TABLE {
        print(&format!("{}\n", operation.name));
    }
    print("\nleft out:\n");
    for known in known::KNOWN {
        print(&format!("{}: {:?}: {}\n", known.point, known.left_out, known.reason));
    }
    print("\nleft out with --sanitizer:\n");
    for (name, reason) in known::UNDER_SANITIZER {
        print(&format!("{name}: {reason}\n"));
    }
}

fn build(name: &str, procs: usize) -> gmp::Runtime {
    let built = gmp::runtime::Builder::new()
        .max_procs(procs)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .panic_policy(gmp::runtime::PanicPolicy::Contain)
        .name(name)
        .build();
    built.unwrap_or_else(|error| violation(format!("a runtime is not built: {error}")))
}

fn run(options: Options) {
    let start = Instant::now();
    print(&format!("seed {}, {options:?}\n", options.seed));
    violation::install_panic_hook();
    // Starts the default runtime, which fires the timers of runtimes that have ended. Its
    // descriptor stays, so it has to be among those of the first phase.
    gmp::block_on(gmp::sleep(Duration::from_millis(1)));
    let runtimes = [build("main", options.procs), build("narrow", 1), build("third", 3)];
    let names = ["main", "narrow", "third"];
    let homes: Vec<Home> = names
        .iter()
        .zip(&runtimes)
        .map(|(name, runtime)| Home::new(name, Lifetime::Run, runtime.handle().clone()))
        .collect();
    let world = world::begin(World {
        probes: probe::Probes::new(homes.len()),
        homes,
        guests: Mutex::default(),
        past: Mutex::default(),
        traces: trace::Traces::new(),
        lateness: lateness::Lateness::new(bounds::ready_bound(&options)),
        commons: Mutex::default(),
        stop: AtomicBool::new(true),
        phase: AtomicU64::new(0),
        options,
    });
    // Without a listener the signal would end the process.
    let listener = (world.options.build == Build::Plain).then(|| {
        let kind = gmp::signal::SignalKind::user_defined1();
        world.homes[0].handle.block_on(async move { gmp::signal::signal(kind) })
    });
    std::thread::spawn(move || watchdog::run(world));
    std::thread::spawn(move || world.lateness.control.run());
    let mut phases = Phases::default();
    while start.elapsed() < world.options.time {
        phases.run(world);
    }
    drop(listener);
    for runtime in runtimes {
        if let Err(error) = runtime.shutdown(bounds::SHUTDOWN_LIMIT) {
            violation(format!("shutdown at the end: {error}"));
        }
    }
    report(world, &phases, start);
}

fn report(world: &World, phases: &Phases, start: Instant) {
    let (table, missing) = coverage::table();
    print(&format!("\ncalls:\n{table}"));
    print(&format!("calls never made: {missing:?}\n"));
    let (table, missing) = coverage::operations();
    print(&format!("\noperations:\n{table}"));
    if !missing.is_empty() && world.options.time >= COVERED_AFTER {
        violation(format!("operations that were never drawn: {missing:?}"));
    }
    phases.summary();
    let past = *world.past.lock();
    let total = world.homes.iter().fold(past, |sum, home| Count::plus(sum, home.census.count()));
    print(&format!(
        "{} operations in {:.1?}; goroutines {total:?}\n{}no violation, seed {}\n",
        world.traces.begun(),
        start.elapsed(),
        world.lateness,
        world.options.seed
    ));
}
