//! The command line.

use std::time::Duration;

/// The text of `--help`.
const HELP: &str = "\
promise: a goroutine that blocks or computes for long never stops the others

usage: promise race  [--kind KIND] [--procs N] [--blocks N] [--block-ms N] [--seed S]
       promise crowd [--goroutines N] [--procs N] [--block-ms N] [--marked]
       promise computing [--runs N] [--goroutines N]
       promise day   [--minutes N] [--procs N] [--seed S]

race: blocks all Ps N times (default 1000) for N ms (default 20) and measures how long another
goroutine waits. KIND says how that goroutine becomes runnable:
  external   a plain thread spawns it
  queued     the goroutine that blocks has spawned it before
  timer      a timer
  socket     a socket
  woken      the goroutine that blocks wakes it between two blocks (default)
  nested     a plain thread spawns it, and the Ps are in a nested block_on

crowd: N goroutines (default 2000) block for N ms (default 2000) at the same time, beside a ticker
and an echo server. With --marked they do it in a marked call.

computing: N goroutines (default 8) leave marked blocking calls together and compute, with
max_procs 1, 2 and 4, in N runs (default 30) each. Counts how many compute at once.

day: N minutes (default 30) of bursts of blocking calls, of connections, of a million goroutines
and of changes of max_procs. Compares resources and costs at the end with those at the beginning.

--procs is max_procs of the runtime (default 2; race: 1).
Exit status: 0 the promise is kept, 1 it is broken, 2 bad arguments, 3 not judged, because the
machine was late too often.";

/// What makes the other goroutine runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    External,
    Queued,
    Timer,
    Socket,
    Woken,
    Nested,
}

/// Options of the mode `race`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) kind: Kind,
    pub(crate) procs: usize,
    pub(crate) blocks: usize,
    pub(crate) block: Duration,
    pub(crate) seed: u64,
}

/// Whether the goroutines mark their blocking calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marking {
    Marked,
    Unmarked,
}

/// Options of the mode `crowd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crowd {
    pub(crate) goroutines: usize,
    pub(crate) procs: usize,
    pub(crate) block: Duration,
    pub(crate) marking: Marking,
}

/// Options of the mode `computing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Computing {
    pub(crate) runs: usize,
    pub(crate) goroutines: usize,
}

/// Options of the mode `day`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) time: Duration,
    pub(crate) procs: usize,
    pub(crate) seed: u64,
}

/// What the program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Race(Race),
    Crowd(Crowd),
    Computing(Computing),
    Day(Day),
    Help(&'static str),
}

impl Command {
    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// The argument that is unknown, lacks its value or has a bad one.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mode = arguments.next().unwrap_or_default();
        let mut command =
            Self::new(&mode).ok_or_else(|| format!("{mode:?} is no mode; see --help"))?;
        while let Some(name) = arguments.next() {
            if name == "--help" || name == "-h" {
                return Ok(Self::Help(HELP));
            }
            if let (Self::Crowd(crowd), "--marked") = (&mut command, name.as_str()) {
                crowd.marking = Marking::Marked;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{name}: value missing"))?;
            command.set(&name, &value).ok_or_else(|| {
                format!("{name} {value}: unknown argument or not a valid value; see --help")
            })?;
        }
        Ok(command)
    }

    /// Returns the defaults of a mode.
    fn new(mode: &str) -> Option<Self> {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = clock.map_or(1, |since| u64::from(since.subsec_nanos()));
        let (millis, minutes) = (Duration::from_millis, |n: u64| Duration::from_secs(60 * n));
        Some(match mode {
            "race" => Self::Race(Race {
                kind: Kind::Woken,
                procs: 1,
                blocks: 1000,
                block: millis(20),
                seed,
            }),
            "crowd" => Self::Crowd(Crowd {
                goroutines: 2000,
                procs: 2,
                block: millis(2000),
                marking: Marking::Unmarked,
            }),
            "computing" => Self::Computing(Computing { runs: 30, goroutines: 8 }),
            "day" => Self::Day(Day { time: minutes(30), procs: 2, seed }),
            "--help" | "-h" => Self::Help(HELP),
            _ => return None,
        })
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let positive = || value.parse().ok().filter(|n: &usize| *n > 0);
        let millis = || positive().map(|n| Duration::from_millis(n as u64));
        match (self, name) {
            (Self::Race(race), "--kind") => race.kind = Kind::parse(value)?,
            (Self::Race(race), "--blocks") => race.blocks = positive()?,
            (Self::Race(race), "--block-ms") => race.block = millis()?,
            (Self::Race(Race { seed, .. }) | Self::Day(Day { seed, .. }), "--seed") => {
                *seed = value.parse().ok()?;
            }
            (Self::Crowd(crowd), "--goroutines") => crowd.goroutines = positive()?,
            (Self::Computing(computing), "--runs") => computing.runs = positive()?,
            (Self::Computing(computing), "--goroutines") => computing.goroutines = positive()?,
            (Self::Crowd(crowd), "--block-ms") => crowd.block = millis()?,
            (Self::Day(day), "--minutes") => {
                let minutes: f64 = value.parse().ok()?;
                day.time = Duration::try_from_secs_f64(60.0 * minutes).ok()?;
            }
            (
                Self::Race(Race { procs, .. })
                | Self::Crowd(Crowd { procs, .. })
                | Self::Day(Day { procs, .. }),
                "--procs",
            ) => *procs = positive().filter(|procs| *procs <= 1024)?,
            _ => return None,
        }
        Some(())
    }
}

impl Kind {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "external" => Self::External,
            "queued" => Self::Queued,
            "timer" => Self::Timer,
            "socket" => Self::Socket,
            "woken" => Self::Woken,
            "nested" => Self::Nested,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_set_the_options_of_their_mode() {
        let command = parse("race --kind socket --procs 4 --blocks 7 --block-ms 3 --seed 1");
        let (procs, block) = (4, Duration::from_millis(3));
        let race = Race { kind: Kind::Socket, procs, blocks: 7, block, seed: 1 };
        assert_eq!(command, Ok(Command::Race(race)));
        let command = parse("crowd --marked --goroutines 9 --procs 4 --block-ms 3");
        let crowd = Crowd { goroutines: 9, procs, block, marking: Marking::Marked };
        assert_eq!(command, Ok(Command::Crowd(crowd)));
        let command = parse("computing --runs 3 --goroutines 9");
        assert_eq!(command, Ok(Command::Computing(Computing { runs: 3, goroutines: 9 })));
        let command = parse("day --minutes 0.5 --seed 3 --procs 4");
        let day = Day { time: Duration::from_secs(30), procs, seed: 3 };
        assert_eq!(command, Ok(Command::Day(day)));
    }

    #[test]
    fn bad_arguments_are_named() {
        for (line, named) in [
            ("", "\"\" is no mode"),
            ("night", "\"night\" is no mode"),
            ("race --kind", "--kind: value missing"),
            ("race --kind other", "--kind other"),
            ("race --marked x", "--marked x"),
            ("crowd --procs 0", "--procs 0"),
            ("computing --procs 4", "--procs 4"),
            ("day --minutes -1", "--minutes -1"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(named), "{error}");
        }
    }
}
