//! The command line.

use std::time::Duration;

/// The text of `--help`.
const HELP: &str = "\
soak: random operations over the public API of gmp, with invariants checked all the time

usage: soak [--minutes N] [--seed S] [--procs N] [--phase-seconds N] [--stuck-seconds N]
            [--only TEXT] [--sanitizer] [--list]

  --minutes N         time of the run; may be a fraction (default 1)
  --seed S            determines the operations that each worker draws (default: from the clock)
  --procs N           max_procs of the first runtime (default 4); the second has 1, the third 3
  --phase-seconds N   time of load before each check of the ledgers and resources (default 5)
  --stuck-seconds N   a run without progress for this time fails with a dump (default 60)
  --only TEXT         draws only operations whose name contains TEXT; a full name draws the
                      operation also if a known defect leaves it out
  --sanitizer         for builds with ThreadSanitizer or AddressSanitizer: no limit on RSS, which
                      the sanitizer owns, and no operation of the table `UNDER_SANITIZER`
  --list              prints the operations and the known defects that leave some of them out

Reports go to stdout. The runtime's own reports about expected panics go to stderr.
Exit status: 0 no violation, 1 violation, 2 bad arguments.";

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) procs: usize,
    pub(crate) phase: Duration,
    pub(crate) stuck: Duration,
    pub(crate) only: Option<String>,
    pub(crate) build: Build,
}

/// How the program was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    Plain,
    Sanitized,
}

/// What the program does.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Run(Options),
    List,
    Help(&'static str),
}

impl Options {
    fn new() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            time: Duration::from_secs(60),
            seed: clock.map_or(1, |since| u64::from(since.subsec_nanos())),
            procs: 4,
            phase: Duration::from_secs(5),
            stuck: Duration::from_secs(60),
            only: None,
            build: Build::Plain,
        }
    }
}

impl Command {
    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// The argument that is unknown, lacks its value or has a bad one.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Options::new();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" | "-h" => return Ok(Self::Help(HELP)),
                "--list" => return Ok(Self::List),
                "--sanitizer" => options.build = Build::Sanitized,
                name => {
                    let value = arguments.next().ok_or_else(|| format!("{name}: value missing"))?;
                    options.set(name, &value)?;
                }
            }
        }
        Ok(Self::Run(options))
    }
}

impl Options {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let bad = || format!("{name} {value}: not a valid value");
        let seconds = || value.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
        match name {
            "--minutes" => self.time = seconds().ok_or_else(bad)?.saturating_mul(60),
            "--phase-seconds" => self.phase = seconds().ok_or_else(bad)?,
            "--stuck-seconds" => self.stuck = seconds().ok_or_else(bad)?,
            "--seed" => self.seed = value.parse().map_err(|_| bad())?,
            "--only" => self.only = Some(value.to_owned()),
            "--procs" => {
                let procs = value.parse().ok().filter(|procs| (1..=1024).contains(procs));
                self.procs = procs.ok_or_else(bad)?;
            }
            _ => return Err(format!("{name}: unknown argument; see --help")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_set_the_options() {
        let command = parse("--minutes 0.5 --seed 7 --procs 16 --sanitizer").unwrap();
        let Command::Run(options) = command else { panic!("{command:?}") };
        assert_eq!((options.time, options.seed), (Duration::from_secs(30), 7));
        assert_eq!((options.procs, options.build), (16, Build::Sanitized));
    }

    #[test]
    fn bad_arguments_are_named() {
        for (line, named) in [
            ("--minutes", "--minutes: value missing"),
            ("--minutes -1", "--minutes -1"),
            ("--procs 0", "--procs 0"),
            ("--speed 3", "--speed: unknown argument"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(named), "{error}");
        }
    }
}
