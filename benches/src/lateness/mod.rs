//! Lateness of every source beside every load, as one heat map.
//!
//! A cell is a process of a contestant with two procs. A `source` causes events beside the `work`
//! of a load, and a `probe` records the time from each event to the first instruction of the
//! goroutine that it wakes. `measure` runs the cells in interleaved rounds, `figures` keeps them,
//! `limits` judges them, and `map`, `text` and `page` show them. `names` lists sources and loads.
//!
//! `hogs` measures a 1 ms sleep beside goroutines that compute without an await.

mod cell;
mod control;
mod face;
mod figures;
pub(crate) mod hogs;
mod limits;
mod map;
mod measure;
mod names;
mod options;
mod page;
mod probe;
mod process;
mod random;
mod sample;
mod source;
mod text;
mod work;

use crate::contestant::{Gmp, Tokio};
use crate::options::{Merge, Output};
use map::HeatMap;
use names::{CellName, Load, Source};
use options::{Options, USAGE};
use std::process::ExitCode;
use std::time::Duration;

/// The program `gmp-bench lateness`.
pub(crate) fn main(args: &[String]) -> ExitCode {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["--list"] => {
            list();
            ExitCode::SUCCESS
        }
        ["report", ..] => {
            let merge = Merge::parse_into(Output::named("gmp-lateness"), &args[1..]);
            crate::finish(USAGE, merge, render)
        }
        _ => crate::finish(USAGE, Options::parse(args), run_map),
    }
}

fn list() {
    for source in Source::ALL {
        println!("source {}: {}", source.name(), source.about());
    }
    for load in Load::ALL {
        println!("load {}: {}", load.name(), load.about());
    }
}

/// Measures, prints and writes the map.
fn run_map(options: Options) -> Result<ExitCode, String> {
    let map = measure::measure(&options, |map| crate::save(&options.output.json, &map.json()))?;
    write(&map, &options.output)
}

/// Merges maps and writes the result.
fn render(merge: Merge) -> Result<ExitCode, String> {
    let maps = merge.inputs.iter().map(|path| HeatMap::read(path)).collect::<Result<_, _>>()?;
    let map = HeatMap::merge(maps)?;
    println!("{}", text::head(&map));
    for load in map.loads() {
        println!("{}", text::load(&map, load));
        for source in map.sources() {
            println!("{}", text::line(&map, load, source));
        }
    }
    write(&map, &merge.output)
}

/// Writes all files of a map. Returns the status of the program.
fn write(map: &HeatMap, output: &Output) -> Result<ExitCode, String> {
    crate::save(&output.json, &map.json())?;
    crate::save(&output.html, &page::page(map))?;
    println!("{}\n{}", output.json.display(), output.html.display());
    if let Some(path) = &output.markdown {
        crate::write_markdown(path, text::TABLE, &text::markdown(map))?;
    }
    for caveat in map.caveats() {
        println!("not for publication: {caveat}");
    }
    println!("{}", text::summary(map));
    Ok(if map.failures().0.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(crate::WORSE) })
}

/// Runs a cell in this process. Returns only if `contestant` or `name` is unknown.
pub(crate) fn run_cell(contestant: &str, name: &str) {
    match contestant {
        "gmp" => run::<Gmp>(name),
        "tokio" => run::<Tokio>(name),
        _ => {}
    }
}

fn run<C: face::Face>(name: &str) {
    if let Some(name) = CellName::parse(name) {
        cell::run::<C>(name);
    }
    if let ["poll", load, seconds] = name.split('/').collect::<Vec<_>>()[..]
        && let (Some(load), Ok(seconds)) = (Load::find(load), seconds.parse())
    {
        cell::run_polls::<C>(load, Duration::from_secs(seconds));
    }
    hogs::run_cell::<C>(name);
}
