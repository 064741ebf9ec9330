//! The cell in the contestant's process: hogs that count their work, and a goroutine that sleeps
//! 1 ms at a time.

use super::super::cell::{finish, sleep_for_ever};
use super::super::face::Face;
use super::super::names::PROCS;
use super::super::probe::Probe;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of the program's time that is measured, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The windows.
pub(crate) const WINDOWS: [Window; 2] = [Window { from: 0, to: 3 }, Window { from: 20, to: 23 }];

/// The length of a cell with all windows, in seconds.
pub(crate) const SECONDS: u64 = WINDOWS[WINDOWS.len() - 1].to;

const TICK: Duration = Duration::from_millis(1);

/// The steps of one unit of work: about 10 µs.
const STEPS: u32 = 10_000;

/// The work of one hog. Two counters never share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl Counter {
    fn all(count: usize) -> Arc<[Self]> {
        (0..count).map(|_| Self::default()).collect()
    }
}

fn sum(counters: &[Counter]) -> u64 {
    counters.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum()
}

/// Computes without end.
fn compute(counter: &Counter) -> ! {
    let mut state = black_box(0x2545_F491_4F6C_DD1D_u64);
    loop {
        for _ in 0..STEPS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
        // The hog is the only writer of its counter.
        counter.0.store(counter.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Runs `hogs/N/SECONDS` or `plain/SECONDS`, prints the result and ends the process. Returns if the
/// name is another one.
pub(crate) fn run_cell<C: Face>(name: &str) {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["hogs", hogs, seconds] => {
            if let (Ok(hogs), Ok(seconds)) = (hogs.parse(), seconds.parse()) {
                run::<C>(hogs, seconds);
            }
        }
        ["plain", seconds] => {
            if let Ok(seconds) = seconds.parse() {
                run_plain(seconds);
            }
        }
        _ => {}
    }
}

/// Hogs beside a goroutine that sleeps.
fn run<C: Face>(hogs: usize, seconds: u64) -> ! {
    let start = Instant::now();
    let counters = Counter::all(hogs);
    let probe = Probe::new(start, usize::MAX);
    let (watched, counted) = (probe.clone(), counters.clone());
    // An external thread reads the counters and ends the process, because the runtime may be stuck.
    std::thread::spawn(move || {
        let mut text = work_lines(start, seconds, &counted);
        for sample in watched.take() {
            let _ = writeln!(text, "sample {} {}", sample.at, sample.late);
        }
        finish(&text)
    });
    C::run(async move {
        C::go(tick::<C>(probe));
        for hog in 0..hogs {
            let counters = counters.clone();
            C::go(async move {
                compute(&counters[hog]);
            });
        }
        sleep_for_ever::<C>().await;
    });
    unreachable!("a plain thread ends the process")
}

/// Two plain threads: the work that the CPUs can do.
fn run_plain(seconds: u64) -> ! {
    let start = Instant::now();
    let counters = Counter::all(PROCS);
    for hog in 0..PROCS {
        let counters = counters.clone();
        std::thread::spawn(move || compute(&counters[hog]));
    }
    std::thread::sleep(Duration::from_secs(seconds).saturating_sub(start.elapsed()));
    finish(&format!("work 0 0\nwork {} {}\n", start.elapsed().as_nanos(), sum(&counters)))
}

/// Sleeps 1 ms at a time. The event is the time at which the sleep should end.
async fn tick<C: Face>(probe: Arc<Probe>) {
    loop {
        let due = probe.now() + TICK.as_nanos() as u64;
        probe.expect(due);
        C::sleep(TICK).await;
        probe.end(due);
    }
}

/// Waits for the begin and the end of each window within `seconds`. Returns a line with the work
/// at each of them.
fn work_lines(start: Instant, seconds: u64, counters: &[Counter]) -> String {
    let mut text = String::new();
    for bound in WINDOWS.iter().flat_map(|window| [window.from, window.to]) {
        if bound <= seconds {
            std::thread::sleep(Duration::from_secs(bound).saturating_sub(start.elapsed()));
            let _ = writeln!(text, "work {} {}", start.elapsed().as_nanos(), sum(counters));
        }
    }
    text
}
