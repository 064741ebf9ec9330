//! Thousands of goroutines that block their threads at the same time, beside a ticker and an echo
//! server of the same runtime.

use crate::Verdict;
use crate::control::Control;
use crate::cost::Cost;
use crate::echo::{self, Client};
use crate::lateness::Lateness;
use crate::options::{Crowd, Marking};
use crate::process::entries;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The interval of the ticker.
const TICK: Duration = Duration::from_millis(10);

/// The limits of the ticker's lateness and of an echo.
const P99: Duration = Duration::from_millis(5);
const MAX: Duration = Duration::from_millis(20);

/// How late the control thread may be, so that the limits count.
const CONTROL: Duration = Duration::from_millis(1);

/// Threads without work end after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

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
    control.reset();
    let over = Arc::new(AtomicBool::new(false));
    let (ticker_over, client_over) = (over.clone(), over.clone());
    let ticker = runtime.spawn(tick(move || !ticker_over.load(Relaxed)));
    let client = Client::connect(addr);
    let client = thread::spawn(move || client.measure(TICK / 2, || !client_over.load(Relaxed)));
    let (time, threads) = block(&runtime, options);
    over.store(true, Relaxed);
    let ticks = gmp::block_on(ticker).expect("nothing here panics");
    let echoes = client.join().expect("nothing here panics");
    println!("{} goroutines block: {time:.2?} in all, {threads} threads", options.goroutines);
    println!("ticker {ticks}\necho   {echoes}\ncontrol at most {:.2?} late", control.worst());
    let late = [&ticks, &echoes].iter().any(|one| one.percentile(99) > P99 || one.worst() > MAX);
    let excused = control.worst() > CONTROL;
    if late && excused {
        println!("the limits do not count, because the machine was late");
    }
    thread::sleep(2 * KEEP_ALIVE);
    let after = Cost::measure(&runtime);
    println!("before: {before}\nafter:  {after}, {} threads", entries("/proc/self/task"));
    match (late && !excused) || after.exceeds(before) {
        true => Verdict::Broken,
        false => Verdict::Kept,
    }
}

/// Blocks the goroutines and waits for them. Returns the time and the greatest number of threads.
fn block(runtime: &gmp::Runtime, options: &Crowd) -> (Duration, usize) {
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
    let mut threads = 0;
    for goroutine in blocked {
        threads = threads.max(entries("/proc/self/task"));
        gmp::block_on(goroutine).expect("nothing here panics");
    }
    (start.elapsed(), threads)
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
