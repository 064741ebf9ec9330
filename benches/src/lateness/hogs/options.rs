//! The command line of `gmp-bench hogs`.

use super::super::options::{Programs, ROUNDS};
use super::work::{SECONDS, WINDOWS};
use crate::options::{Output, number, value};
use std::path::PathBuf;

/// The help text.
pub(crate) const USAGE: &str = "\
usage: gmp-bench hogs [options]

Measures the lateness of a 1 ms sleep beside goroutines that compute without an await: in the
first 3 s of the program and from 20 to 23 s. It shows p50, p99 and maximum, the threads of the
process, and the work of the hogs relative to 2 plain threads. In a control group with a CPU quota
it also shows how often the kernel throttled the contestant.

options:
  --only 2,300        these numbers of hogs only (2,10,50,300)
  --rounds N          how often each cell is measured (5; published figures need 5 or more)
  --quick             one round, the first 3 s only
  --baseline BINARY   an earlier build of gmp-bench, whose gmp takes part as `base`; it must know
                      these cells, see `benches/baseline.sh`
  --prebuilt          build nothing: the programs beside this one are used as they are; for an
                      unprivileged user and for a control group

output:
  --json FILE         all figures of all rounds (target/gmp-hogs.json)
  --html FILE         the table as a page (target/gmp-hogs.html)
  --markdown FILE     the table in Markdown; in a file with the two lines
                      `<!-- gmp-hogs:begin -->` and `<!-- gmp-hogs:end -->` it goes between them

status: 0; 1 if a cell of gmp exceeds a limit; 2 after an error
";

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) hogs: Vec<usize>,
    pub(crate) rounds: usize,
    /// The number of windows that are measured.
    pub(crate) windows: usize,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) programs: Programs,
    pub(crate) output: Output,
}

impl Options {
    /// Reads what follows `hogs`.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            hogs: vec![2, 10, 50, 300],
            rounds: ROUNDS,
            windows: WINDOWS.len(),
            baseline: None,
            programs: Programs::Build,
            output: Output::named("gmp-hogs"),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--only" => {
                    let numbers = value(arg, &mut args)?.split(',');
                    options.hogs =
                        numbers.map(|text| number(arg, text)).collect::<Result<_, _>>()?;
                }
                "--rounds" => options.rounds = number(arg, value(arg, &mut args)?)?,
                "--quick" => (options.rounds, options.windows) = (1, 1),
                "--baseline" => options.baseline = Some(value(arg, &mut args)?.into()),
                "--prebuilt" => options.programs = Programs::Prebuilt,
                other if options.output.accept(other, &mut args)? => {}
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// The length of a cell in seconds.
    pub(crate) fn seconds(&self) -> u64 {
        if self.windows == 1 { WINDOWS[0].to } else { SECONDS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_default_is_all_numbers_of_hogs_and_both_windows() {
        let options = parse("").unwrap();
        assert_eq!(options.hogs, [2, 10, 50, 300]);
        assert_eq!((options.rounds, options.windows, options.seconds()), (5, 2, 23));
        let quick = parse("--quick").unwrap();
        assert_eq!((quick.rounds, quick.windows, quick.seconds()), (1, 1, 3));
    }

    #[test]
    fn options_are_read() {
        let options = parse("--only 7,300 --rounds 3 --prebuilt --baseline old --html h").unwrap();
        assert_eq!((options.hogs, options.rounds), (vec![7, 300], 3));
        assert_eq!(options.programs, Programs::Prebuilt);
        assert_eq!(options.baseline, Some("old".into()));
        assert_eq!(options.output.html, PathBuf::from("h"));
    }

    #[test]
    fn wrong_options_are_errors_that_name_them() {
        for line in ["--only 2,x", "--only 0", "--wrong", "--rounds"] {
            let option = line.split(' ').next().unwrap();
            let error = parse(line).unwrap_err();
            assert!(error.contains(option), "{line}: {error}");
        }
    }
}
