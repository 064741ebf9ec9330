//! The cells as text: for a terminal, for Markdown, and for the cells of the heat map.

use super::figures::{Cell, Figures};
use super::limits::Verdict;
use super::map::HeatMap;
use super::names::{Load, Source};
use crate::entrant::Runtime;
use std::fmt::Write as _;

/// The name in the marker lines of the Markdown table.
pub(crate) const TABLE: &str = "gmp-lateness";

/// Marks a cell whose load delays the control thread by itself.
const CROWDED: &str = "†";
/// Marks a cell with a control thread that was more than 1 ms late in a round that counts.
const DISTURBED: &str = "‡";

/// A time in µs, with its unit.
pub(crate) fn time(micros: f64) -> String {
    match micros {
        t if t < 9.95 => format!("{t:.1} µs"),
        t if t < 99.5 => format!("{t:.0} µs"),
        t if t < 9_950.0 => format!("{:.2} ms", t / 1e3),
        t if t < 999_500.0 => format!("{:.0} ms", t / 1e3),
        t => format!("{:.1} s", t / 1e6),
    }
}

/// The three figures.
pub(crate) fn figures(figures: Figures) -> String {
    format!("{} / {} / {}", time(figures.p50), time(figures.p99), time(figures.max))
}

/// The figures of a cell with its marks, or that it was not done.
pub(crate) fn cell(map: &HeatMap, load: Load, source: Source, runtime: Runtime) -> String {
    let Some(cell) = map.find(load, source, runtime) else { return "–".to_owned() };
    let mut text = match cell.figures() {
        Some(all) => figures(all),
        None => format!("not done in {} s", map.limit),
    };
    let marks = marks(map, cell);
    if !marks.is_empty() {
        let _ = write!(text, " {marks}");
    }
    text
}

/// The marks of a cell.
pub(crate) fn marks(map: &HeatMap, cell: &Cell) -> String {
    let mut marks = String::new();
    if map.is_crowded(cell) {
        marks += CROWDED;
    }
    if cell.control() > 1_000.0 {
        marks += DISTURBED;
    }
    marks
}

/// The meaning of the marks.
pub(crate) fn legend() -> String {
    format!(
        "{CROWDED} More threads compute than there are CPUs, which delays the control thread \
         itself. {DISTURBED} The control thread was more than 1 ms late in a round that counts."
    )
}

/// A verdict in words.
pub(crate) fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::NotDone => "NOT DONE".to_owned(),
        Verdict::Exceeds(over) => {
            let parts: Vec<String> = over
                .iter()
                .map(|excess| format!("{} above {}", excess.figure, time(excess.limit)))
                .collect();
            parts.join(", ")
        }
    }
}

/// The verdict on the cell of gmp in words.
fn verdict_of(map: &HeatMap, load: Load, source: Source) -> String {
    let cell = map.find(load, source, Runtime::Gmp);
    cell.map_or("–".to_owned(), |cell| verdict(&map.verdict(cell)))
}

/// The first line of the table for a terminal.
pub(crate) fn head(map: &HeatMap) -> String {
    let mut line = format!("{:>8}", "");
    for runtime in &map.runtimes {
        let _ = write!(line, "  {:<32}", format!("{} p50 / p99 / max", runtime.name()));
    }
    line + "  verdict"
}

/// The line above the cells of a load.
pub(crate) fn load(map: &HeatMap, load: Load) -> String {
    let poll = map.poll(load).map_or(String::new(), |poll| format!(", poll {}", time(poll)));
    format!("{}: {}{poll}", load.name(), load.about())
}

/// One source beside one load.
pub(crate) fn line(map: &HeatMap, load: Load, source: Source) -> String {
    let mut line = format!("{:>8}", source.name());
    for &runtime in &map.runtimes {
        let _ = write!(line, "  {:<32}", cell(map, load, source, runtime));
    }
    format!("{line}  {}", verdict_of(map, load, source))
}

