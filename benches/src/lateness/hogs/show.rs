//! The table beside hogs: for a terminal, as Markdown and as a page.

use super::super::page;
use super::super::text::time;
use super::figures::{HogTable, Medians, Verdict};
use super::work::WINDOWS;
use crate::entrant::Runtime;
use std::fmt::Write as _;

/// The name in the marker lines of the Markdown table.
pub(crate) const TABLE: &str = "gmp-hogs";

/// The meaning of a cell.
const MEANING: &str = "p50 / p99 / maximum lateness of a 1 ms sleep beside goroutines that compute \
    without an await; threads of the process at the end of the window; work of the hogs relative \
    to 2 plain threads.";

fn window_name(window: usize) -> String {
    let window = WINDOWS[window];
    format!("{}–{} s", window.from, window.to)
}

/// The figures of a cell, or that no sleep ended.
fn cell(table: &HogTable, hogs: usize, window: usize, runtime: Runtime) -> String {
    let medians = table.find(hogs, runtime).and_then(|cell| cell.medians(window));
    medians.map_or("–".to_owned(), figures)
}

fn figures(medians: Medians) -> String {
    let mut text = match medians.lateness {
        Some(late) => {
            format!("{} / {} / {}", time(late.p50), time(late.p99), time(late.max))
        }
        None => "no sleep ended".to_owned(),
    };
    let _ = write!(text, ", {} threads", medians.threads);
    if let Some(work) = medians.work {
        let _ = write!(text, ", work {work:.2}");
    }
    text
}

fn verdict(table: &HogTable, hogs: usize, window: usize) -> String {
    match table.verdict(hogs, window) {
        Verdict::Holds => "holds".to_owned(),
        Verdict::NotDone => "NOT DONE".to_owned(),
        Verdict::Exceeds(over) => over.join(", "),
    }
}

/// The throttled periods of each contestant. Returns nothing without a CPU quota.
fn throttled(table: &HogTable, hogs: usize) -> Option<String> {
    let parts = table.runtimes.iter().filter_map(|&runtime| {
        let all = table.find(hogs, runtime)?.throttled()?;
        Some(format!(
            "{} in {} of {} periods for {:.1} s",
            runtime.name(),
            all.throttled,
            all.periods,
            all.seconds
        ))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("throttled beside {hogs} hogs: {}", parts.join("; ")))
}

/// The first line of the table for a terminal.
pub(crate) fn head(table: &HogTable) -> String {
    let mut line = format!("{:>4} {:<8}", "hogs", "window");
    for runtime in &table.runtimes {
        let _ = write!(line, "  {:<52}", format!("{} p50 / p99 / max", runtime.name()));
    }
    line + "  verdict"
}

/// The lines of one number of hogs for a terminal.
pub(crate) fn lines(table: &HogTable, hogs: usize) -> String {
    let mut lines = String::new();
    for window in 0..table.windows {
        let _ = write!(lines, "{hogs:>4} {:<8}", window_name(window));
        for &runtime in &table.runtimes {
            let _ = write!(lines, "  {:<52}", cell(table, hogs, window, runtime));
        }
        let _ = writeln!(lines, "  {}", verdict(table, hogs, window));
    }
    if let Some(throttled) = throttled(table, hogs) {
        let _ = writeln!(lines, "     {throttled}");
    }
    lines
}

/// The table as Markdown.
pub(crate) fn markdown(table: &HogTable) -> String {
    let mut page = String::new();
    for about in &table.about {
        let _ = writeln!(page, "{about}.\n");
    }
    let caveats = table.caveats();
    if !caveats.is_empty() {
        let _ = writeln!(page, "**Not for publication**: {}.\n", caveats.join("; "));
    }
    let _ = write!(page, "{MEANING}\n\n| hogs | window |");
    for runtime in &table.runtimes {
        let _ = write!(page, " {} |", runtime.name());
    }
    let _ = writeln!(page, " gmp's limits |\n|---|---|{}---|", "---|".repeat(table.runtimes.len()));
    for (hogs, window) in table.lines() {
        let _ = write!(page, "| {hogs} | {} |", window_name(window));
        for &runtime in &table.runtimes {
            let _ = write!(page, " {} |", cell(table, hogs, window, runtime));
        }
        let _ = writeln!(page, " {} |", verdict(table, hogs, window));
    }
    for line in all_throttled(table) {
        let _ = writeln!(page, "\n{line}.");
    }
    page
}

/// The table as a page.
pub(crate) fn page(table: &HogTable) -> String {
    let mut page = page::start("Lateness beside hogs", &table.about);
    page::warn(&mut page, &table.caveats());
    let _ = write!(page, "<p>{MEANING}</p>\n<div class=wide><table><tr><th>hogs<th>window");
    for runtime in &table.runtimes {
        let _ = write!(page, "<th>{}", runtime.name());
    }
    page += "<th>gmp's limits</tr>\n";
    for (hogs, window) in table.lines() {
        let _ = write!(page, "<tr><td>{hogs}<td>{}", window_name(window));
        for &runtime in &table.runtimes {
            let _ = write!(page, "<td>{}", cell(table, hogs, window, runtime));
        }
        let class = if table.verdict(hogs, window) == Verdict::Holds { "h0" } else { "h4" };
        let _ = writeln!(page, "<td class={class}>{}</tr>", verdict(table, hogs, window));
    }
    page += "</table></div>\n";
    for line in all_throttled(table) {
        let _ = writeln!(page, "<p>{line}.</p>");
    }
    page + "</html>\n"
}

fn all_throttled(table: &HogTable) -> impl Iterator<Item = String> {
    let mut numbers: Vec<usize> = table.cells.iter().map(|cell| cell.hogs).collect();
    numbers.dedup();
    numbers.into_iter().filter_map(|hogs| throttled(table, hogs))
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::Throttled;
    use super::super::figures::{HogCell, HogRound, Lateness, WindowFigures};
    use super::*;

    fn table(throttled: Option<Throttled>) -> HogTable {
        let round = |p50: f64| HogRound {
            windows: vec![WindowFigures {
                lateness: Some(Lateness { p50, p99: p50 * 2.0, max: p50 * 3.0 }),
                threads: 6,
                work: Some(0.97),
            }],
            throttled,
        };
        let cell = |runtime, rounds| HogCell { hogs: 10, runtime, rounds };
        HogTable {
            about: vec!["here".to_owned()],
            runtimes: vec![Runtime::Gmp, Runtime::Tokio, Runtime::Go],
            windows: 1,
            cells: vec![
                cell(Runtime::Gmp, vec![round(74.0)]),
                cell(Runtime::Tokio, vec![HogRound::killed(1)]),
                cell(Runtime::Go, vec![round(19_000.0)]),
            ],
        }
    }

    #[test]
    fn markdown_shows_lateness_threads_work_and_the_verdict() {
        let page = markdown(&table(None));
        let line = "| 10 | 0–3 s | 74 µs / 0.15 ms / 0.22 ms, 6 threads, work 0.97 | \
                    no sleep ended, 0 threads | 19 ms / 38 ms / 57 ms, 6 threads, work 0.97 | \
                    holds |\n";
        assert!(page.contains(line), "{page}");
        assert!(!page.contains("throttled"), "{page}");
    }

    #[test]
    fn throttled_periods_are_shown_under_a_quota() {
        let stat = Throttled { periods: 30, throttled: 29, seconds: 1.5 };
        for page in [markdown(&table(Some(stat))), page(&table(Some(stat)))] {
            assert!(page.contains("gmp in 29 of 30 periods for 1.5 s; go in 29"), "{page}");
        }
    }
}
