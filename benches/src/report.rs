//! The figures for people with a browser, and for machines.

use crate::row::{CONTESTANTS, Row, figure, mean_ratio};
use std::fmt::Write as _;

/// Which colour stands for whom.
const COLOURS: [&str; 4] = ["#2a7de1", "#8c8c8c", "#b9a44c", "#5fb3b3"];

/// A page with the table and a plot per workload.
pub(crate) fn html(rows: &[Row], about: &str) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><title>gmp beside its peers</title>\
         <style>body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
         table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;\
         border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
         .lost{color:#b00020}svg{display:block;margin:.3em 0 1.5em}</style>\n",
    );
    let _ = writeln!(page, "<h1>gmp beside Tokio, smol and Go</h1><p>{about}</p>");
    let mean = mean_ratio(rows);
    let _ =
        writeln!(page, "<p>Less is better. Geometric mean of the ratios: <b>{mean:.2}×</b>.</p>");
    page.push_str("<table><tr><th>workload");
    for who in CONTESTANTS {
        let _ = write!(page, "<th>{who}");
    }
    page.push_str("<th>vs best peer</tr>\n");
    for row in rows {
        page.push_str(&table_row(row));
    }
    page.push_str("</table>\n");
    for row in rows {
        page.push_str(&plot(row));
    }
    page.push_str("</html>\n");
    page
}

fn table_row(row: &Row) -> String {
    let mut line = format!("<tr><td><a href='#{0}'>{0}</a>, {1}", row.name, row.unit);
    for who in CONTESTANTS {
        let cell = row.median(who).map_or("–".to_owned(), figure);
        let _ = write!(line, "<td>{cell}");
    }
    if let Some(ratio) = row.ratio() {
        let class = if ratio < 1.0 { " class=lost" } else { "" };
        let _ = write!(line, "<td{class}>{ratio:.2}×");
    }
    line + "</tr>\n"
}

/// Bars from zero to the median, with the spread of the rounds as a line.
fn plot(row: &Row) -> String {
    const WIDTH: f64 = 640.0;
    const LEFT: f64 = 60.0;
    let greatest = CONTESTANTS.iter().filter_map(|who| row.median(who)).fold(0.0, f64::max);
    let scale = (WIDTH - LEFT - 90.0) / greatest;
    let mut plot =
        format!("<h3 id='{0}'>{0} ({1})</h3><svg width={WIDTH} height=100>", row.name, row.unit);
    for (n, who) in CONTESTANTS.iter().enumerate() {
        let (Some(median), Some((least, most))) = (row.median(who), row.spread(who)) else {
            continue;
        };
        let (y, end) = (n as f64 * 25.0, LEFT + median * scale);
        let (from, to) = (LEFT + least * scale, LEFT + (most * scale).min(WIDTH - LEFT));
        let (colour, text, middle) = (COLOURS[n], figure(median), y + 10.0);
        let _ = write!(
            plot,
            "<text x=0 y={0} font-size=13>{who}</text>\
             <rect x={LEFT} y={y} width={1} height=20 fill='{colour}'/>\
             <line x1={from} x2={to} y1={middle} y2={middle} stroke='#000'/>\
             <text x={2} y={0} font-size=13>{text}</text>",
            y + 15.0,
            (end - LEFT).max(1.0),
            end.max(to) + 6.0,
        );
    }
    plot + "</svg>\n"
}

/// All figures of all rounds.
pub(crate) fn json(rows: &[Row], about: &str) -> String {
    let rows = rows.iter().map(|row| {
        let cells = row.cells.iter().map(|(who, figures)| {
            let figures: Vec<String> = figures.iter().map(f64::to_string).collect();
            format!("{who:?}: [{}]", figures.join(", "))
        });
        let cells: Vec<String> = cells.collect();
        let ratio = row.ratio().map_or("null".to_owned(), |ratio| ratio.to_string());
        format!(
            "    {{\"name\": {:?}, \"unit\": {:?}, \"ratio\": {ratio}, \"rounds\": {{{}}}}}",
            row.name,
            row.unit,
            cells.join(", ")
        )
    });
    let rows: Vec<String> = rows.collect();
    format!("{{\n  \"about\": {about:?},\n  \"rows\": [\n{}\n  ]\n}}\n", rows.join(",\n"))
}
