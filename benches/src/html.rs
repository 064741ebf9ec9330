//! The report as a page with a table and a plot for each row.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::report::Report;
use crate::row::{Row, figure};
use crate::text;
use crate::verdict::Verdict;
use crate::workload;
use std::fmt::Write as _;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:96em;margin:2em auto;padding:0 1em}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
td,th{padding:.2em .55em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}\
td:first-child,tr:first-child th:first-child{text-align:left}th[colspan]{text-align:center}.unit{color:#777}\
.mimalloc{background:#f4f6fa}.lost{color:#b00020}.won{color:#14692c}.counts{font-weight:600}\
.warn{background:#fff4d6;padding:.5em 1em}\
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(34em,1fr));gap:0 2em}\
h3{margin:1em 0 .2em}svg{display:block}.about{color:#555;margin:.2em 0}\
";

/// Renders the whole page.
pub(crate) fn page(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <title>gmp, Tokio, smol and Go</title><style>{STYLE}</style>\n\
         <h1>gmp, Tokio, smol and Go</h1>\n"
    );
    for about in &report.about {
        let _ = writeln!(page, "<p class=about>{}</p>", escaped(about));
    }
    let caveats = report.caveats();
    if !caveats.is_empty() {
        let _ = writeln!(page, "<p class=warn>Not for publication: {}.</p>", caveats.join("; "));
    }
    let _ = writeln!(
        page,
        "<p>Medians; less is better. A ratio above 1 means that gmp needs less than its best peer. \
         The Rust contestants run with malloc and with mimalloc, Go with its own allocator; \
         the smaller ratio counts and is printed in bold.</p>\n<p><b>{}</b></p>",
        report.mean()
    );
    page += &table(report);
    page += "<div class=plots>\n";
    for row in &report.rows {
        page += &plot(row, &report.entrants);
    }
    page + "</div></html>\n"
}

/// The columns of the table: the Rust runtimes with each allocator, then Go.
fn table(report: &Report) -> String {
    let mut table = String::from("<div class=wide><table><tr><th rowspan=2>workload");
    for allocator in allocators(report) {
        let span = with(report, allocator).count() + 1 + usize::from(report.has_base());
        let name = allocator.name();
        let _ = write!(table, "<th colspan={span} class={name}>{name}");
    }
    table += "<th rowspan=2>go</tr>\n<tr>";
    for allocator in allocators(report) {
        let class = allocator.name();
        for entrant in with(report, allocator) {
            let _ = write!(table, "<th class={class}>{}", entrant.runtime.name());
        }
        let _ = write!(table, "<th class={class}>vs best peer");
        if report.has_base() {
            let _ = write!(table, "<th class={class}>vs base");
        }
    }
    table += "</tr>\n";
    for row in &report.rows {
        table += &table_row(row, report);
    }
    table + "</table></div>\n"
}

/// The allocators that took part.
fn allocators(report: &Report) -> impl Iterator<Item = Allocator> {
    Allocator::ALL.into_iter().filter(|allocator| with(report, *allocator).next().is_some())
}

/// The Rust entrants with this allocator.
fn with(report: &Report, allocator: Allocator) -> impl Iterator<Item = &Entrant> {
    report.entrants.iter().filter(move |entrant| entrant.allocator == Some(allocator))
}

fn table_row(row: &Row, report: &Report) -> String {
    let about = escaped(workload::describe(&row.name).unwrap_or_default());
    let mut line = format!(
        "<tr><td title='{about}'><a href='#{0}'>{0}</a> <span class=unit>{1}</span>",
        row.name, row.unit
    );
    let counts = row.ratio().map(|ratio| ratio.allocator);
    for allocator in allocators(report) {
        let class = allocator.name();
        for entrant in with(report, allocator) {
            let _ = write!(line, "<td class={class}>{}", cell(row, entrant.runtime, allocator));
        }
        let ratio = row.ratio_with(allocator);
        let lost = if ratio.is_some_and(|ratio| ratio < 1.0) { " lost" } else { "" };
        let bold = if counts == Some(allocator) { " counts" } else { "" };
        let ratio = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}×"));
        let _ = write!(line, "<td class='{class}{lost}{bold}'>{ratio}");
        if report.has_base() {
            line += &against_base(row, allocator);
        }
    }
    let _ = write!(line, "<td>{}", cell(row, Runtime::Go, Allocator::Malloc));
    line + "</tr>\n"
}

