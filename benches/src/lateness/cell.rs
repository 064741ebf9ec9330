//! One cell in this process: a source beside a load, with a control thread that prints the result.

use super::control;
use super::face::Face;
use super::names::{CellName, Load};
use super::probe::Probe;
use super::source;
use super::work::{self, Spawner};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Runs a cell, prints its samples and ends the process.
///
/// The clock starts before the runtime is built, so that the samples include its first second.
pub(crate) fn run<C: Face>(cell: CellName) -> ! {
    let start = Instant::now();
    let limit = Duration::from_secs(cell.limit);
    let probe = Probe::new(start, cell.samples);
    let watched = probe.clone();
    // An external thread ends the process, because the runtime under test may be stuck.
    std::thread::spawn(move || {
        let is_over = || watched.is_done() || start.elapsed() >= limit;
        let look = || if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let (worst, ()) = control::run(control::TICK, look);
        let mut text = String::new();
        for sample in watched.take() {
            let _ = writeln!(text, "sample {} {}", sample.at, sample.late);
        }
        let _ = writeln!(text, "control {}", worst.as_nanos());
        finish(&text)
    });
    C::run(async move {
        source::start::<C>(cell.source, &probe).await;
        work::start::<C>(cell.load, &Spawner::default()).await;
        sleep_for_ever::<C>().await;
    });
    unreachable!("a plain thread ends the process")
}

/// Runs a load alone for `span`, prints its longest poll and ends the process.
pub(crate) fn run_polls<C: Face>(load: Load, span: Duration) -> ! {
    let spawner = Spawner::with_meter(load);
    let watched = spawner.clone();
    std::thread::spawn(move || {
        std::thread::sleep(span);
        finish(&format!("poll {}\n", watched.longest()))
    });
    C::run(async move {
        work::start::<C>(load, &spawner).await;
        sleep_for_ever::<C>().await;
    });
    unreachable!("a plain thread ends the process")
}

/// Keeps the first goroutine alive. With a pending timer gmp reports no deadlock.
pub(crate) async fn sleep_for_ever<C: Face>() {
    loop {
        C::sleep(Duration::from_secs(3_600)).await;
    }
}

/// Prints the result of the cell and ends the process.
pub(crate) fn finish(text: &str) -> ! {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    std::process::exit(i32::from(written.is_err()))
}
