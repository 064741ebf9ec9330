//! Goroutine dumps in Go's format.
//!
//! A dump walks the slabs while the goroutines run. It shows each goroutine as it was when it was
//! read.

use super::{Sched, pause, registry};
use crate::g::status::Phase;
use crate::g::{GSight, GoId, heap};
use crate::p::{P, PStatus};
use crate::util::clock;
use std::fmt::Write;

/// Describes all goroutines of all runtimes, by id.
pub(crate) fn dump_all() -> String {
    join(registry::all().iter().flat_map(|sched| sched.goroutines()).collect())
}

fn join(mut goroutines: Vec<(GoId, String)>) -> String {
    goroutines.sort_unstable();
    let texts: Vec<String> = goroutines.into_iter().map(|(_, text)| text).collect();
    texts.join("\n")
}

impl Sched {
    /// Describes all goroutines of this runtime, by id.
    pub(crate) fn dump(&self) -> String {
        join(self.goroutines())
    }

    fn goroutines(&self) -> Vec<(GoId, String)> {
        let now = clock::now();
        let mut goroutines = Vec::new();
        heap::for_each(|g| {
            if g.runtime() == self.id && g.status.phase() != Phase::Dead {
                goroutines.push((g.goid(), self.describe(g, now)));
            }
        });
        goroutines
    }

    /// Describes one goroutine as Go does: `goroutine 7 [chan receive, 3 minutes] {name: worker}:`,
    /// then where it was spawned.
    fn describe(&self, g: &GSight, now: u64) -> String {
        let mut text = format!("goroutine {} [", g.goid());
        let (wait, _) = g.wait();
        match g.status.phase() {
            Phase::Waiting => {
                text.push_str(wait.reason.as_str());
                let minutes = now.saturating_sub(wait.since) / 60_000_000_000;
                if wait.since != 0 && minutes >= 1 {
                    let _ = write!(text, ", {minutes} minutes");
                }
            }
            Phase::Running if self.is_in_call(g.goid()) => text.push_str("syscall"),
            Phase::Running => text.push_str("running"),
            Phase::Runnable => text.push_str("runnable"),
            Phase::Free | Phase::Dead => text.push_str("dead"),
        }
        text.push(']');
        if let Some(name) = g.name() {
            let _ = write!(text, " {{name: {name}}}");
        }
        let _ = writeln!(text, ":\ncreated by goroutine {}\n\t{}", g.parent(), g.site());
        text
    }

    /// Whether a running goroutine is in a blocking call.
    fn is_in_call(&self, goid: GoId) -> bool {
        self.ps.iter().any(|p| p.goid() == goid && self.blocks(p))
    }

    /// Whether the goroutine of `p` is in a blocking call: a marked one, or one for which `p` was
    /// handed off.
    pub(super) fn blocks(&self, p: &P) -> bool {
        let is_handed_off = p.status() == PStatus::Displaced;
        p.calls.get().is_under_way() || (is_handed_off && !pause::is_hog(self, p))
    }
}
