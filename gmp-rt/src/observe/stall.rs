//! Stalls: goroutines that block or occupy their thread while others wait for its P. They are
//! counted, passed to a hook and reported on request. Most hand-offs are no stalls: they delay no
//! goroutine.
//!
//! Sysmon finds a stall. It looks up one cell, not all goroutines, and the hook runs on the
//! [reporter thread](super::event::reporter). So a report delays no hand-off.

use super::event::{self, Event, reporter};
use crate::g::GoId;
use crate::p::P;
use crate::prim::contain;
use crate::prim::fixed::Mutex;
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

/// A goroutine that blocked its thread, or computed without an await, while others waited.
///
/// The runtime continues the other goroutines on another thread. [`on_stall`] says what counts as a
/// stall.
///
/// [`on_stall`]: crate::runtime::on_stall
#[derive(Clone, Debug)]
pub struct Stall {
    goid: u64,
    name: Option<String>,
    site: Option<&'static Location<'static>>,
    kind: StallKind,
    duration: Duration,
}

impl Stall {
    fn new(p: &P, goid: GoId, kind: StallKind, duration: Duration) -> Self {
        let g = p.goroutine(goid);
        let name = g.as_ref().and_then(|g| Some(g.name()?.to_owned()));
        Self { goid, name, site: g.map(|g| g.site()), kind, duration }
    }

    /// Returns the id of the goroutine.
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.goid
    }

    /// Returns the name of the goroutine, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the place where the goroutine was spawned, or `None` if the goroutine ended before
    /// the report.
    #[must_use]
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.site
    }

    /// Returns what its thread did.
    #[must_use]
    pub fn kind(&self) -> StallKind {
        self.kind
    }

    /// Returns the duration of the stall until the report.
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

/// The number of stalls, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StallCounts {
    pub(super) blocked: u64,
    pub(super) computing: u64,
}

impl StallCounts {
    fn add(&mut self, kind: StallKind) {
        match kind {
            StallKind::Blocked => self.blocked += 1,
            StallKind::Computing => self.computing += 1,
        }
    }
}

type StallHook = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The hook, the reported spawn sites and the counts of stalls.
pub(crate) struct Stalls {
    hook: Mutex<Option<StallHook>>,
    /// Whether stalls are printed.
    prints: bool,
    reported_sites: Mutex<HashSet<(&'static str, u32)>>,
    counts: Mutex<StallCounts>,
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
        f.debug_struct("Stalls").field("counts", &*self.counts.lock()).finish_non_exhaustive()
    }
}

impl Stalls {
    /// Creates the reports of a runtime that prints stalls if `prints`.
    pub(crate) fn new(prints: bool) -> Self {
        Self {
            hook: Mutex::default(),
            prints,
            reported_sites: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    /// Sets the hook that the reporter thread calls for each stall.
    pub(crate) fn set_hook(&self, hook: impl Fn(&Stall) + Send + Sync + 'static) {
        // If the OS refuses the thread, sysmon calls the hook.
        let _ = reporter::start();
        let hook: StallHook = Arc::new(hook);
        let replaced = self.hook.lock().replace(hook);
        // After the lock is released, because the drop is user code.
        drop(replaced);
    }

    /// Returns the number of stalls, by kind.
    pub(super) fn counts(&self) -> StallCounts {
        *self.counts.lock()
    }

    /// Counts the stall of the goroutine `goid` of `p`, prints it if configured, and has the hook
    /// called.
    pub(crate) fn report(&self, p: &P, goid: GoId, kind: StallKind, duration: Duration) {
        let hook = self.hook.lock().clone();
        let is_shown = hook.is_some() || self.prints;
        // Before the stall is counted: a goroutine that waits for the count may then end.
        let stall = is_shown.then(|| Stall::new(p, goid, kind, duration));
        self.counts.lock().add(kind);
        let Some(stall) = stall else { return };
        if self.prints && self.is_first_for_site(&stall) {
            event::emit(Event::Stall(stall.clone()));
        }
        let Some(hook) = hook else { return };
        if let Err(mut job) = reporter::post(Box::new(move || hook(&stall))) {
            contain(&mut job);
            // This is the last reference if the hook was replaced meanwhile.
            contain(|| drop(job));
        }
    }

    /// Whether no stall of this spawn site was printed yet.
    fn is_first_for_site(&self, stall: &Stall) -> bool {
        let is_first = |site: &Location<'static>| {
            self.reported_sites.lock().insert((site.file(), site.line()))
        };
        stall.site.is_none_or(is_first)
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "stall_tests.rs"]
mod tests;
