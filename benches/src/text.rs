//! The table for a terminal: two lines for a row, one for each allocator.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::instructions;
use crate::report::Report;
use crate::row::{Row, figure};
use crate::verdict::Verdict;

/// The runtimes that have a column.
fn columns(report: &Report) -> Vec<Runtime> {
    let mut runtimes: Vec<Runtime> = report.entrants.iter().map(|one| one.runtime).collect();
    runtimes.sort_unstable();
    runtimes.dedup();
    runtimes
}

/// The first line.
pub(crate) fn head(report: &Report) -> String {
    let heads: Vec<String> =
        columns(report).iter().map(|runtime| format!("{:>10}", runtime.name())).collect();
    let base = if report.has_base() { "  vs base" } else { "" };
    format!(
        "{:>15} {:<8} {} {:>19}  vs best peer{base}",
        "",
        "with",
        heads.join(" "),
        "(gmp's spread)"
    )
}

/// The lines of one row. `*` marks the ratio that counts: the smaller one.
pub(crate) fn row(row: &Row, report: &Report) -> String {
    let mut lines = String::new();
    for (n, allocator) in row.allocators().enumerate() {
        let name = if n == 0 { row.name.as_str() } else { "" };
        let cells: Vec<String> = columns(report)
            .iter()
            .map(|one| format!("{:>10}", cell(row, *one, allocator)))
            .collect();
        let counts = row.ratio().is_some_and(|ratio| ratio.allocator == allocator);
        let mark = if counts { "*" } else { " " };
        let ratio = row.ratio_with(allocator).map_or("-".to_owned(), |r| format!("{r:.2}x{mark}"));
        let line = format!(
            "{name:>15} {:<8} {} {:>19}  {ratio:<12}{}  {}",
            allocator.name(),
            cells.join(" "),
            spread(row, allocator),
            against_base(row, allocator),
            if n == 0 { format!("({})", row.unit) } else { String::new() },
        );
        lines += line.trim_end();
        lines.push('\n');
    }
    lines
}

fn cell(row: &Row, runtime: Runtime, allocator: Allocator) -> String {
    row.median(runtime, allocator).map_or("-".to_owned(), figure)
}

fn spread(row: &Row, allocator: Allocator) -> String {
    match row.spread(Runtime::Gmp, allocator) {
        Some((least, most)) if least < most => format!("({} – {})", figure(least), figure(most)),
        _ => String::new(),
    }
}

/// The comparison with the baseline, empty without one.
fn against_base(row: &Row, allocator: Allocator) -> String {
    let Some(ratio) = row.ratio_to_base(allocator) else { return String::new() };
    format!("  {ratio:.2}x {}", verdict(row, allocator).map_or("", Verdict::name))
}

/// The verdict by the rule for the row's unit.
pub(crate) fn verdict(row: &Row, allocator: Allocator) -> Option<Verdict> {
    if row.unit == instructions::UNIT {
        instructions::verdict(row, allocator)
    } else {
        row.verdict(allocator)
    }
}

/// The list of rows that are worse than the baseline.
pub(crate) fn list(title: &str, rows: &[(&Row, Allocator)]) -> String {
    let mut lines = format!("{title}:\n");
    for (row, allocator) in rows {
        let ratio = row.ratio_to_base(*allocator).unwrap_or(f64::NAN);
        let entrant = Entrant::rust(Runtime::Gmp, *allocator);
        lines += &format!("  {}, {entrant}: {:.1} % more\n", row.name, (1.0 / ratio - 1.0) * 100.0);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_marks_the_ratio_that_counts_and_shows_a_missing_baseline_as_a_dash() {
        let mut one = Row::new("yield", "ns");
        for (allocator, tokio) in [(Allocator::Malloc, 50.0), (Allocator::Mimalloc, 20.0)] {
            one.push(Entrant::rust(Runtime::Gmp, allocator), 10.0);
            one.push(Entrant::rust(Runtime::Tokio, allocator), tokio);
        }
        let mut entrants: Vec<Entrant> = one.cells.iter().map(|cell| cell.entrant).collect();
        entrants.push(Entrant::rust(Runtime::Base, Allocator::Malloc));
        let lines = row(&one, &Report::new(String::new(), entrants));
        let lines: Vec<&str> = lines.lines().collect();
        assert!(lines[0].contains("malloc") && lines[0].contains("5.00x "), "{}", lines[0]);
        assert!(lines[0].split_whitespace().any(|word| word == "-"), "{}", lines[0]);
        assert!(lines[1].contains("mimalloc") && lines[1].contains("2.00x*"), "{}", lines[1]);
    }
}
