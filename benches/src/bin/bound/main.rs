//! Random loads and events on one runtime. Fails if a runnable goroutine waits for longer than the
//! bounds that `gmp-rt/src/p/service.rs` states.
//!
//! `cargo run --release -p gmp-bench --bin bound -- --minutes 10 --procs 2` runs in phases. In each
//! phase one to three [loads](load) occupy the Ps, and [sources](source) make goroutines runnable.
//! A goroutine then compares what the thread of its P has done since the event with the
//! [allowance](judge) of the phase: the CPU time, and the time of day. The number of polls is only
//! reported, because own goroutines get time and not polls after newcomers.
//!
//! A hypervisor may stop a CPU in the middle of a poll, and sysmon may wait for a CPU. So an event
//! counts only if a control thread was on time meanwhile. The time of day is checked only if each P
//! can have a CPU, and not while a thread of the runtime waits for one.

mod clocks;
mod judge;
mod load;
mod options;
#[expect(dead_code, reason = "the soak uses all of it")]
#[path = "../soak/rand.rs"]
mod rand;
mod source;

use crate::judge::{Allowance, Judge};
use crate::load::Load;
use crate::options::{Command, Options};
use crate::rand::Rand;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The time of a phase in which events are judged.
const PHASE: Duration = Duration::from_millis(300);

/// The time from the start of a load to the first event that is judged: the estimates of the Ps
/// follow the load.
const START: Duration = Duration::from_millis(30);

/// Phases between two lines of progress.
const REPORT_EVERY: u64 = 15;

fn main() -> ExitCode {
    match Command::parse(std::env::args().skip(1)) {
        Ok(Command::Run(options)) => run(&options),
        Ok(Command::Help(text)) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bound: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> ExitCode {
    println!("seed {}, {options:?}", options.seed);
    let runtime = match gmp::runtime::Builder::new().max_procs(options.procs).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("bound: {error}");
            return ExitCode::from(2);
        }
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let judge = Arc::new(Judge::new(options.procs <= cpus));
    let controlled = judge.clone();
    thread::spawn(move || controlled.control());
    source::start(runtime.handle(), &judge, options.seed);
    let mut rand = Rand::new(options.seed);
    let start = Instant::now();
    for phase in 1.. {
        let loads = Load::draw_some(&mut rand);
        run_phase(&runtime, &judge, &loads);
        if phase % REPORT_EVERY == 0 {
            println!("{:>5} s: {}", start.elapsed().as_secs(), judge.progress());
        }
        if start.elapsed() >= options.time || judge.has_many_violations() {
            break;
        }
    }
    // The control thread judges the last events.
    thread::sleep(START);
    judge.report()
}

/// Starts the goroutines of `loads`. A goroutine spawns them: from this thread they would be
/// newcomers, and the goroutines of the sources would wait for them.
fn start(
    runtime: &gmp::Runtime,
    loads: &[Load],
    stop: &Arc<AtomicBool>,
) -> Vec<gmp::JoinHandle<()>> {
    let (handle, loads, stop) = (runtime.handle().clone(), loads.to_vec(), stop.clone());
    let spawn = async move { loads.iter().flat_map(|load| load.spawn(&handle, &stop)).collect() };
    gmp::block_on(runtime.spawn(spawn)).expect("spawning does not panic")
}

/// Runs `loads`. Events are judged while all of them run.
fn run_phase(runtime: &gmp::Runtime, judge: &Judge, loads: &[Load]) {
    let stop = Arc::new(AtomicBool::new(false));
    let goroutines = start(runtime, loads, &stop);
    thread::sleep(START);
    judge.open(Allowance::for_loads(loads), format!("{loads:?}"));
    thread::sleep(PHASE);
    judge.close();
    stop.store(true, Relaxed);
    for goroutine in goroutines {
        if let Err(error) = gmp::block_on(goroutine) {
            judge.violation(format!("a goroutine of {loads:?}: {error}"));
        }
    }
}
