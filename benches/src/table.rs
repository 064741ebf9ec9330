//! The measurement: every entrant in every round, row by row.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::instructions;
use crate::load::{self, Answer};
use crate::options::{Confirm, Options};
use crate::programs::{self, Program};
use crate::progress::Progress;
use crate::report::Report;
use crate::row::{Confirmation, Method, Row};
use crate::text;
use crate::verdict::{self, Verdict};
use crate::workload::{self, Threads, Workload};
use std::process::Command;

/// Measures the rows that `options` asks for. Calls `save` after each of them.
pub(crate) fn measure(
    options: &Options,
    save: impl Fn(&Report) -> Result<(), String>,
) -> Result<Report, String> {
    let programs = programs::find(options.baseline.as_deref())?;
    let entrants: Vec<Entrant> = programs.iter().map(|program| program.entrant).collect();
    let mut report = Report::new(about(options.rounds), entrants);
    let workloads: Vec<&Workload> = wanted(options).collect();
    let seconds: f64 = workloads.iter().map(|workload| workload.seconds).sum();
    let mut progress = Progress::new(seconds * (options.rounds * programs.len()) as f64);
    println!("{}", text::head(&report));
    for workload in workloads {
        let mut rows = run_rounds(workload, &programs, options.rounds, &mut progress)?;
        if options.confirm == Confirm::Rerun {
            confirm(workload, &programs, &mut rows)?;
        }
        for row in &rows {
            print!("{}", text::row(row, &report));
        }
        report.rows.extend(rows);
        save(&report)?;
        progress.milestone(workload.name);
    }
    Ok(report)
}

/// The workloads that `options` asks for and whose client is installed.
fn wanted(options: &Options) -> impl Iterator<Item = &'static Workload> {
    workload::ALL.iter().filter(|workload| options.wants(workload.name)).filter(|workload| {
        let missing = load::find(workload.name).and_then(|load| load.misses());
        if let Some((program, package)) = missing {
            eprintln!("{}: left out, no {program} (`apt-get install {package}`)", workload.name);
        }
        missing.is_none()
    })
}

