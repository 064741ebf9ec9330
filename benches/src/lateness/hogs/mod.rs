//! Lateness of a 1 ms sleep beside hogs: goroutines that compute without an await.
//!
//! `work` is the cell in the contestant's process. `measure` runs the cells, `cgroup` reads how
//! often the kernel throttled them, `figures` keeps and judges them, and `show` prints them.

mod cgroup;
mod figures;
mod measure;
mod options;
mod show;
mod work;

pub(crate) use work::run_cell;

use figures::{HogTable, Verdict};
use options::{Options, USAGE};
use std::process::ExitCode;

/// The program `gmp-bench hogs`.
pub(crate) fn main(args: &[String]) -> ExitCode {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => crate::finish(USAGE, Options::parse(args), run_table),
    }
}

/// Measures, prints and writes the table.
fn run_table(options: Options) -> Result<ExitCode, String> {
    let output = &options.output;
    let table = measure::measure(&options, |table| crate::save(&output.json, &table.json()))?;
    crate::save(&output.json, &table.json())?;
    crate::save(&output.html, &show::page(&table))?;
    println!("{}\n{}", output.json.display(), output.html.display());
    if let Some(path) = &output.markdown {
        crate::write_markdown(path, show::TABLE, &show::markdown(&table))?;
    }
    for caveat in table.caveats() {
        println!("not for publication: {caveat}");
    }
    Ok(status(&table))
}

fn status(table: &HogTable) -> ExitCode {
    let holds = |(hogs, window)| table.verdict(hogs, window) == Verdict::Holds;
    if table.lines().all(holds) { ExitCode::SUCCESS } else { ExitCode::from(crate::WORSE) }
}
