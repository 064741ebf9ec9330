//! Benchmarks of gmp beside Tokio, smol and Go, on the same machine in the same run.
//!
//! Each workload runs on each contestant in its own process, interleaved over several rounds.
//! `table` does that, with the programs that `programs` builds and finds. A `row` keeps the
//! figures, a `report` all rows, and `text`, `markdown` and `html` show it. `verdict` decides
//! whether a row became worse than the baseline's.
//!
//! `workload`, `channels`, `selects`, `locks`, `compute`, `unmarked`, `disk`, `growth`, `bulk` and
//! `churn` are the workloads, `contestant` and `link` the interfaces that they run on. `server`,
//! `load` and `mixed` measure from another process. `instructions` counts instead of measuring
//! time. `lateness` has tables of its own.

// The bin `soak` needs nothing of this. Under a sanitizer it is built without the peers.
#![cfg(feature = "peers")]

mod bulk;
mod channels;
mod churn;
mod compute;
mod contestant;
mod disk;
mod entrant;
mod growth;
mod html;
mod instructions;
mod lateness;
mod link;
mod load;
mod locks;
mod markdown;
mod mini_redis;
mod mixed;
mod options;
mod programs;
mod progress;
mod report;
mod row;
mod selects;
mod server;
mod table;
mod text;
mod unmarked;
mod verdict;
mod work;
mod workload;

use contestant::{Gmp, Smol, Tokio};
use options::{Measure, Merge, Options, Output, USAGE};
use report::Report;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use verdict::Verdict;

/// The start of the message about an unknown contestant, workload or protocol. Builds before
/// `--baseline` print it too.
pub(crate) const UNKNOWN: &str = "no such contestant or ";

/// The status of a run that found a row worse than the baseline's beyond noise.
const WORSE: u8 = 1;
/// The status after an error.
const ERROR: u8 = 2;

/// The program `gmp-bench`.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run" | "serve", ..] => contestant_main(),
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["--list"] => {
            list();
            ExitCode::SUCCESS
        }
        ["report", ..] => finish(USAGE, Merge::parse(&args[1..]), render),
        ["lateness", ..] => lateness::main(&args[1..]),
        ["hogs", ..] => lateness::hogs::main(&args[1..]),
        _ => finish(USAGE, Options::parse(&args).and_then(check), run_table),
    }
}

/// The program `gmp-bench-mimalloc`: one cell or one server, no table.
#[must_use]
pub fn contestant_main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "smol", name] if !programs::smol_threads_fit(name) => with_smol_threads(name, &args),
        ["run", contestant, name] => run_cell(contestant, name),
        ["serve", contestant, protocol] => serve(contestant, protocol),
        _ => {
            eprintln!("usage: run CONTESTANT WORKLOAD | serve CONTESTANT PROTOCOL");
            ExitCode::from(ERROR)
        }
    }
}

/// Runs `act` with the parsed options. Prints an error of either, and `usage` after a wrong option.
fn finish<T>(
    usage: &str,
    parsed: Result<T, String>,
    act: impl FnOnce(T) -> Result<ExitCode, String>,
) -> ExitCode {
    let error = match parsed {
        Ok(parsed) => match act(parsed) {
            Ok(code) => return code,
            Err(error) => error,
        },
        Err(error) => format!("{error}\n\n{}", usage.trim_end()),
    };
    eprintln!("gmp-bench: {error}");
    ExitCode::from(ERROR)
}

/// Rejects a workload that does not exist.
fn check(options: Options) -> Result<Options, String> {
    match options.only.iter().flatten().find(|name| workload::find(name).is_none()) {
        Some(name) => Err(format!("no workload {name}; --list names them")),
        None => Ok(options),
    }
}

fn list() {
    for workload in workload::ALL {
        let units: Vec<&str> = workload.figures.iter().map(|figure| figure.unit).collect();
        println!("{} ({}): {}", workload.name, units.join(", "), workload.figures[0].about);
    }
}

/// Measures, prints and writes the table.
fn run_table(options: Options) -> Result<ExitCode, String> {
    if options.measure == Measure::Instructions {
        return run_instructions(&options);
    }
    let report = table::measure(&options, |report| save(&options.output.json, &report.json()))?;
    write(&report, &options.output)?;
    println!("{}", report.mean());
    Ok(conclude(&report))
}

/// Merges reports and writes the result.
fn render(merge: Merge) -> Result<ExitCode, String> {
    let reports = merge.inputs.iter().map(|path| Report::read(path)).collect::<Result<_, _>>()?;
    let report = Report::merge(reports)?;
    println!("{}", text::head(&report));
    for row in &report.rows {
        print!("{}", text::row(row, &report));
    }
    write(&report, &merge.output)?;
    println!("{}", report.mean());
    Ok(conclude(&report))
}

