//! The command line.

use std::time::Duration;

/// The text of `--help`.
const HELP: &str = "\
bound: fails if a runnable goroutine waits for longer than the scheduler's bounds allow

usage: bound [--minutes N] [--procs N] [--seed S]

  --minutes N   time of the run; may be a fraction (default 1)
  --procs N     max_procs of the runtime (default 2)
  --seed S      determines the loads and the gaps between events (default: from the clock)

Exit status: 0 no violation, 1 violation, 2 bad arguments.";

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) procs: usize,
    pub(crate) seed: u64,
}

/// What the program does.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Run(Options),
    Help(&'static str),
}

impl Command {
    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// The argument that is unknown, lacks its value or has a bad one.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut options = Options {
            time: Duration::from_secs(60),
            procs: 2,
            seed: clock.map_or(1, |since| u64::from(since.subsec_nanos())),
        };
        while let Some(name) = arguments.next() {
            if name == "--help" || name == "-h" {
                return Ok(Self::Help(HELP));
            }
            let value = arguments.next().ok_or_else(|| format!("{name}: value missing"))?;
            options.set(&name, &value).ok_or_else(|| {
                format!("{name} {value}: unknown argument or not a valid value; see --help")
            })?;
        }
        Ok(Self::Run(options))
    }
}

impl Options {
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "--minutes" => {
                let minutes: f64 = value.parse().ok()?;
                self.time = Duration::try_from_secs_f64(60.0 * minutes).ok()?;
            }
            "--procs" => {
                self.procs = value.parse().ok().filter(|procs| (1..=1024).contains(procs))?;
            }
            "--seed" => self.seed = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}
