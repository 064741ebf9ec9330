//! Thousands of goroutines that block their threads at the same time, beside a ticker and an echo
//! server of the same runtime.
//!
//! The threads of the crowd can make each other late, and the [control](Control) threads as well.
//! So the control threads judge the machine only before and after a run, while nothing else runs.
//! If one of them is late then, the run counts only if it keeps the limits. Two runs decide.

use crate::Verdict;
use crate::control::Control;
use crate::cost::Cost;
use crate::echo::{self, Client};
use crate::lateness::Lateness;
use crate::options::{Crowd, Marking};
use crate::process::entries;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The interval of the ticker.
const TICK: Duration = Duration::from_millis(10);

/// The limits of the ticker's lateness and of an echo.
const P99: Duration = Duration::from_millis(5);
const MAX: Duration = Duration::from_millis(20);

/// How late a control thread may be before and after a run that counts.
const CONTROL: Duration = Duration::from_millis(1);

/// How long the control threads are watched before and after a run.
const CALIBRATION: Duration = Duration::from_secs(1);

/// Runs with the same result that decide.
const DECIDE: usize = 2;

/// Runs after which the machine is too busy to judge.
const RUNS: usize = 8;

/// Time between two samples of the number of threads.
const SAMPLE: Duration = Duration::from_millis(20);

/// Threads without work end after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// What a run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The limits were kept.
    Kept,
    /// They were not, on a quiet machine.
    Broken,
    /// They were not, and the machine was late before or after the run as well.
    NotJudged,
}

/// Runs the mode.
pub(crate) fn run(options: &Crowd) -> Verdict {
    let builder =
        gmp::runtime::Builder::new().max_procs(options.procs).thread_keep_alive(KEEP_ALIVE);
    let runtime = builder.build().expect("a runtime");
    let addr = echo::serve(&runtime);
    // The first measurement warms up.
    Cost::measure(&runtime);
    let before = Cost::measure(&runtime);
    let control = Control::start();
    Client::connect(addr).echo();
    let mut outcomes = Vec::new();
    let limits = loop {
        outcomes.push(run_once(&runtime, options, addr, &control));
        if let Some(verdict) = decide(&outcomes) {
            break verdict;
        }
    };
    println!("limits: {outcomes:?}");
    thread::sleep(2 * KEEP_ALIVE);
    let after = Cost::measure(&runtime);
    println!("before: {before}\nafter:  {after}, {} threads", entries("/proc/self/task"));
    if after.exceeds(before) { Verdict::Broken } else { limits }
}

/// Returns the verdict of several runs, if no more are necessary.
fn decide(outcomes: &[Outcome]) -> Option<Verdict> {
    let count = |of| outcomes.iter().filter(|outcome| **outcome == of).count();
    if count(Outcome::Kept) >= DECIDE {
        Some(Verdict::Kept)
    } else if count(Outcome::Broken) >= DECIDE {
        Some(Verdict::Broken)
    } else if outcomes.len() >= RUNS {
        Some(Verdict::NotJudged)
    } else {
        None
    }
}

/// Blocks the goroutines once, beside the ticker and a client of the echo server.
fn run_once(
    runtime: &gmp::Runtime,
    options: &Crowd,
    addr: SocketAddr,
    control: &Control,
) -> Outcome {
    let before = calibrate(control);
    let over = Arc::new(AtomicBool::new(false));
    let (ticker_over, client_over) = (over.clone(), over.clone());
    let ticker = runtime.spawn(tick(move || !ticker_over.load(Relaxed)));
    let client = Client::connect(addr);
    let client = thread::spawn(move || client.measure(TICK / 2, || !client_over.load(Relaxed)));
    let threads = thread::spawn({
        let over = over.clone();
        move || most_threads(|| !over.load(Relaxed))
    });
    let time = block(runtime, options);
    over.store(true, Relaxed);
    let ticks = gmp::block_on(ticker).expect("nothing here panics");
    let echoes = client.join().expect("nothing here panics");
    let threads = threads.join().expect("nothing here panics");
    let during = control.worst();
    let after = calibrate(control);
    println!("{} goroutines block: {time:.2?} in all, {threads} threads", options.goroutines);
    println!("ticker {ticks}\necho   {echoes}");
    println!("control at most {before:.2?} late before, {during:.2?} during, {after:.2?} after");
    let late = [&ticks, &echoes].iter().any(|one| one.percentile(99) > P99 || one.worst() > MAX);
    match late {
        false => Outcome::Kept,
        true if before.max(after) <= CONTROL => Outcome::Broken,
        true => Outcome::NotJudged,
    }
}

/// Returns how late the control threads are while nothing else runs.
fn calibrate(control: &Control) -> Duration {
    // The threads of the last run have ended or sleep.
    thread::sleep(2 * KEEP_ALIVE);
    control.reset();
    thread::sleep(CALIBRATION);
    let worst = control.worst();
    control.reset();
    worst
}

/// Returns the greatest number of threads of this process while `goes_on`.
fn most_threads(goes_on: impl Fn() -> bool) -> usize {
    let mut most = 0;
    while goes_on() {
        most = most.max(entries("/proc/self/task"));
        thread::sleep(SAMPLE);
    }
    most
}

/// Blocks the goroutines and waits for them. Returns the time.
fn block(runtime: &gmp::Runtime, options: &Crowd) -> Duration {
    let (start, time, marking) = (Instant::now(), options.block, options.marking);
    // A goroutine spawns them: from this thread they would be newcomers.
    let goroutines = options.goroutines;
    let spawn = async move {
        let block = move || async move {
            match marking {
                Marking::Marked => gmp::block_in_place(|| thread::sleep(time)),
                Marking::Unmarked => thread::sleep(time),
            }
        };
        (0..goroutines).map(|_| gmp::spawn(block())).collect::<Vec<_>>()
    };
    let blocked = gmp::block_on(runtime.spawn(spawn)).expect("nothing here panics");
    for goroutine in blocked {
        gmp::block_on(goroutine).expect("nothing here panics");
    }
    start.elapsed()
}

/// Measures a tick of a goroutine every 10 ms as long as `goes_on`.
async fn tick(goes_on: impl Fn() -> bool) -> Lateness {
    let mut lateness = Lateness::default();
    let mut due = Instant::now();
    while goes_on() {
        due += TICK;
        gmp::sleep_until(due).await;
        lateness.push(due.elapsed());
    }
    lateness
}

#[cfg(test)]
mod tests {
    use super::Outcome::{Broken, Kept, NotJudged};
    use super::*;

    #[test]
    fn two_runs_with_the_same_result_decide() {
        assert_eq!(decide(&[Kept]), None);
        assert_eq!(decide(&[Kept, Broken, NotJudged]), None);
        assert_eq!(decide(&[Kept, Broken, Kept]), Some(Verdict::Kept));
        assert_eq!(decide(&[Broken, Kept, Broken]), Some(Verdict::Broken));
    }

    #[test]
    fn a_machine_that_stays_late_is_not_judged() {
        assert_eq!(decide(&[NotJudged; RUNS - 1]), None);
        assert_eq!(decide(&[NotJudged; RUNS]), Some(Verdict::NotJudged));
    }
}
