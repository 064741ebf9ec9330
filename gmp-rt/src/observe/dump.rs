//! Goroutine dumps in Go's format.
//!
//! A dump walks the slabs while the goroutines run. It shows each goroutine as it was when it was
//! read.

use super::heading::Heading;
use crate::g::status::Phase;
use crate::g::{GSight, GoId, heap};
use crate::p::{P, PStatus};
use crate::sched::{Sched, registry};
use crate::sys::thread_state;
use crate::util::clock;
use crate::wait_reason::WaitReason;
use std::collections::HashMap;
use std::sync::Arc;

/// Describes all goroutines of all runtimes, by id.
pub(crate) fn dump_all() -> String {
    let now = clock::now();
    join(registry::all().iter().flat_map(|sched| sched.goroutines(now)).collect())
}

fn join(mut goroutines: Vec<(GoId, String)>) -> String {
    goroutines.sort_unstable();
    let texts: Vec<String> = goroutines.into_iter().map(|(_, text)| text).collect();
    texts.join("\n")
}

impl Sched {
    /// Describes all goroutines of this runtime, by id.
    pub(crate) fn dump(&self) -> String {
        join(self.goroutines(clock::now()))
    }

    fn goroutines(&self, now: u64) -> Vec<(GoId, String)> {
        let (mut goroutines, ps) = (Vec::new(), self.owned_ps());
        let running = running(&ps);
        heap::for_each(|g| {
            if g.runtime() == self.id && g.status.phase() != Phase::Dead {
                let p = running.get(&g.goid()).copied();
                goroutines.push((g.goid(), self.describe(g, p, now)));
            }
        });
        goroutines
    }

    /// Returns the Ps that an M may own: the active and the handed-off ones.
    pub(super) fn owned_ps(&self) -> Vec<Arc<P>> {
        self.idle.with(|lists| lists.ps.owned().cloned().collect())
    }

    /// Describes one goroutine as Go does, see [`Heading`]. Adds a line with the object of its
    /// wait. `p` is the P on which it is polled.
    fn describe(&self, g: &GSight, p: Option<&P>, now: u64) -> String {
        let (wait, resource) = g.wait();
        let minutes = |since: u64| if since == 0 { 0 } else { now.saturating_sub(since) / MINUTE };
        let (state, minutes, object) = match g.status.phase() {
            Phase::Waiting => {
                (wait.reason.as_str(), minutes(wait.since), object(wait.reason, resource))
            }
            Phase::Running => match p {
                Some(p) if p.is_returning() => ("runnable", 0, None),
                Some(p) => {
                    let (state, call) = match self.blocks(p) {
                        true => ("syscall", thread_state::call(p.thread())),
                        false => ("running", None),
                    };
                    (state, minutes(p.poll_since().unwrap_or(0)), call)
                }
                None => ("running", 0, None),
            },
            Phase::Runnable => ("runnable", 0, None),
            Phase::Free | Phase::Dead => ("dead", 0, None),
        };
        let heading = Heading { g, state, minutes };
        match object {
            Some(object) => heading.with_line(&object),
            None => heading.to_string(),
        }
    }

    /// Whether the goroutine of `p` is in a blocking call: a marked one, or one for which `p` was
    /// handed off.
    pub(super) fn blocks(&self, p: &P) -> bool {
        let is_handed_off = p.status() == PStatus::HandedOff;
        p.calls.get().in_progress() || (is_handed_off && !p.computes())
    }
}

/// Returns `ps` by the goroutine that is polled there.
pub(super) fn running(ps: &[Arc<P>]) -> HashMap<GoId, &P> {
    ps.iter().map(|p| (p.goid(), &**p)).collect()
}

/// Nanoseconds per minute.
const MINUTE: u64 = 60_000_000_000;

/// Returns the object of a wait, if it has a name.
fn object(reason: WaitReason, resource: usize) -> Option<String> {
    match reason {
        WaitReason::Join => Some(format!("waits for goroutine {resource}")),
        WaitReason::IoWait => Some(format!("waits for descriptor {resource}")),
        // The address of the channel, the lock or the like.
        _ if reason.is_primitive() && resource != 0 => Some(format!("waits at {resource:#x}")),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
#[path = "dump_tests.rs"]
mod tests;
