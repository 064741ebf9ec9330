//! The table in Markdown, for a file that keeps it between two marker lines.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::report::Report;
use crate::row::{Row, figure};
use crate::text;
use crate::workload;
use std::fmt::Write as _;

/// The name in the marker lines of the table of figures.
pub(crate) const TABLE: &str = "gmp-bench";
/// The name in the marker lines of the table of instructions.
pub(crate) const INSTRUCTIONS: &str = "gmp-bench-instructions";

/// The report as Markdown.
pub(crate) fn table(report: &Report) -> String {
    let mut page = String::new();
    for about in &report.about {
        let _ = writeln!(page, "{about}.\n");
    }
    let caveats = report.caveats();
    if !caveats.is_empty() {
        let _ = writeln!(page, "**Not for publication**: {}.\n", caveats.join("; "));
    }
    page += &lines(report);
    let _ = writeln!(page, "\n{}", report.mean());
    page
}

/// The rows of a report as Markdown, without a mean.
pub(crate) fn lines(report: &Report) -> String {
    let columns = &report.entrants;
    let base = report.has_base();
    let mut page = String::from("| workload |");
    for entrant in columns {
        let _ = write!(page, " {entrant} |");
    }
    page += " vs best peer |";
    page += if base { " vs base |\n" } else { "\n" };
    page += &format!("|---|{}\n", "---|".repeat(columns.len() + 1 + usize::from(base)));
    for row in &report.rows {
        page += &line(row, columns);
        page += &if base { format!(" {} |\n", against_base(row)) } else { "\n".to_owned() };
    }
    page
}

fn line(row: &Row, columns: &[Entrant]) -> String {
    let about = workload::describe(&row.name).unwrap_or_default();
    let mut line = format!("| `{}`: {about}, {} |", row.name, row.unit);
    for entrant in columns {
        let _ = write!(line, " {} |", cell(row, *entrant));
    }
    match row.ratio() {
        Some(ratio) => {
            let _ = write!(line, " {:.2}× ({}) |", ratio.value, ratio.allocator.name());
        }
        None => line += " – |",
    }
    line
}

/// The median, with the spread for gmp.
fn cell(row: &Row, entrant: Entrant) -> String {
    let allocator = entrant.allocator.unwrap_or(Allocator::Malloc);
    let Some(median) = row.median(entrant.runtime, allocator) else { return "–".to_owned() };
    match row.spread(entrant.runtime, allocator) {
        Some((least, most)) if entrant.runtime == Runtime::Gmp && least < most => {
            format!("{} ({}–{})", figure(median), figure(least), figure(most))
        }
        _ => figure(median),
    }
}

/// The comparison with the baseline, for each allocator that it has.
fn against_base(row: &Row) -> String {
    let parts = Allocator::ALL.into_iter().filter_map(|allocator| {
        let ratio = row.ratio_to_base(allocator)?;
        let verdict = text::verdict(row, allocator)?.name();
        Some(format!("{ratio:.2}× {verdict} ({})", allocator.name()))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// Puts `table` between the marker lines `<!-- NAME:begin -->` and `<!-- NAME:end -->` of `page`.
/// Returns `None` if the page does not have both.
pub(crate) fn insert(page: &str, name: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- {name}:begin -->\n");
    let (before, rest) = page.split_once(&begin)?;
    let end = format!("<!-- {name}:end -->");
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", table.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_what_stands_between_its_markers() {
        let page = "a\n<!-- t:begin -->\nold\n<!-- t:end -->\nb\n";
        let once = insert(page, "t", "| new |\n").unwrap();
        assert_eq!(once, "a\n<!-- t:begin -->\n\n| new |\n\n<!-- t:end -->\nb\n");
        assert_eq!(insert(&once, "t", "| new |\n"), Some(once));
    }

    #[test]
    fn a_page_without_both_markers_is_left_alone() {
        assert_eq!(insert("a\n<!-- t:begin -->\n", "t", "x"), None);
        assert_eq!(insert("a\n", "t", "x"), None);
    }

    #[test]
    fn a_row_shows_both_allocators_and_which_one_gave_the_ratio() {
        let gmp = |allocator| Entrant::rust(Runtime::Gmp, allocator);
        let mut row = Row::new("yield", "ns");
        row.push(gmp(Allocator::Malloc), 10.0);
        row.push(gmp(Allocator::Malloc), 12.0);
        row.push(gmp(Allocator::Mimalloc), 8.0);
        row.push(Entrant::GO, 24.0);
        let entrants = vec![gmp(Allocator::Malloc), gmp(Allocator::Mimalloc), Entrant::GO];
        let mut report = Report::new("here".to_owned(), entrants);
        report.rows.push(row);
        let page = table(&report);
        assert!(page.contains("12.0 (10.0–12.0) | 8.00 | 24.0 | 2.00× (malloc) |\n"), "{page}");
        assert!(page.contains("**Not for publication**: 9 rounds are needed"), "{page}");
        assert!(page.contains("No mean"), "{page}");
    }
}
