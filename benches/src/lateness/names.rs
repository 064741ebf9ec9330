//! The sources and the loads: their names, descriptions and kinds.

use crate::entrant::Runtime;
use serde::{Deserialize, Serialize};

/// The procs of every contestant.
pub(crate) const PROCS: usize = 2;

/// The cause of an event, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    Timer,
    Send,
    Spawn,
    Socket,
    Wake,
}

impl Source {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Timer, Self::Send, Self::Spawn, Self::Socket, Self::Wake];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Send => "send",
            Self::Spawn => "spawn",
            Self::Socket => "socket",
            Self::Wake => "wake",
        }
    }

    /// The description in the report.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Timer => "a timer",
            Self::Send => "a send from an external thread",
            Self::Spawn => "a spawn from an external thread",
            Self::Socket => "a socket",
            Self::Wake => "a send by another goroutine",
        }
    }

    /// The source with this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// The length of the polls of a load. It decides which limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polls {
    Short,
    Long,
}

/// What the other goroutines do, in the order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Load {
    None,
    ComputeFew,
    ComputeMany,
    ComputeLong,
    Checkpoint,
    PairsFew,
    PairsMany,
    Mutex,
    SpawnJoin,
    FanOut,
    Echo,
    Hogs,
    Blockers,
}

impl Load {
    /// All of them.
    pub(crate) const ALL: [Self; 13] = [
        Self::None,
        Self::ComputeFew,
        Self::ComputeMany,
        Self::ComputeLong,
        Self::Checkpoint,
        Self::PairsFew,
        Self::PairsMany,
        Self::Mutex,
        Self::SpawnJoin,
        Self::FanOut,
        Self::Echo,
        Self::Hogs,
        Self::Blockers,
    ];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ComputeFew => "compute_4",
            Self::ComputeMany => "compute_100",
            Self::ComputeLong => "compute_1ms",
            Self::Checkpoint => "checkpoint",
            Self::PairsFew => "pairs_4",
            Self::PairsMany => "pairs_100",
            Self::Mutex => "mutex",
            Self::SpawnJoin => "spawn_join",
            Self::FanOut => "fan_out",
            Self::Echo => "echo",
            Self::Hogs => "hogs",
            Self::Blockers => "blockers",
        }
    }

    /// The description in the report.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::None => "no load",
            Self::ComputeFew => "4 goroutines compute 50 µs and yield",
            Self::ComputeMany => "100 goroutines compute 50 µs and yield",
            Self::ComputeLong => "4 goroutines compute 1 ms and yield",
            Self::Checkpoint => "100 goroutines compute 20 ms with a checkpoint every 50 µs",
            Self::PairsFew => "4 pairs play ping-pong",
            Self::PairsMany => "100 pairs play ping-pong",
            Self::Mutex => "8 goroutines lock one mutex",
            Self::SpawnJoin => "4 goroutines spawn and join",
            Self::FanOut => "a goroutine spawns 1,000 and waits for all",
            Self::Echo => "an echo server with 32 busy connections",
            Self::Hogs => "2 goroutines compute 5 ms and yield",
            Self::Blockers => "4 goroutines block 5 ms, unmarked, and yield",
        }
    }

    /// The load with this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|load| load.name() == name)
    }

    /// The kind of its polls.
    pub(crate) fn polls(self) -> Polls {
        match self {
            Self::None
            | Self::ComputeFew
            | Self::ComputeMany
            | Self::PairsFew
            | Self::PairsMany
            | Self::Mutex
            | Self::SpawnJoin
            | Self::Echo => Polls::Short,
            Self::ComputeLong | Self::Checkpoint | Self::FanOut | Self::Hogs | Self::Blockers => {
                Polls::Long
            }
        }
    }

    /// The poll that the limits of a long-poll load allow for, in µs. A goroutine with checkpoints
    /// may use its time slice of 10 ms.
    pub(crate) fn allowed_poll(self, longest: Option<f64>) -> f64 {
        match self {
            Self::Checkpoint => 10_000.0,
            _ => longest.unwrap_or(0.0),
        }
    }

    /// The number of threads that may compute at a time. gmp hands off the P of a CPU-bound
    /// goroutine, and the goroutine continues on a thread of its own.
    fn computing_threads(self, runtime: Runtime) -> usize {
        match (self, runtime) {
            (Self::None | Self::Blockers, _) => 0,
            (Self::Hogs, Runtime::Gmp | Runtime::Base) => PROCS + 2,
            _ => PROCS,
        }
    }

    /// Whether this load delays the control thread itself on a machine with `cpus` CPUs.
    pub(crate) fn crowds(self, runtime: Runtime, cpus: usize) -> bool {
        self.computing_threads(runtime) > cpus
    }
}

/// One cell: its source, its load, and how long it is measured. The text form is the name of the
/// workload that the contestants are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellName {
    pub(crate) source: Source,
    pub(crate) load: Load,
    pub(crate) samples: usize,
    /// Seconds after which the cell ends without all samples.
    pub(crate) limit: u64,
}

impl CellName {
    /// Reads `late/SOURCE/LOAD/SAMPLES/SECONDS`. Returns `None` for any other name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name.split('/').collect::<Vec<_>>()[..] {
            ["late", source, load, samples, limit] => Some(Self {
                source: Source::find(source)?,
                load: Load::find(load)?,
                samples: samples.parse().ok()?,
                limit: limit.parse().ok()?,
            }),
            _ => None,
        }
    }
}

impl std::fmt::Display for CellName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (source, load) = (self.source.name(), self.load.name());
        write!(f, "late/{source}/{load}/{}/{}", self.samples, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_parsed_back() {
        for source in Source::ALL {
            assert_eq!(Source::find(source.name()), Some(source));
            assert_eq!(Load::find(source.name()), None, "--only cannot tell them apart");
        }
        for load in Load::ALL {
            assert_eq!(Load::find(load.name()), Some(load));
        }
    }

    #[test]
    fn the_name_of_a_cell_is_read_back() {
        let cell =
            CellName { source: Source::Send, load: Load::PairsMany, samples: 300, limit: 10 };
        assert_eq!(cell.to_string(), "late/send/pairs_100/300/10");
        assert_eq!(CellName::parse(&cell.to_string()), Some(cell));
        for other in ["yield", "late/send/pairs_100/300", "late/send/x/300/10", "late/a/b/c/d"] {
            assert_eq!(CellName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn eight_loads_have_short_polls() {
        let short = Load::ALL.iter().filter(|load| load.polls() == Polls::Short).count();
        assert_eq!(short, 8);
        assert_eq!(Load::FanOut.polls(), Polls::Long);
    }

    #[test]
    fn a_checkpoint_counts_as_a_time_slice() {
        assert_eq!(Load::Checkpoint.allowed_poll(Some(60.0)), 10_000.0);
        assert_eq!(Load::FanOut.allowed_poll(Some(60.0)), 60.0);
        assert_eq!(Load::FanOut.allowed_poll(None), 0.0);
    }

    #[test]
    fn a_load_crowds_if_more_threads_compute_than_there_are_cpus() {
        assert!(Load::Hogs.crowds(Runtime::Gmp, 2));
        assert!(!Load::Hogs.crowds(Runtime::Go, 2));
        assert!(!Load::Hogs.crowds(Runtime::Gmp, 4));
        assert!(Load::ComputeFew.crowds(Runtime::Tokio, 1));
        assert!(!Load::Blockers.crowds(Runtime::Gmp, 1));
    }
}
