//! The cost of shared structures with many Ps: real scans, and a simulation.
//!
//! `cargo run --release -p gmp-bench --bin scaling` prints two Markdown tables for `SCALING.md` of
//! this package. The first has the cost of scans over all Ps on this machine ([`measured`]). The
//! second has the throughput of workloads on machines with many cores, the shared line that limits
//! each of them, and the gain from splitting that line ([`machine`], [`work`]). The simulation is
//! deterministic.

mod line;
mod machine;
mod measured;
mod work;

/// The numbers of Ps.
const PROCS: [usize; 4] = [2, 8, 64, 256];

/// A line that is busy for a smaller part of the time is not named.
const QUIET: f64 = 0.05;

fn main() {
    print_looks();
    println!();
    print_workloads();
}

fn print_looks() {
    println!(
        "ns: nobody has written since · all others made a poll since · what it costs each of them"
    );
    header("look");
    let by_procs = measured::looks(&PROCS);
    for (n, look) in by_procs[0].iter().enumerate() {
        let cells = by_procs.iter().map(|looks| looks[n]);
        row(
            look.name,
            cells.map(|l| {
                format!("{:.0} · {:.0} · {:.0}", l.again, l.after_polls, l.to_others.max(0.0))
            }),
        );
    }
    let wake_ups = PROCS.iter().map(|procs| format!("{:.0} µs", measured::wake_up(*procs)));
    row("CPU for a wake-up and the sleep after it", wake_ups);
    let (own, foreign) = measured::batch_off_queue();
    println!(
        "a batch off the global queue, ns per goroutine: own {own:.1}, of another core {foreign:.1}"
    );
}

fn print_workloads() {
    println!("million per second and P, how busy the busiest shared lines are");
    header("workload");
    for workload in work::WORKLOADS {
        let cells = PROCS.iter().map(|procs| {
            let (outcome, busy) = workload.run(*procs);
            format!("{:.3}{}", outcome.per_second / 1e6 / *procs as f64, busiest(&busy))
        });
        row(workload.name, cells);
    }
}

/// Returns the two busiest lines above [`QUIET`].
fn busiest(busy: &[f64]) -> String {
    let mut lines: Vec<_> = work::SHARED.iter().zip(busy).filter(|(_, b)| **b > QUIET).collect();
    lines.sort_by(|a, b| b.1.total_cmp(a.1));
    let named = lines.iter().take(2).map(|(line, b)| format!(" {line:?} {:.0} %", **b * 100.0));
    named.collect::<Vec<_>>().join(",")
}

fn header(first: &str) {
    row(first, PROCS.iter().map(|procs| format!("{procs} Ps")));
    row("---", PROCS.iter().map(|_| "---".to_owned()));
}

fn row(first: &str, cells: impl Iterator<Item = String>) {
    println!("| {first} | {} |", cells.collect::<Vec<_>>().join(" | "));
}
