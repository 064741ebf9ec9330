//! The measurement: every contestant in every round, cell by cell.

use super::figures::{Cell, Round};
use super::map::{HeatMap, LongestPoll};
use super::names::{CellName, Load, Source};
use super::options::Options;
use super::process::{self, End};
use super::sample::Reading;
use super::text;
use crate::entrant::Runtime;
use crate::programs::Program;
use crate::progress::Progress;
use crate::table;
use std::time::Duration;

/// A control thread that is later makes the round be tried again, in µs.
const CONTROL_LATE: f64 = 1_000.0;

/// The time for which a load runs to measure its longest poll, in seconds.
const POLL_SPAN: u64 = 1;

/// Measures the cells that `options` asks for. Calls `save` after each source beside each load.
pub(crate) fn measure(
    options: &Options,
    save: impl Fn(&HeatMap) -> Result<(), String>,
) -> Result<HeatMap, String> {
    let programs = options.programs.find(options.baseline.as_deref())?;
    let mut map = HeatMap {
        about: vec![table::about(options.rounds)],
        runtimes: programs.iter().map(|program| program.entrant.runtime).collect(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        limit: options.limit,
        polls: Vec::new(),
        cells: Vec::new(),
    };
    let cells = options.loads.len() * options.sources.len();
    let mut run = Run { options, programs, progress: Progress::new(cells as f64) };
    println!("{}", text::head(&map));
    for &load in &options.loads {
        for poll in run.longest_polls(load)? {
            map.add_poll(poll);
        }
        println!("{}", text::load(&map, load));
        for &source in &options.sources {
            map.cells.extend(run.rounds(load, source)?);
            println!("{}", text::line(&map, load, source));
            save(&map)?;
            run.progress.advance(1.0);
            run.progress.milestone(&format!("{} beside {}", source.name(), load.name()));
        }
    }
    map.sort();
    Ok(map)
}

struct Run<'a> {
    options: &'a Options,
    programs: Vec<Program>,
    progress: Progress,
}

impl Run<'_> {
    /// Measures the longest poll of a load in gmp, once for each round.
    fn longest_polls(&self, load: Load) -> Result<Vec<LongestPoll>, String> {
        let gmp = self.programs.iter().find(|program| program.entrant.runtime == Runtime::Gmp);
        let Some(gmp) = gmp.filter(|_| load != Load::None) else { return Ok(Vec::new()) };
        let name = format!("poll/{}/{POLL_SPAN}", load.name());
        let poll = |_| {
            let outcome = process::run(gmp, &name, Duration::from_secs(POLL_SPAN), &mut |_| ())?;
            match outcome.end {
                End::Printed(text) => Reading::parse(&text)?
                    .poll
                    .map(|nanos| LongestPoll { load, micros: nanos as f64 / 1e3 })
                    .ok_or(format!("{name} printed no poll")),
                other => Err(format!("{name}: {other:?}")),
            }
        };
        (0..self.options.rounds).map(poll).collect()
    }

    /// Measures one source beside one load, all contestants in each round.
    fn rounds(&self, load: Load, source: Source) -> Result<Vec<Cell>, String> {
        let runtimes = self.programs.iter().map(|program| program.entrant.runtime);
        let mut cells: Vec<Cell> =
            runtimes.map(|runtime| Cell { load, source, runtime, rounds: Vec::new() }).collect();
        for round in 0..self.options.rounds {
            for program in table::rotated(&self.programs, round) {
                let runtime = program.entrant.runtime;
                let (load, source) = (load.name(), source.name());
                self.progress.show(&format!(
                    "{source} beside {load}: round {} of {}, {}",
                    round + 1,
                    self.options.rounds,
                    runtime.name()
                ));
                let cell = cells.iter_mut().find(|cell| cell.runtime == runtime);
                let cell = cell.expect("a cell for each program");
                if let Some(round) = self.round(program, cell.load, cell.source)? {
                    cell.rounds.push(round);
                }
            }
        }
        self.progress.clear();
        cells.retain(|cell| !cell.rounds.is_empty());
        Ok(cells)
    }

    /// Measures one round. It is tried again while its control thread is late.
    fn round(
        &self,
        program: &Program,
        load: Load,
        source: Source,
    ) -> Result<Option<Round>, String> {
        let Some(mut best) = self.one_try(program, load, source)? else { return Ok(None) };
        while best.control > CONTROL_LATE && best.tries <= self.options.repeats {
            if let Some(again) = self.one_try(program, load, source)? {
                best = best.better(again);
            }
        }
        Ok(Some(best))
    }

    /// Runs a cell once. Returns `None` if an earlier build does not know it.
    fn one_try(
        &self,
        program: &Program,
        load: Load,
        source: Source,
    ) -> Result<Option<Round>, String> {
        let Options { samples, limit, .. } = *self.options;
        let name = CellName { source, load, samples, limit }.to_string();
        let outcome = process::run(program, &name, Duration::from_secs(limit), &mut |_| ())?;
        let watcher = outcome.control.as_secs_f64() * 1e6;
        match outcome.end {
            End::Printed(text) => Ok(Some(Round::new(&Reading::parse(&text)?, samples, watcher))),
            End::Killed => Ok(Some(Round::killed(watcher))),
            End::Unknown if program.entrant.runtime == Runtime::Base => Ok(None),
            End::Unknown => Err(format!("{} does not know the cell {name}", program.entrant)),
        }
    }
}
