//! The heat map as a page: a row for each load and contestant, a column for each source.

use super::figures::Cell;
use super::limits::Verdict;
use super::map::HeatMap;
use super::names::{Load, Source};
use super::text;
use crate::entrant::Runtime;
use crate::html::escaped;
use std::fmt::Write as _;

/// The style of the pages of this module and of `hogs`.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--line:#ccc;--dim:#666;--warn:#fff4d6;\
--h0:#b7e1c0;--h1:#dff1e2;--h2:#fbeeb5;--h3:#f9cf9c;--h4:#f2a7a0;--h5:#d98ab0}\
@media(prefers-color-scheme:dark){:root{--line:#444;--dim:#aaa;--warn:#4a3c10;\
--h0:#14532b;--h1:#24402c;--h2:#57490e;--h3:#6b3f0c;--h4:#7a2320;--h5:#6d1f4d}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:112em;margin:2em auto;padding:0 1em}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;line-height:1.35}\
td,th{padding:.2em .55em;border-bottom:1px solid var(--line);white-space:nowrap;text-align:left}\
th.load{vertical-align:top;white-space:normal;min-width:15em;font-weight:normal}\
td small{display:block;white-space:normal;font-weight:normal}\
tbody{border-top:2px solid var(--line)}.gmp td{font-weight:600}\
.about,small{color:var(--dim)}.warn{background:var(--warn);padding:.5em 1em}\
.h0{background:var(--h0)}.h1{background:var(--h1)}.h2{background:var(--h2)}\
.h3{background:var(--h3)}.h4{background:var(--h4)}.h5{background:var(--h5)}\
";

/// The upper bound of each colour, as a ratio to the limit. The last colour has none.
const STEPS: [(f64, &str); 5] = [
    (0.5, "at most half of its limit"),
    (1.0, "within its limit"),
    (2.0, "up to 2 times"),
    (10.0, "up to 10 times"),
    (100.0, "up to 100 times"),
];

/// The colour of a ratio to the limit: 0 to 5.
fn step(heat: f64) -> usize {
    STEPS.iter().position(|(bound, _)| heat <= *bound).unwrap_or(STEPS.len())
}

/// The whole page.
pub(crate) fn page(map: &HeatMap) -> String {
    let mut page = start("Lateness of every source beside every load", &map.about);
    warn(&mut page, &map.caveats());
    let _ = writeln!(
        page,
        "<p>Each cell is p50 / p99 / maximum of the time from an event to the first instruction \
         of the goroutine that it wakes. A figure is the median over the rounds. The colour is \
         the greatest ratio of p50 and p99 to the limits of the cell, for every contestant. A \
         cell of gmp that exceeds a limit says which.</p>\n<p>{}</p>\n<p><b>{}</b></p>\n<p>{}</p>",
        key(),
        text::summary(map),
        text::legend(),
    );
    page += "<div class=wide><table><thead><tr><th>beside<th>contestant";
    for source in map.sources() {
        let _ = write!(page, "<th>{}", source.about());
    }
    page += "</tr></thead>\n";
    for load in map.loads() {
        page += &rows(map, load);
    }
    page + "</table></div></html>\n"
}

/// The first lines of a page.
pub(crate) fn start(title: &str, about: &[String]) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width'>\
         <title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>\n"
    );
    for about in about {
        let _ = writeln!(page, "<p class=about>{}</p>", escaped(about));
    }
    page
}

/// A warning, if there are reasons for one.
pub(crate) fn warn(page: &mut String, caveats: &[String]) {
    if !caveats.is_empty() {
        let _ = writeln!(page, "<p class=warn>Not for publication: {}.</p>", caveats.join("; "));
    }
}

/// The meaning of the colours.
fn key() -> String {
    let mut key = String::new();
    let last = [(f64::INFINITY, "more than 100 times, or not done")];
    for (n, (_, meaning)) in STEPS.iter().chain(&last).enumerate() {
        let _ = write!(key, "<span class=h{n}>&nbsp;{meaning}&nbsp;</span> ");
    }
    key
}

/// The rows of a load, one for each contestant.
fn rows(map: &HeatMap, load: Load) -> String {
    let poll = map.poll(load);
    let poll = poll.map_or(String::new(), |poll| format!(", longest poll {}", text::time(poll)));
    let mut rows = format!(
        "<tbody><tr class=gmp><th class=load rowspan={}>{}<br><small>{}{poll}</small>",
        map.runtimes.len(),
        load.about(),
        load.name()
    );
    for (n, &runtime) in map.runtimes.iter().enumerate() {
        if n > 0 {
            let class = if runtime == Runtime::Gmp { " class=gmp" } else { "" };
            let _ = write!(rows, "<tr{class}>");
        }
        let _ = write!(rows, "<td>{}", runtime.name());
        for source in map.sources() {
            rows += &cell(map, load, source, runtime);
        }
        rows += "</tr>\n";
    }
    rows + "</tbody>\n"
}

fn cell(map: &HeatMap, load: Load, source: Source, runtime: Runtime) -> String {
    let Some(cell) = map.find(load, source, runtime) else { return "<td>–".to_owned() };
    let limits = map.limits(load, source);
    let figures = cell.figures();
    let colour = figures.map_or(STEPS.len(), |figures| step(limits.heat(figures)));
    let verdict = match runtime {
        Runtime::Gmp | Runtime::Base => verdict(map, cell),
        _ => String::new(),
    };
    format!(
        "<td class=h{colour} title='{}'>{}{verdict}",
        details(cell),
        text::cell(map, load, source, runtime)
    )
}

/// The limits that a cell exceeds.
fn verdict(map: &HeatMap, cell: &Cell) -> String {
    match map.verdict(cell) {
        Verdict::Holds | Verdict::NotDone => String::new(),
        exceeds @ Verdict::Exceeds(_) => format!("<small>{}</small>", text::verdict(&exceeds)),
    }
}

/// The text that a pointer on the cell shows.
fn details(cell: &Cell) -> String {
    let first = cell.figures().map_or(String::new(), |figures| {
        format!("p99 of the first second {}; ", text::time(figures.first_second))
    });
    let tries: usize = cell.rounds.iter().map(|round| round.tries).sum();
    format!(
        "{first}{} samples; {} rounds, {tries} tries; control at most {} late",
        cell.samples(),
        cell.rounds.len(),
        text::time(cell.control())
    )
}

#[cfg(test)]
mod tests {
    use super::super::figures::Round;
    use super::super::map::tests::map;
    use super::*;

    #[test]
    fn the_colour_is_the_ratio_to_the_limit() {
        let steps = [0.0, 0.5, 0.6, 1.0, 1.1, 9.0, 99.0, 101.0].map(step);
        assert_eq!(steps, [0, 0, 1, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_page_has_a_coloured_cell_for_each_contestant() {
        let figures = [[70.0, 100.0], [30.0, 40.0], [50.0, 60.0]];
        let mut map = map(Load::None, Source::Timer, figures);
        map.cells[2].rounds = vec![Round::killed(0.0)];
        let page = page(&map);
        for part in [
            "<td class=h2 title='p99 of the first second 0.10 ms; 1000 samples; 1 rounds, 1 tries",
            "70 µs / 0.10 ms / 0.20 ms<small>p50 above 60 µs</small>",
            "<td class=h0 ",
            "<td class=h5 ",
            "not done in 10 s",
            "prefers-color-scheme:dark",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<tr").count(), 4);
    }
}
