//! The measurement: every contestant in every round, beside each number of hogs.

use super::super::process::{self, End};
use super::super::sample::Reading;
use super::cgroup::Throttled;
use super::figures::{HogCell, HogRound, HogTable, rate};
use super::options::Options;
use super::show;
use crate::entrant::Runtime;
use crate::programs::Program;
use crate::progress::Progress;
use crate::table;
use std::time::{Duration, Instant};

/// The seconds for which plain threads compute before and after each cell.
const PLAIN: u64 = 2;

/// The interval at which the threads of the process are counted.
const COUNT_EVERY: Duration = Duration::from_millis(100);

/// Measures the cells that `options` asks for. Calls `save` after each number of hogs.
pub(crate) fn measure(
    options: &Options,
    save: impl Fn(&HogTable) -> Result<(), String>,
) -> Result<HogTable, String> {
    let programs = options.programs.find(options.baseline.as_deref())?;
    let mut table = HogTable {
        about: vec![table::about(options.rounds)],
        runtimes: programs.iter().map(|program| program.entrant.runtime).collect(),
        windows: options.windows,
        cells: Vec::new(),
    };
    let cells = options.hogs.len() * options.rounds * programs.len();
    let mut progress = Progress::new(cells as f64);
    println!("{}", show::head(&table));
    for &hogs in &options.hogs {
        let runtimes = table.runtimes.iter();
        let mut cells: Vec<HogCell> =
            runtimes.map(|&runtime| HogCell { hogs, runtime, rounds: Vec::new() }).collect();
        for round in 0..options.rounds {
            for program in table::rotated(&programs, round) {
                let runtime = program.entrant.runtime;
                progress.show(&format!("{hogs} hogs: round {}, {}", round + 1, runtime.name()));
                let one = run_round(program, hogs, options)?;
                let cell = cells.iter_mut().find(|cell| cell.runtime == runtime);
                cell.expect("a cell for each program").rounds.extend(one);
                progress.advance(1.0);
            }
        }
        progress.clear();
        cells.retain(|cell| !cell.rounds.is_empty());
        table.cells.extend(cells);
        print!("{}", show::lines(&table, hogs));
        save(&table)?;
        progress.milestone(&format!("{hogs} hogs"));
    }
    Ok(table)
}

/// Measures one round. Returns `None` if an earlier build does not know the cell.
fn run_round(
    program: &Program,
    hogs: usize,
    options: &Options,
) -> Result<Option<HogRound>, String> {
    let Some(plain_before) = plain_rate(program)? else { return Ok(None) };
    let name = format!("hogs/{hogs}/{}", options.seconds());
    let (start, mut threads) = (Instant::now(), Vec::new());
    let mut look = |pid| {
        let at = start.elapsed();
        let is_due =
            |(last, _): &(f64, usize)| at.as_secs_f64() - last >= COUNT_EVERY.as_secs_f64();
        if threads.last().is_none_or(is_due) {
            threads.extend(count_threads(pid).map(|threads| (at.as_secs_f64(), threads)));
        }
    };
    let before = Throttled::now();
    let limit = Duration::from_secs(options.seconds());
    let outcome = process::run(program, &name, limit, &mut look)?;
    let after = Throttled::now();
    let plain_after = plain_rate(program)?.unwrap_or(plain_before);
    let plain = f64::midpoint(plain_before, plain_after);
    let round = match outcome.end {
        End::Printed(text) => {
            HogRound::new(&Reading::parse(&text)?, options.windows, plain, &threads)
        }
        End::Killed => HogRound::killed(options.windows),
        End::Unknown => return Err(format!("{} does not know the cell {name}", program.entrant)),
    };
    let throttled = after.map(|after| after.since(before.unwrap_or_default()));
    Ok(Some(HogRound { throttled, ..round }))
}

/// The work of plain threads in units per second. Returns `None` if an earlier build does not know
/// the cell.
fn plain_rate(program: &Program) -> Result<Option<f64>, String> {
    let name = format!("plain/{PLAIN}");
    let outcome = process::run(program, &name, Duration::from_secs(PLAIN), &mut |_| ())?;
    match outcome.end {
        End::Printed(text) => {
            let rate = rate(&Reading::parse(&text)?.work, 0);
            rate.map(Some).ok_or(format!("{} {name} printed no work", program.entrant))
        }
        End::Unknown if program.entrant.runtime == Runtime::Base => Ok(None),
        other => Err(format!("{} {name}: {other:?}", program.entrant)),
    }
}

/// The number of threads of a process. Returns `None` if it has ended.
fn count_threads(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}
