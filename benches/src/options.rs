//! The command line.

use crate::verdict;
use std::path::PathBuf;

/// The help text.
pub(crate) const USAGE: &str = "\
usage: gmp-bench [options]                  measures and prints the table
       gmp-bench report FILE.json… [output] merges runs that were split by rows
       gmp-bench run CONTESTANT WORKLOAD    one cell, in this process
       gmp-bench serve CONTESTANT PROTOCOL  a server (http, mixed, redis) for your own client
       gmp-bench lateness [options]         lateness of every source beside every load; has --help
       gmp-bench hogs [options]             lateness beside CPU-bound goroutines; has --help

options:
  --only A,B          these workloads only
  --rounds N          how often each cell is measured (9; published figures need 9 or more)
  --quick             one round
  --baseline BINARY   an earlier build of gmp-bench, whose gmp takes part as `base`; if there is
                      a BINARY-mimalloc, it takes part too
  --confirm           rerun each row that is worse than the baseline, alone and with 15 rounds
                      (the default with --baseline and 9 rounds or more)
  --no-confirm        leave out these reruns
  --instructions      count instructions per operation with valgrind, instead of time
  --list              the workloads and their units

output:
  --json FILE         all figures of all rounds, written after each row (target/gmp-bench.json)
  --html FILE         the report with plots (target/gmp-bench.html)
  --markdown FILE     the table in Markdown; in a file with the two lines
                      `<!-- gmp-bench:begin -->` and `<!-- gmp-bench:end -->`
                      (with --instructions: gmp-bench-instructions) it goes between them

status: 0; 1 if a row is worse than the baseline beyond noise; 2 after an error
";

/// Whether suspected rows are measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirm {
    /// They are.
    Rerun,
    /// They stay suspected.
    Skip,
}

/// The unit of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The workload's own unit, mostly time.
    Figures,
    /// Instructions per operation.
    Instructions,
}

/// The files to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) json: PathBuf,
    pub(crate) html: PathBuf,
    pub(crate) markdown: Option<PathBuf>,
}

impl Default for Output {
    fn default() -> Self {
        Self::named("gmp-bench")
    }
}

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) only: Option<Vec<String>>,
    pub(crate) rounds: usize,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) confirm: Confirm,
    pub(crate) measure: Measure,
    pub(crate) output: Output,
}

/// The arguments of `gmp-bench report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merge {
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) output: Output,
}

pub(crate) type Args<'a> = std::slice::Iter<'a, String>;

/// The argument after `option`.
pub(crate) fn value<'a>(option: &str, args: &mut Args<'a>) -> Result<&'a str, String> {
    args.next().map(String::as_str).ok_or(format!("{option} needs a value"))
}

impl Output {
    /// Files with this name in the folder `target`, without a Markdown file.
    pub(crate) fn named(name: &str) -> Self {
        let file = |ending: &str| format!("target/{name}.{ending}").into();
        Self { json: file("json"), html: file("html"), markdown: None }
    }

    /// Reads `arg` if it is an option for output. Returns `false` if it is not.
    pub(crate) fn accept(&mut self, arg: &str, args: &mut Args<'_>) -> Result<bool, String> {
        match arg {
            "--json" => self.json = value(arg, args)?.into(),
            "--html" => self.html = value(arg, args)?.into(),
            "--markdown" => self.markdown = Some(value(arg, args)?.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Options {
    /// Reads the command line, without the program's name.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            only: None,
            rounds: verdict::ROUNDS,
            baseline: None,
            confirm: Confirm::Skip,
            measure: Measure::Figures,
            output: Output::default(),
        };
        let mut confirm = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--only" => {
                    let names = value(arg, &mut args)?.split(',').map(str::to_owned).collect();
                    options.only = Some(names);
                }
                "--rounds" => options.rounds = number(arg, value(arg, &mut args)?)?,
                "--quick" => options.rounds = 1,
                "--baseline" => options.baseline = Some(value(arg, &mut args)?.into()),
                "--confirm" => confirm = Some(Confirm::Rerun),
                "--no-confirm" => confirm = Some(Confirm::Skip),
                "--instructions" => options.measure = Measure::Instructions,
                other if options.output.accept(other, &mut args)? => {}
                other => return Err(format!("unknown option {other}")),
            }
        }
        options.confirm = options.resolve_confirm(confirm)?;
        Ok(options)
    }

    /// Applies the default of `--confirm`, and rejects it where it has no meaning.
    fn resolve_confirm(&self, asked: Option<Confirm>) -> Result<Confirm, String> {
        let possible = self.baseline.is_some()
            && self.rounds >= verdict::ROUNDS
            && self.measure == Measure::Figures;
        match asked {
            Some(Confirm::Rerun) if !possible => Err(format!(
                "--confirm needs --baseline, at least {} rounds and no --instructions",
                verdict::ROUNDS
            )),
            Some(confirm) => Ok(confirm),
            None if possible => Ok(Confirm::Rerun),
            None => Ok(Confirm::Skip),
        }
    }

    /// Whether `workload` is to be measured.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == workload))
    }
}

