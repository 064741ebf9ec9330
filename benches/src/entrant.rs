//! An entrant of the table: a runtime with the allocator that its process uses.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A runtime in the table, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Runtime {
    /// gmp as this program was built.
    Gmp,
    /// The same with `GMPDEBUG=adaptive=0`: all Ps run all the time.
    Fixed,
    /// gmp in an earlier build of this program (`--baseline`).
    Base,
    /// Tokio's multi-thread runtime.
    Tokio,
    /// smol's global executor.
    Smol,
    /// Go.
    Go,
}

impl Runtime {
    /// The runtimes that gmp is compared with for the ratio.
    pub(crate) const PEERS: [Self; 3] = [Self::Tokio, Self::Smol, Self::Go];

    /// Returns the name in tables and progress lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gmp => "gmp",
            Self::Fixed => "adaptive=0",
            Self::Base => "base",
            Self::Tokio => "tokio",
            Self::Smol => "smol",
            Self::Go => "go",
        }
    }

    /// Returns the contestant to request from the program. A baseline runs its own gmp.
    pub(crate) fn contestant(self) -> &'static str {
        match self {
            Self::Base | Self::Fixed => "gmp",
            other => other.name(),
        }
    }
}

/// The allocator of all Rust contestants in one comparison. Go has its own and counts in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Allocator {
    /// The C library's `malloc`, which Rust programs use by default.
    Malloc,
    /// mimalloc.
    Mimalloc,
}

impl Allocator {
    /// Both, in the order of the table.
    pub(crate) const ALL: [Self; 2] = [Self::Malloc, Self::Mimalloc];

    /// Returns the name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Mimalloc => "mimalloc",
        }
    }
}

/// A runtime with an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Entrant {
    pub(crate) runtime: Runtime,
    /// `None` for Go.
    pub(crate) allocator: Option<Allocator>,
}

impl Entrant {
    /// A Rust runtime with this allocator.
    pub(crate) const fn rust(runtime: Runtime, allocator: Allocator) -> Self {
        Self { runtime, allocator: Some(allocator) }
    }

    /// gmp with `adaptive=0`. One allocator is enough, because the setting does not affect memory.
    pub(crate) const FIXED: Self = Self::rust(Runtime::Fixed, Allocator::Malloc);

    /// Go.
    pub(crate) const GO: Self = Self { runtime: Runtime::Go, allocator: None };
}

impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.allocator {
            Some(allocator) => write!(f, "{} ({})", self.runtime.name(), allocator.name()),
            None => f.write_str(self.runtime.name()),
        }
    }
}