/// The last line: how many cells hold.
pub(crate) fn summary(map: &HeatMap) -> String {
    let (failures, all) = map.failures();
    let holds = all - failures.len();
    let mut line = format!("gmp is within the limits in {holds} of {all} cells.");
    if map.runtimes.contains(&Runtime::Base) {
        let base = map.cells.iter().filter(|cell| cell.runtime == Runtime::Base);
        let (holds, all) = base.fold((0, 0), |(holds, all), cell| {
            (holds + usize::from(map.verdict(cell) == Verdict::Holds), all + 1)
        });
        let _ = write!(line, " The baseline is in {holds} of {all}.");
    }
    line
}

/// The map as Markdown.
pub(crate) fn markdown(map: &HeatMap) -> String {
    let mut page = String::new();
    for about in &map.about {
        let _ = writeln!(page, "{about}.\n");
    }
    let caveats = map.caveats();
    if !caveats.is_empty() {
        let _ = writeln!(page, "**Not for publication**: {}.\n", caveats.join("; "));
    }
    page += "p50 / p99 / maximum from the event to the goroutine's first instruction; less is \
             better.\n\n| beside | woken by |";
    for runtime in &map.runtimes {
        let _ = write!(page, " {} |", runtime.name());
    }
    let _ = writeln!(
        page,
        " limits p50 / p99 | verdict on gmp |\n|---|---|{}---|---|",
        "---|".repeat(map.runtimes.len())
    );
    for one in map.loads() {
        let mut title = load(map, one);
        for source in map.sources() {
            let limits = map.limits(one, source);
            let _ = write!(page, "| {} | {} |", std::mem::take(&mut title), source.about());
            for &runtime in &map.runtimes {
                let _ = write!(page, " {} |", cell(map, one, source, runtime));
            }
            let limits = format!("{} / {}", time(limits.p50), time(limits.p99));
            let _ = writeln!(page, " {limits} | {} |", verdict_of(map, one, source));
        }
    }
    let _ = writeln!(page, "\n{}\n\n{}", legend(), summary(map));
    page
}

#[cfg(test)]
mod tests {
    use super::super::figures::Round;
    use super::super::map::tests::map;
    use super::*;

    #[test]
    fn times_have_two_or_three_digits_and_a_unit() {
        for (micros, text) in [
            (0.84, "0.8 µs"),
            (9.96, "10 µs"),
            (53.2, "53 µs"),
            (99.6, "0.10 ms"),
            (253.0, "0.25 ms"),
            (9_949.0, "9.95 ms"),
            (9_951.0, "10 ms"),
            (999_600.0, "1.0 s"),
        ] {
            assert_eq!(time(micros), text);
        }
    }

    #[test]
    fn markdown_shows_figures_limits_and_the_verdict() {
        let figures = [[70.0, 100.0], [30.0, 40.0], [50.0, 60.0]];
        let page = markdown(&map(Load::None, Source::Timer, figures));
        let line = "| none: no load | a timer | 70 µs / 0.10 ms / 0.20 ms |";
        assert!(page.contains(line), "{page}");
        assert!(page.contains("| 60 µs / 0.25 ms | p50 above 60 µs |\n"), "{page}");
        assert!(page.contains("within the limits in 0 of 1 cells"), "{page}");
        assert!(page.contains("**Not for publication**"), "{page}");
    }

    #[test]
    fn a_cell_that_was_not_done_says_so() {
        let mut map = map(Load::Hogs, Source::Timer, [[1.0, 2.0]; 3]);
        map.cells[1].rounds = vec![Round::killed(0.0)];
        assert_eq!(cell(&map, Load::Hogs, Source::Timer, Runtime::Tokio), "not done in 10 s");
        assert_eq!(cell(&map, Load::Hogs, Source::Timer, Runtime::Base), "–");
    }

    #[test]
    fn marks_show_a_crowded_machine_and_a_late_control() {
        let mut map = map(Load::Hogs, Source::Timer, [[1.0, 2.0]; 3]);
        assert!(cell(&map, Load::Hogs, Source::Timer, Runtime::Gmp).ends_with("4.0 µs †"));
        assert!(cell(&map, Load::Hogs, Source::Timer, Runtime::Go).ends_with("4.0 µs"));
        map.cells[2].rounds[0].control = 1_001.0;
        assert!(cell(&map, Load::Hogs, Source::Timer, Runtime::Go).ends_with("4.0 µs ‡"));
    }
}