/// The place and the time of the measurement.
pub(crate) fn about(rounds: usize) -> String {
    let first_line = |command: &mut Command| {
        let output = command.output().ok().filter(|output| output.status.success());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.and_then(|text| text.lines().next().map(str::to_owned))
    };
    let go = programs::find_go().and_then(|go| first_line(Command::new(go).arg("version")));
    let here = env!("CARGO_MANIFEST_DIR");
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
    let parts = [
        first_line(Command::new("date").arg("-I")),
        model.map(|model| model.trim_start_matches([' ', '\t', ':']).to_owned()),
        Some(format!("{} cores", std::thread::available_parallelism().map_or(1, usize::from))),
        Some(std::env::consts::ARCH.to_owned()),
        Some(format!("{rounds} rounds")),
        first_line(Command::new("rustc").arg("--version")),
        go,
        first_line(Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(here)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Measures the rows of one workload, all entrants in each round.
fn run_rounds(
    workload: &Workload,
    programs: &[Program],
    rounds: usize,
    progress: &mut Progress,
) -> Result<Vec<Row>, String> {
    let mut rows = workload.rows();
    for round in 0..rounds {
        for program in rotated(programs, round) {
            let (name, entrant) = (workload.name, program.entrant);
            progress.show(&format!("{name}: round {} of {rounds}, {entrant}", round + 1));
            if let Some(figures) = measure_cell(program, workload)? {
                for (row, figure) in rows.iter_mut().zip(figures) {
                    row.push(entrant, figure);
                }
            }
            progress.advance(workload.seconds);
        }
    }
    progress.clear();
    rows.iter_mut().for_each(|row| row.cells.sort_by_key(|cell| cell.entrant));
    Ok(rows)
}

/// Returns the programs in the order of this round. Each round starts with another one, so that
/// none always follows the same neighbour.
pub(crate) fn rotated(programs: &[Program], round: usize) -> impl Iterator<Item = &Program> {
    let (before, after) = programs.split_at(round % programs.len().max(1));
    after.iter().chain(before)
}

/// Measures one entrant once. Returns `None` if it does not know the workload.
fn measure_cell(program: &Program, workload: &Workload) -> Result<Option<Vec<f64>>, String> {
    let name = workload.name;
    let answer = match load::find(name) {
        Some(load) => load.measure(program)?,
        None => run_once(program, name)?,
    };
    match answer {
        Answer::Figures(figures) if figures.len() == workload.figures.len() => Ok(Some(figures)),
        Answer::Figures(figures) => {
            Err(format!("{} {name}: {} figures", program.entrant, figures.len()))
        }
        // An earlier build lacks the workloads that were added since.
        Answer::Unknown if program.entrant.runtime == Runtime::Base => Ok(None),
        Answer::Unknown => Err(format!("{} does not know the workload {name}", program.entrant)),
    }
}

/// Runs a workload in its own process.
fn run_once(program: &Program, name: &str) -> Result<Answer, String> {
    let entrant = program.entrant;
    let output = program.run(name).output().map_err(|error| format!("{entrant}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        if errors.contains(crate::UNKNOWN) {
            return Ok(Answer::Unknown);
        }
        return Err(format!("{entrant} {name} failed ({}): {errors}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let figures = figures.map_err(|_| format!("{entrant} {name} printed no figure: {text}"))?;
    Ok(Answer::Figures(figures))
}

/// Measures the suspected rows again: by instructions if one thread does the work, else by a rerun
/// of the row alone.
fn confirm(workload: &Workload, programs: &[Program], rows: &mut [Row]) -> Result<(), String> {
    for allocator in Allocator::ALL {
        let suspected = |row: &Row| row.verdict(allocator) == Some(Verdict::Suspected);
        if !rows.iter().any(suspected) {
            continue;
        }
        let find = |runtime| {
            let entrant = Entrant::rust(runtime, allocator);
            programs.iter().find(|program| program.entrant == entrant).cloned()
        };
        let (Some(gmp), Some(base)) = (find(Runtime::Gmp), find(Runtime::Base)) else { continue };
        let (by, again) = measure_again(workload, [gmp, base])?;
        for (row, again) in rows.iter_mut().zip(again).filter(|(row, _)| suspected(row)) {
            let figures = |runtime| again.figures(runtime, allocator).unwrap_or_default().to_vec();
            let (gmp, base) = (figures(Runtime::Gmp), figures(Runtime::Base));
            row.confirmations.push(Confirmation { allocator, by, gmp, base });
        }
    }
    Ok(())
}

/// The second measurement of gmp and the baseline.
fn measure_again(workload: &Workload, pair: [Program; 2]) -> Result<(Method, Vec<Row>), String> {
    let name = workload.name;
    if workload.threads == Threads::One && instructions::is_available() {
        let mut row = Row::new(name, instructions::UNIT);
        for program in &pair {
            match instructions::per_op(program, name)? {
                Some(count) => row.push(program.entrant, count),
                None => return Err(format!("{name}: instructions cannot be counted")),
            }
        }
        return Ok((Method::Instructions, vec![row]));
    }
    let rounds = verdict::CONFIRM_ROUNDS;
    eprintln!("{name} is worse than the baseline: it is rerun with {rounds} rounds");
    let mut progress = Progress::new(workload.seconds * (rounds * pair.len()) as f64);
    Ok((Method::Rounds, run_rounds(workload, &pair, rounds, &mut progress)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    const BASE: Entrant = Entrant::rust(Runtime::Base, Allocator::Malloc);
    const GMP: Entrant = Entrant::rust(Runtime::Gmp, Allocator::Malloc);

    #[test]
    fn every_program_runs_once_in_a_round_and_the_first_one_changes() {
        let entrants = [Entrant::GO, BASE, GMP];
        let programs = entrants.map(|entrant| Program::new(entrant, "p".into()));
        for round in 0..5 {
            let order: Vec<Entrant> =
                rotated(&programs, round).map(|program| program.entrant).collect();
            assert_eq!(order[0], entrants[round % 3]);
            assert_eq!(order.len(), 3);
            assert!(entrants.iter().all(|entrant| order.contains(entrant)));
        }
    }

    /// Held from writing a script to the end of its process. A script that is open for writing
    /// cannot be started, and a process that another test forks in between would keep it open.
    static SCRIPTS: Mutex<()> = Mutex::new(());

    /// A folder of programs that are shell scripts.
    struct Scripts {
        folder: PathBuf,
        _lock: MutexGuard<'static, ()>,
    }

    impl Scripts {
        fn new() -> Self {
            let lock = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = std::env::temp_dir().join(format!("gmp-bench-{}", std::process::id()));
            std::fs::create_dir(&folder).unwrap();
            Self { folder, _lock: lock }
        }

        fn program(&self, entrant: Entrant, lines: &str) -> Program {
            let path = self.folder.join(entrant.runtime.name());
            std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            Program::new(entrant, path)
        }
    }

    impl Drop for Scripts {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    fn cell(program: &Program, name: &str) -> Result<Option<Vec<f64>>, String> {
        measure_cell(program, workload::find(name).unwrap())
    }

    #[test]
    fn a_figure_is_read_from_the_standard_output() {
        let scripts = Scripts::new();
        let base = scripts.program(BASE, "test \"$*\" = 'run gmp yield' && echo 12.5");
        assert_eq!(cell(&base, "yield"), Ok(Some(vec![12.5])));
    }

    #[test]
    fn a_workload_prints_as_many_figures_as_it_has_rows() {
        let scripts = Scripts::new();
        let base = scripts.program(BASE, "echo 12.5 7");
        assert_eq!(cell(&base, "bursts"), Ok(Some(vec![12.5, 7.0])));
        assert!(cell(&base, "yield").unwrap_err().contains("2 figures"));
        let words = scripts.program(BASE, "echo twelve");
        assert!(cell(&words, "yield").unwrap_err().contains("twelve"));
    }

    #[test]
    fn a_workload_that_the_baseline_lacks_is_no_error() {
        let scripts = Scripts::new();
        // The messages of builds before `--baseline`; such a server prints no address.
        let lines = "case $1 in\n\
             run) echo \"no such contestant or workload: $2 $3\" >&2 ;;\n\
             serve) echo \"no such contestant or protocol: $2 $3\" >&2 ;;\n\
             esac\nexit 1";
        let base = scripts.program(BASE, lines);
        assert_eq!(cell(&base, "yield"), Ok(None));
        assert_eq!(cell(&base, "mixed"), Ok(None));
        let gmp = scripts.program(GMP, lines);
        assert!(cell(&gmp, "yield").unwrap_err().contains("does not know"));
    }

    #[test]
    fn a_baseline_that_crashes_is_an_error() {
        let scripts = Scripts::new();
        let base = scripts.program(BASE, "echo 'wrong sum' >&2\nexit 101");
        assert!(cell(&base, "yield").unwrap_err().contains("wrong sum"));
        assert!(cell(&base, "mixed").unwrap_err().contains("wrong sum"));
    }

    /// Runs the confirmation of a row in which gmp needed 110 and the baseline 100.
    fn confirmed(gmp_prints: u32) -> Row {
        let scripts = Scripts::new();
        let programs = [
            scripts.program(GMP, &format!("echo {gmp_prints}")),
            scripts.program(BASE, "echo 100"),
        ];
        let workload = workload::find("fan_in").unwrap();
        let mut rows = workload.rows();
        for _ in 0..verdict::ROUNDS {
            rows[0].push(GMP, 110.0);
            rows[0].push(BASE, 100.0);
        }
        confirm(workload, &programs, &mut rows).unwrap();
        rows.remove(0)
    }

    #[test]
    fn a_suspected_row_is_rerun_with_fifteen_rounds() {
        let row = confirmed(110);
        assert_eq!(row.verdict(Allocator::Malloc), Some(Verdict::Worse));
        let again = &row.confirmations[0];
        assert_eq!((again.by, again.gmp.len(), again.base.len()), (Method::Rounds, 15, 15));
        assert_eq!(again.gmp[0], 110.0);
        assert_eq!(confirmed(100).verdict(Allocator::Malloc), Some(Verdict::Noise));
    }
}
