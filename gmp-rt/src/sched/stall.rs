//! Stalls: goroutines that block or occupy their thread. They are counted, passed to a hook and
//! printed on request.

use super::Sched;
use crate::g::heap;
use crate::prim::fixed::Mutex;
use crate::prim::{contain, debug_assert_no_lock_held};
use crate::throw::say;
use std::collections::HashSet;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What the thread of a stalled goroutine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StallKind {
    /// It slept in the kernel, in an unmarked blocking call.
    Blocked,
    /// It computed for longer than a slice without an await.
    Computing,
}

impl fmt::Display for StallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocked => "blocked its thread",
            Self::Computing => "computed without an await",
        })
    }
}

/// A goroutine that blocked its thread, or computed without an await, for too long.
///
/// The runtime continues the other goroutines on another thread.
#[derive(Clone, Debug)]
pub struct Stall {
    goid: u64,
    name: Option<String>,
    site: Option<&'static Location<'static>>,
    kind: StallKind,
    duration: Duration,
}

impl Stall {
    pub(super) fn new(goid: u64, kind: StallKind, duration: Duration) -> Self {
        Self { goid, name: None, site: None, kind, duration }
    }

    /// The goroutine's id.
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.goid
    }

    /// The goroutine's name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The place where it was spawned. `None` if the goroutine ended before the report.
    #[must_use]
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.site
    }

    /// What its thread did.
    #[must_use]
    pub fn kind(&self) -> StallKind {
        self.kind
    }

    /// The duration of the stall until the report.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {}", self.goid)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, " {} for {:?} so far", self.kind, self.duration)?;
        match self.site {
            Some(site) => write!(f, "; spawned at {site}"),
            None => Ok(()),
        }
    }
}

type Hook = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The hook, the reported spawn sites and the count of stalls.
#[derive(Default)]
pub(crate) struct Stalls {
    hook: Mutex<Option<Hook>>,
    told: Mutex<HashSet<(&'static str, u32)>>,
    count: Mutex<u64>,
}

impl Drop for Stalls {
    /// Contains a panic of the hook's drop. A worker thread or sysmon may drop the last reference
    /// to a scheduler.
    fn drop(&mut self) {
        let hook = self.hook.get_mut().take();
        contain(|| drop(hook));
    }
}

impl fmt::Debug for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stalls").field("count", &*self.count.lock()).finish_non_exhaustive()
    }
}

impl Sched {
    /// Sets the hook that sysmon's thread calls for each stall.
    pub(crate) fn on_stall(&self, hook: impl Fn(&Stall) + Send + Sync + 'static) {
        let hook: Hook = Arc::new(hook);
        let replaced = self.stalls.hook.lock().replace(hook);
        // After the lock is released, because the drop is user code.
        drop(replaced);
    }

    /// Returns the number of stalls.
    pub(super) fn stall_count(&self) -> u64 {
        *self.stalls.count.lock()
    }

    /// Counts a stall, prints it if configured, and calls the hook.
    pub(super) fn report_stall(&self, stall: &Stall) {
        let hook = self.stalls.hook.lock().clone();
        let is_shown = hook.is_some() || self.config.print_stalls;
        let mut stall = stall.clone();
        // Before the stall is counted: a goroutine that waits for the count may then end.
        if is_shown {
            heap::for_each(|g| {
                if g.goid() == stall.goid {
                    stall.name = g.name().map(str::to_owned);
                    stall.site = Some(g.site());
                }
            });
        }
        *self.stalls.count.lock() += 1;
        if self.config.print_stalls && self.is_news(&stall) {
            say!("gmp: stall: {stall}");
        }
        if let Some(hook) = hook {
            debug_assert_no_lock_held("calls the stall hook");
            contain(|| hook(&stall));
            // This is the last reference if the hook was replaced meanwhile.
            contain(|| drop(hook));
        }
    }

    /// Whether no stall of this spawn site was reported yet.
    fn is_news(&self, stall: &Stall) -> bool {
        stall.site.is_none_or(|site| self.stalls.told.lock().insert((site.file(), site.line())))
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "stall_tests.rs"]
mod tests;
