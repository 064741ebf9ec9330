//! The command line of `gmp-bench lateness`.

use super::names::{Load, Source};
use crate::options::{Output, number, value};
use std::path::PathBuf;

/// The help text.
pub(crate) const USAGE: &str = "\
usage: gmp-bench lateness [options]                  measures every source beside every load
       gmp-bench lateness report FILE.json… [output] merges runs that were split by cells

Each cell is the time from an event to the first instruction of the goroutine that it wakes.

options:
  --only A,B          these sources and these loads only; without a source all of them, without
                      a load all of them
  --rounds N          how often each cell is measured (5; published figures need 5 or more)
  --samples N         events per cell and round (1000)
  --limit SECONDS     the time after which a cell ends without all its events (10)
  --no-repeat         no further tries of a round whose control thread was late
  --quick             one round, 200 events, no further tries
  --baseline BINARY   an earlier build of gmp-bench, whose gmp takes part as `base`; it must know
                      these cells, see `benches/baseline.sh`
  --prebuilt          build nothing: the programs beside this one are used as they are
  --list              the sources and the loads

output:
  --json FILE         all figures of all rounds, written after each cell
                      (target/gmp-lateness.json)
  --html FILE         the heat map (target/gmp-lateness.html)
  --markdown FILE     the table in Markdown; in a file with the two lines
                      `<!-- gmp-lateness:begin -->` and `<!-- gmp-lateness:end -->` it goes
                      between them

status: 0; 1 if a cell of gmp exceeds a limit; 2 after an error
";

/// The smallest number of rounds whose figures may be published.
pub(crate) const ROUNDS: usize = 5;

/// The number of further tries of a round whose control thread was late.
const REPEATS: usize = 3;

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) sources: Vec<Source>,
    pub(crate) loads: Vec<Load>,
    pub(crate) rounds: usize,
    pub(crate) samples: usize,
    /// Seconds.
    pub(crate) limit: u64,
    pub(crate) repeats: usize,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) programs: Programs,
    pub(crate) output: Output,
}

/// Where the programs of the contestants come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Programs {
    /// They are built from the sources of this checkout.
    Build,
    /// They lie beside this program.
    Prebuilt,
}

impl Programs {
    /// Finds the programs of gmp, the baseline, Tokio and Go, in the order of the columns.
    pub(crate) fn find(
        self,
        baseline: Option<&std::path::Path>,
    ) -> Result<Vec<crate::programs::Program>, String> {
        use crate::entrant::{Allocator, Runtime};
        let mut programs = match self {
            Self::Build => crate::programs::find(baseline)?,
            Self::Prebuilt => crate::programs::find_prebuilt(baseline)?,
        };
        programs.retain(|program| {
            program.entrant.runtime != Runtime::Smol
                && program.entrant.allocator != Some(Allocator::Mimalloc)
        });
        Ok(programs)
    }
}

impl Options {
    /// Reads what follows `lateness`.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            sources: Source::ALL.to_vec(),
            loads: Load::ALL.to_vec(),
            rounds: ROUNDS,
            samples: 1_000,
            limit: 10,
            repeats: REPEATS,
            baseline: None,
            programs: Programs::Build,
            output: Output::named("gmp-lateness"),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--only" => options.restrict(value(arg, &mut args)?)?,
                "--rounds" => options.rounds = number(arg, value(arg, &mut args)?)?,
                "--samples" => options.samples = number(arg, value(arg, &mut args)?)?,
                "--limit" => options.limit = number(arg, value(arg, &mut args)?)? as u64,
                "--no-repeat" => options.repeats = 0,
                "--quick" => (options.rounds, options.samples, options.repeats) = (1, 200, 0),
                "--baseline" => options.baseline = Some(value(arg, &mut args)?.into()),
                "--prebuilt" => options.programs = Programs::Prebuilt,
                other if options.output.accept(other, &mut args)? => {}
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// Applies `--only`.
    fn restrict(&mut self, names: &str) -> Result<(), String> {
        let (mut sources, mut loads) = (Vec::new(), Vec::new());
        for name in names.split(',') {
            match (Source::find(name), Load::find(name)) {
                (Some(source), _) => sources.push(source),
                (None, Some(load)) => loads.push(load),
                (None, None) => {
                    return Err(format!("no source and no load {name}; --list names them"));
                }
            }
        }
        if !sources.is_empty() {
            self.sources.retain(|source| sources.contains(source));
        }
        if !loads.is_empty() {
            self.loads.retain(|load| loads.contains(load));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_default_is_every_cell_with_five_rounds() {
        let options = parse("").unwrap();
        assert_eq!((options.sources.len(), options.loads.len()), (5, 13));
        assert_eq!((options.rounds, options.samples, options.repeats), (5, 1_000, 3));
        assert_eq!(options.output.html, PathBuf::from("target/gmp-lateness.html"));
    }

    #[test]
    fn only_restricts_sources_and_loads_separately() {
        let options = parse("--only timer,wake").unwrap();
        assert_eq!(options.sources, [Source::Timer, Source::Wake]);
        assert_eq!(options.loads.len(), 13);
        let options = parse("--only mutex,timer,none").unwrap();
        assert_eq!(options.sources, [Source::Timer]);
        assert_eq!(options.loads, [Load::None, Load::Mutex]);
    }

    #[test]
    fn options_are_read() {
        let options = parse(
            "--rounds 9 --samples 50 --limit 3 --baseline old --prebuilt --no-repeat --json j",
        )
        .unwrap();
        assert_eq!((options.rounds, options.samples, options.limit), (9, 50, 3));
        assert_eq!((options.baseline, options.repeats), (Some("old".into()), 0));
        assert_eq!(options.programs, Programs::Prebuilt);
        assert_eq!(options.output.json, PathBuf::from("j"));
        let quick = parse("--quick").unwrap();
        assert_eq!((quick.rounds, quick.samples, quick.repeats), (1, 200, 0));
    }

    #[test]
    fn wrong_options_are_errors_that_name_them() {
        for (line, word) in [
            ("--only timer,clock", "clock"),
            ("--wrong", "--wrong"),
            ("--rounds", "--rounds"),
            ("--samples 0", "above zero"),
            ("--limit x", "--limit x"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