fn cell(row: &Row, runtime: Runtime, allocator: Allocator) -> String {
    row.median(runtime, allocator).map_or("–".to_owned(), figure)
}

fn against_base(row: &Row, allocator: Allocator) -> String {
    let class = allocator.name();
    let Some(ratio) = row.ratio_to_base(allocator) else {
        return format!("<td class={class}>–");
    };
    let verdict = text::verdict(row, allocator);
    let colour = match verdict {
        Some(Verdict::Worse | Verdict::Suspected) => " lost",
        Some(Verdict::Better) => " won",
        _ => "",
    };
    // The warning at the top reports that there are too few rounds.
    let word =
        verdict.filter(|verdict| *verdict != Verdict::TooFewRounds).map_or("", Verdict::name);
    format!(
        "<td class='{class}{colour}'>{ratio:.2}×{}{word}",
        if word.is_empty() { "" } else { " " }
    )
}

/// The colour of a runtime.
fn colour(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Gmp => "#2a7de1",
        Runtime::Fixed => "#6fa8ec",
        Runtime::Base => "#9cc3f2",
        Runtime::Tokio => "#8c8c8c",
        Runtime::Smol => "#b9a44c",
        Runtime::Go => "#5fb3b3",
    }
}

/// Bars from zero to the median, with the spread of the rounds as a line.
fn plot(row: &Row, entrants: &[Entrant]) -> String {
    const WIDTH: f64 = 540.0;
    const LEFT: f64 = 140.0;
    const ROOM_FOR_FIGURE: f64 = 80.0;
    const BAR: f64 = 20.0;
    let median = |entrant: &Entrant| {
        row.median(entrant.runtime, entrant.allocator.unwrap_or(Allocator::Malloc))
    };
    let greatest = entrants.iter().filter_map(median).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - ROOM_FOR_FIGURE) / greatest;
    let mut bars = String::new();
    let mut y = 0.0;
    for entrant in entrants {
        let allocator = entrant.allocator.unwrap_or(Allocator::Malloc);
        let spread = row.spread(entrant.runtime, allocator);
        let (Some(median), Some((least, most))) = (median(entrant), spread) else { continue };
        let end = LEFT + median * scale;
        let (from, to) = (LEFT + least * scale, (LEFT + most * scale).min(WIDTH - ROOM_FOR_FIGURE));
        let _ = write!(
            bars,
            "<text x=0 y={0} font-size=13>{entrant}</text>\
             <rect x={LEFT} y={y} width={1} height=16 fill='{2}'/>\
             <line x1={from} x2={to} y1={3} y2={3} stroke='#000'/>\
             <text x={4} y={0} font-size=13>{5}</text>",
            y + 13.0,
            (end - LEFT).max(1.0),
            colour(entrant.runtime),
            y + 8.0,
            end.max(to) + 6.0,
            figure(median),
        );
        y += BAR;
    }
    let about = escaped(workload::describe(&row.name).unwrap_or_default());
    format!(
        "<div><h3 id='{0}'>{0} ({1})</h3><p class=about>{about}</p>\
         <svg width={WIDTH} height={y}>{bars}</svg></div>\n",
        row.name, row.unit
    )
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_both_allocators_the_baseline_and_what_counts() {
        let mut row = Row::new("yield", "ns");
        for (allocator, tokio) in [(Allocator::Malloc, 30.0), (Allocator::Mimalloc, 15.0)] {
            row.push(Entrant::rust(Runtime::Gmp, allocator), 10.0);
            row.push(Entrant::rust(Runtime::Tokio, allocator), tokio);
        }
        row.push(Entrant::rust(Runtime::Base, Allocator::Malloc), 12.0);
        let entrants = row.cells.iter().map(|cell| cell.entrant).collect();
        let mut report = Report::new("a < b".to_owned(), entrants);
        report.rows.push(row);
        let page = page(&report);
        assert!(page.contains("a &lt; b"));
        assert!(page.contains("<td class='malloc'>3.00×"), "{page}");
        assert!(page.contains("<td class='mimalloc counts'>1.50×"), "{page}");
        assert!(page.contains("<td class='malloc'>1.20×<td"), "{page}");
        assert!(page.contains("base (malloc)</text>"), "{page}");
    }
}
