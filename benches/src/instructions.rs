//! Instructions per operation, counted by valgrind's callgrind: figures without noise.
//!
//! A workload runs with [`FEW`] rounds and with [`MORE`]. The difference divided by the operations
//! of the extra rounds is the figure. Each runtime has one worker thread, because valgrind runs one
//! thread at a time. Go is left out, because valgrind does not run it.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::options::Options;
use crate::programs::{self, Program};
use crate::report::Report;
use crate::row::Row;
use crate::text;
use crate::verdict::{Verdict, judge_instructions};
use crate::workload::ROUNDS;
use std::process::Command;

/// The workloads that do the same in every round, with the number of operations of a round.
const WORKLOADS: [(&str, u64); 10] = [
    ("spawn_many", 10_000),
    ("spawn_join", 1_000),
    ("yield", 200_000),
    ("chain", 1_000),
    ("timeout", 1_000),
    ("ping_pong", 2_000),
    ("fan_in", 40_000),
    ("select10", 10_000),
    ("select100", 10_000),
    ("mutex", 32_000),
];
const FEW: u64 = 5;
const MORE: u64 = 15;

/// The unit of the rows.
pub(crate) const UNIT: &str = "instructions";

/// Whether valgrind is installed.
pub(crate) fn is_available() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

/// Counts and prints the table.
pub(crate) fn measure(options: &Options) -> Result<Report, String> {
    if !is_available() {
        return Err("--instructions needs valgrind (`apt-get install valgrind`)".to_owned());
    }
    let mut programs = programs::find(options.baseline.as_deref())?;
    // With one worker thread, `adaptive=0` changes nothing.
    programs.retain(|program| ![Entrant::GO, Entrant::FIXED].contains(&program.entrant));
    let entrants = programs.iter().map(|program| program.entrant).collect();
    let mut report = Report::new(
        "instructions per operation, one worker thread, callgrind".to_owned(),
        entrants,
    );
    println!("{}", text::head(&report));
    for (name, _) in WORKLOADS.iter().filter(|(name, _)| options.wants(name)) {
        let mut row = Row::new(*name, UNIT);
        for program in &programs {
            if let Some(count) = per_op(program, name)? {
                row.push(program.entrant, count);
            }
        }
        print!("{}", text::row(&row, &report));
        report.rows.push(row);
    }
    Ok(report)
}

/// The rows whose count is worse than the baseline's by more than the margin.
pub(crate) fn worse(report: &Report) -> Vec<(&Row, Allocator)> {
    let pairs = report.rows.iter().flat_map(|row| Allocator::ALL.map(|one| (row, one)));
    let is_worse =
        |(row, allocator): &(&Row, Allocator)| verdict(row, *allocator) == Some(Verdict::Worse);
    pairs.filter(is_worse).collect()
}

/// The verdict on the new build by the counts of `row`.
pub(crate) fn verdict(row: &Row, allocator: Allocator) -> Option<Verdict> {
    let gmp = row.median(Runtime::Gmp, allocator)?;
    Some(judge_instructions(gmp, row.median(Runtime::Base, allocator)?))
}

/// Returns the instructions per operation. `None` if the workload cannot be counted or is not
/// known.
pub(crate) fn per_op(program: &Program, name: &str) -> Result<Option<f64>, String> {
    let Some((_, ops)) = WORKLOADS.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let (Some(few), Some(more)) = (count(program, name, FEW)?, count(program, name, MORE)?) else {
        return Ok(None);
    };
    Ok(Some(more.saturating_sub(few) as f64 / ((MORE - FEW) * ops) as f64))
}

/// Returns the instructions of a run with `rounds` rounds. `None` if the program lacks the
/// workload.
fn count(program: &Program, name: &str, rounds: u64) -> Result<Option<u64>, String> {
    let cell = program.run(name);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(cell.get_program())
        .args(cell.get_args())
        .env_remove("GMPDEBUG")
        .env(ROUNDS, rounds.to_string())
        .envs([("GMPMAXPROCS", "1"), ("TOKIO_WORKER_THREADS", "1"), ("SMOL_THREADS", "1")])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return match messages.contains(crate::UNKNOWN) {
            true => Ok(None),
            false => Err(format!("{} {name} under valgrind: {messages}", program.entrant)),
        };
    }
    let count = messages.lines().find_map(|line| line.split_once("Collected : "));
    let count = count.and_then(|(_, count)| count.trim().parse().ok());
    count.map(Some).ok_or(format!("{} {name}: no count in {messages}", program.entrant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{self, Threads};

    #[test]
    fn every_row_with_one_thread_can_be_counted() {
        for workload in workload::ALL.iter().filter(|row| row.threads == Threads::One) {
            let counted = WORKLOADS.iter().any(|(name, _)| *name == workload.name);
            assert!(counted, "{}", workload.name);
        }
    }

    #[test]
    fn counts_are_judged_without_rounds() {
        let mut row = Row::new("yield", UNIT);
        row.push(Entrant::rust(Runtime::Gmp, Allocator::Malloc), 110.0);
        assert_eq!(verdict(&row, Allocator::Malloc), None);
        row.push(Entrant::rust(Runtime::Base, Allocator::Malloc), 100.0);
        assert_eq!(verdict(&row, Allocator::Malloc), Some(Verdict::Worse));
    }
}