/// Prints the rows that are worse than the baseline's. Returns the status.
fn conclude(report: &Report) -> ExitCode {
    for caveat in report.caveats() {
        println!("not for publication: {caveat}");
    }
    if !report.has_base() {
        return ExitCode::SUCCESS;
    }
    if !report.judged(Verdict::TooFewRounds).is_empty() {
        println!("no verdict on the baseline: fewer than {} rounds", verdict::ROUNDS);
        return ExitCode::SUCCESS;
    }
    let suspected = report.judged(Verdict::Suspected);
    if !suspected.is_empty() {
        print!("{}", text::list("worse than the baseline, not confirmed", &suspected));
    }
    status(&report.judged(Verdict::Worse))
}

/// Prints the rows that are worse beyond noise, if there are any.
fn status(worse: &[(&row::Row, entrant::Allocator)]) -> ExitCode {
    if worse.is_empty() {
        println!("no row is worse than the baseline beyond noise");
        return ExitCode::SUCCESS;
    }
    print!("{}", text::list("worse than the baseline beyond noise", worse));
    ExitCode::from(WORSE)
}

/// Counts, prints and writes the table of instructions.
fn run_instructions(options: &Options) -> Result<ExitCode, String> {
    let report = instructions::measure(options)?;
    if let Some(path) = &options.output.markdown {
        let table = markdown::lines(&report);
        write_markdown(path, markdown::INSTRUCTIONS, &table)?;
    }
    match report.has_base() {
        true => Ok(status(&instructions::worse(&report))),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Writes all files of a report.
fn write(report: &Report, output: &Output) -> Result<(), String> {
    save(&output.json, &report.json())?;
    save(&output.html, &html::page(report))?;
    println!("{}\n{}", output.json.display(), output.html.display());
    match &output.markdown {
        Some(path) => write_markdown(path, markdown::TABLE, &markdown::table(report)),
        None => Ok(()),
    }
}

/// Writes `table` between its markers in the file, or into a new file.
fn write_markdown(path: &Path, name: &str, table: &str) -> Result<(), String> {
    let page = match std::fs::read_to_string(path) {
        Ok(page) => markdown::insert(&page, name, table).ok_or(format!(
            "{}: exists and has no lines `<!-- {name}:begin -->` and `<!-- {name}:end -->`",
            path.display()
        ))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => table.to_owned(),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    save(path, &page)?;
    println!("{}", path.display());
    Ok(())
}

/// Writes a file atomically, so that Ctrl-C leaves no partial file.
fn save(path: &Path, text: &str) -> Result<(), String> {
    let named = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(named)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    std::fs::write(&temporary, text).map_err(named)?;
    std::fs::rename(&temporary, path).map_err(named)
}

/// Starts this program again with the number of smol's threads that the workload needs.
fn with_smol_threads(workload: &str, args: &[String]) -> ExitCode {
    let own = std::env::current_exe().expect("own path");
    let threads = compute::threads(workload).to_string();
    let error = Command::new(own).args(args).env("SMOL_THREADS", threads).exec();
    eprintln!("gmp-bench: cannot start itself: {error}");
    ExitCode::from(ERROR)
}

fn run_cell(contestant: &str, name: &str) -> ExitCode {
    lateness::run_cell(contestant, name);
    let figures = match contestant {
        "gmp" => run::<Gmp>(name),
        "tokio" => run::<Tokio>(name),
        "smol" => run::<Smol>(name),
        _ => None,
    };
    match figures {
        Some(figures) => {
            let figures: Vec<String> = figures.iter().map(f64::to_string).collect();
            println!("{}", figures.join(" "));
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{UNKNOWN}workload: {contestant} {name}");
            ExitCode::FAILURE
        }
    }
}

fn run<C: channels::Channels + disk::Disk + locks::Locks>(name: &str) -> Option<Vec<f64>> {
    run_single::<C>(name).map(|figure| vec![figure]).or_else(|| compute::run::<C>(name))
}

/// Runs a workload that has one figure.
fn run_single<C: channels::Channels + disk::Disk + locks::Locks>(name: &str) -> Option<f64> {
    (workload::run::<C>(name))
        .or_else(|| channels::run::<C>(name))
        .or_else(|| locks::run::<C>(name))
        .or_else(|| growth::run::<C>(name))
        .or_else(|| churn::run::<C>(name))
        .or_else(|| selects::run::<C>(name))
        .or_else(|| bulk::run::<C>(name))
        .or_else(|| unmarked::run::<C>(name))
        .or_else(|| disk::run::<C>(name))
}

fn serve(contestant: &str, protocol: &str) -> ExitCode {
    let known = match contestant {
        "gmp" => server::serve::<Gmp>(protocol),
        "tokio" => server::serve::<Tokio>(protocol),
        "smol" => server::serve::<Smol>(protocol),
        _ => false,
    };
    if !known {
        eprintln!("{UNKNOWN}protocol: {contestant} {protocol}");
    }
    ExitCode::FAILURE
}