impl Merge {
    /// Reads what follows `report`.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        Self::parse_into(Output::default(), args)
    }

    /// Reads what follows `report`, with these files as the default.
    pub(crate) fn parse_into(output: Output, args: &[String]) -> Result<Self, String> {
        let mut merge = Self { inputs: Vec::new(), output };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if merge.output.accept(arg, &mut args)? {
                continue;
            }
            if arg.starts_with('-') {
                return Err(format!("unknown option {arg}"));
            }
            merge.inputs.push(arg.into());
        }
        if merge.inputs.is_empty() {
            return Err("report needs at least one file that --json has written".to_owned());
        }
        Ok(merge)
    }
}

/// The number that `option` has as its value.
pub(crate) fn number(option: &str, text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or(format!("{option} {text}: not a number above zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn merge(line: &str) -> Result<Merge, String> {
        Merge::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_default_is_a_run_that_may_be_published() {
        let options = parse("").unwrap();
        assert_eq!(options.rounds, 9);
        assert_eq!(options.confirm, Confirm::Skip);
        assert!(options.wants("yield"));
        assert_eq!(options.output.json, PathBuf::from("target/gmp-bench.json"));
    }

    #[test]
    fn options_are_read() {
        let options =
            parse("--only yield,chain --rounds 11 --baseline old --html h --json j --markdown m")
                .unwrap();
        assert!(options.wants("chain") && !options.wants("mutex"));
        assert_eq!(options.rounds, 11);
        assert_eq!(options.baseline, Some("old".into()));
        let output = Output { json: "j".into(), html: "h".into(), markdown: Some("m".into()) };
        assert_eq!(options.output, output);
        assert_eq!(parse("--quick").unwrap().rounds, 1);
        assert_eq!(parse("--instructions").unwrap().measure, Measure::Instructions);
    }

    #[test]
    fn a_baseline_with_nine_rounds_is_confirmed_by_default() {
        assert_eq!(parse("--baseline old").unwrap().confirm, Confirm::Rerun);
        assert_eq!(parse("--baseline old --no-confirm").unwrap().confirm, Confirm::Skip);
        assert_eq!(parse("--baseline old --rounds 8").unwrap().confirm, Confirm::Skip);
        assert_eq!(parse("--baseline old --instructions").unwrap().confirm, Confirm::Skip);
        assert_eq!(parse("--confirm --baseline old").unwrap().confirm, Confirm::Rerun);
    }

    #[test]
    fn wrong_options_are_errors_that_name_them() {
        for (line, word) in [
            ("--wrong", "--wrong"),
            ("--rounds", "--rounds"),
            ("--rounds 0", "above zero"),
            ("--rounds many", "many"),
            ("--confirm", "--baseline"),
            ("--confirm --baseline old --quick", "9 rounds"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn a_report_takes_files_and_outputs() {
        let merge_of = merge("a.json --markdown m.md b.json").unwrap();
        assert_eq!(merge_of.inputs, [PathBuf::from("a.json"), PathBuf::from("b.json")]);
        assert_eq!(merge_of.output.markdown, Some("m.md".into()));
        assert!(merge("").is_err());
        assert!(merge("a.json --rounds 3").unwrap_err().contains("--rounds"));
    }
}
