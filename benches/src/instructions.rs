//! Instructions per operation, counted by valgrind's callgrind: a figure without noise.
//!
//! A workload runs with some rounds and with more; what the extra rounds cost, divided by their operations, is the figure.
//! One thread each, because valgrind runs one at a time anyway. Go is left out: valgrind does not run it.

use crate::of_this_program;
use crate::workload::ROUNDS;
use std::process::{Command, ExitCode};

const CONTESTANTS: [&str; 3] = ["gmp", "tokio", "smol"];
/// Workloads that do the same in every round, and how many operations that is.
const WORKLOADS: [(&str, u64); 8] = [
    ("spawn_many", 10_000),
    ("spawn_join", 1_000),
    ("yield", 200_000),
    ("chain", 1_000),
    ("timeout", 1_000),
    ("ping_pong", 2_000),
    ("fan_in", 40_000),
    ("mutex", 32_000),
];
const FEW: u64 = 5;
const MORE: u64 = 15;

/// Counts and prints.
pub(crate) fn print_table() -> ExitCode {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("gmp-bench: --instructions needs valgrind (`apt-get install valgrind`)");
        return ExitCode::FAILURE;
    }
    println!("instructions per operation, one thread");
    println!("{:>12} {}  vs best peer", "", CONTESTANTS.map(|who| format!("{who:>8}")).join(" "));
    for (name, ops) in WORKLOADS {
        let counts = CONTESTANTS.map(|who| per_op(who, name, ops));
        let best = counts[1..].iter().copied().fold(f64::INFINITY, f64::min);
        let cells = counts.map(|count| format!("{count:>8.0}")).join(" ");
        println!("{name:>12} {cells}  {:.2}x", best / counts[0]);
    }
    ExitCode::SUCCESS
}

fn per_op(contestant: &str, name: &str, ops: u64) -> f64 {
    let [few, more] = [FEW, MORE].map(|rounds| count(contestant, name, rounds));
    more.saturating_sub(few) as f64 / ((MORE - FEW) * ops) as f64
}

fn count(contestant: &str, name: &str, rounds: u64) -> u64 {
    let cell = of_this_program(&["run", contestant, name]);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(cell.get_program())
        .args(cell.get_args())
        .env(ROUNDS, rounds.to_string())
        .envs([("GMPMAXPROCS", "1"), ("TOKIO_WORKER_THREADS", "1"), ("SMOL_THREADS", "1")])
        .output()
        .expect("run valgrind");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{contestant} {name}: {told}");
    let line = told.lines().find_map(|line| line.split_once("Collected : ")).expect("a count");
    line.1.trim().parse().expect("a number")
}
