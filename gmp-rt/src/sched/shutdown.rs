//! The end of a runtime.
//!
//! 1. *Close*: the runtime takes no new goroutines. A spawn returns a handle that reports
//!    "cancelled".
//! 2. *Reap*: abort every goroutine of the runtime. Parked goroutines become runnable, and the Ms
//!    drop them. A goroutine inside a poll is dropped when the poll returns. Before an M sleeps it
//!    makes a SeqCst fence and reaps again if the runtime closes and goroutines were spawned since
//!    the last walk began. So either this M or `close`, which has the same fence, sees a goroutine
//!    that was spawned or ended as the runtime closed. Without that condition, thousands of
//!    threads that return would each walk over all goroutines of the process.
//!    An external thread that spawns has that fence too, and aborts the goroutine itself. An M that
//!    spawns has no fence, and may not sleep while the goroutine yields all the time. So sysmon
//!    reaps again ([`LateReaps`]).
//! 3. *Stop*: the thread that ends the last goroutine makes all Ms exit. Sysmon exits after them,
//!    because the destructor of an output may still wait for a timer.
//! 4. The [guest](super::guest) of the runtime, if there is one, ends after the Ms.
//!
//! A goroutine is counted as spawned after a walk can see it. So a walk sees all goroutines that
//! were counted before it.
//!
//! No thread has to wait for that. [`Sched::shutdown`] waits up to a limit, also for the ends of
//! the threads. Goroutines that are left then are inside a poll that has not returned. Their
//! threads finish the shutdown when it does.

use super::{Sched, handoff, local};
use crate::g::status::Phase;
use crate::g::{G, GoId, cell, heap};
use crate::m::MId;
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::fixed::{Condvar, Mutex};
use crate::prim::{AtomicBool, BatchQueue};
use crate::tracer::hook;
use crate::tuning::{SLICE, SYSMON_MAX_NAP};
use crate::util::clock;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The progress of the end of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    closing: AtomicBool,
    end: Mutex<ThreadsEnd>,
    changed: Condvar,
}

/// The end of the threads.
#[derive(Debug, Default)]
struct ThreadsEnd {
    /// Whether all threads have ended.
    gone: bool,
    /// Whether a thread waits for that. It ends the guest then.
    attended: bool,
}

/// The thread that waits for the end of a runtime. If it gives up too early to end the guest, its
/// drop or the last M does that.
#[derive(Debug)]
struct Attendant<'a>(&'a Sched);

impl<'a> Attendant<'a> {
    fn new(sched: &'a Sched) -> Self {
        sched.exit.end.lock().attended = true;
        Self(sched)
    }
}

impl Drop for Attendant<'_> {
    fn drop(&mut self) {
        let mut end = self.0.exit.end.lock();
        end.attended = false;
        let gone = end.gone;
        drop(end);
        if gone {
            drop(self.0.guest.take());
        }
    }
}

impl Sched {
    /// Whether the runtime is closed for new goroutines.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.exit.closing.load(Relaxed) // Relaxed: after the fence in `wakep`, or only a hint
    }

    /// Closes the runtime and starts its end. Does not wait.
    pub(crate) fn close(self: &Arc<Self>) {
        self.exit.closing.store(true, SeqCst);
        // Pairs with the fence in `wakep`, between the count of a goroutine and the check of
        // `closing`, and with the fence of an M before it sleeps.
        self.idle.word.fence_before_recheck();
        self.limit_hogs();
        self.reap();
    }

    /// Drops the goroutines in the inbox if no M is left to do it.
    pub(super) fn cancel_queued(&self) {
        // Under the lock: either `stop` counts this goroutine as living, or this thread sees the
        // stop.
        if !self.idle.with(|lists| lists.stopping) {
            return;
        }
        self.inbox.take(usize::MAX, &BatchQueue::new_fifo(), |gp| {
            let _ = gp.status.abort();
            hook::started(|| (gp.traced(), None));
            let _ = gp.status.to_running();
            self.in_guest(|| {
                let output = cell::cancel(&gp);
                self.live.add_finished();
                hook::ended(gp.goid());
                cell::complete(gp, output);
            });
        });
    }

    /// Aborts every goroutine of this runtime, which is closing. Stops its threads if none is left.
    ///
    /// An M that has no P calls this [outside](super::local::Local::outside).
    pub(super) fn reap(&self) {
        self.claim_reap();
        self.reap_claimed();
    }

    /// Reaps if goroutines live and some were spawned since the last walk began. Returns whether it
    /// has walked.
    pub(super) fn reap_spawned(&self) -> bool {
        let walks = self.live() > 0 && self.claim_reap();
        match walks {
            true => self.reap_claimed(),
            false => self.after_complete(),
        }
        walks
    }

    /// Claims the walk over all goroutines spawned up to now. Returns `false` if another thread has
    /// claimed a walk that covers them.
    fn claim_reap(&self) -> bool {
        let spawned = self.idle.with(|lists| self.spawned_of(lists));
        self.live.claim_reap(spawned)
    }

    fn reap_claimed(&self) {
        heap::for_each(|g| {
            if g.runtime() == self.id {
                g.abort();
            }
        });
        self.after_complete();
    }

    /// Stops the threads if the goroutine that has just ended was the last of a closing runtime.
    #[inline]
    pub(super) fn after_complete(&self) {
        if self.is_closing() && self.live() == 0 {
            self.stop();
        }
    }

    /// Makes all threads exit, if no goroutine is left.
    #[cold]
    pub(super) fn stop(&self) {
        let (pool, over) = self.idle.with(|lists| {
            lists.stopping |= self.live_of(lists) == 0;
            let woken = lists.stopping.then(|| lists.pool.iter().cloned().collect());
            (woken.unwrap_or_else(Vec::new), lists.is_over())
        });
        pool.iter().for_each(|m| m.note.wake());
        self.wake_sysmon();
        if over {
            self.tell_gone();
        }
    }

    /// Handles the exit of a thread that has left the scheduler and is not counted any more.
    pub(super) fn thread_exits(&self, id: MId) {
        let (over, stopping) = self.idle.with(|lists| (lists.is_over(), lists.stopping));
        if !stopping {
            return self.threads.forget(id);
        }
        if over {
            self.tell_gone();
        }
    }

    /// Reports that all threads have ended. Wakes the threads that wait for that, and everything
    /// that still waits for a timer or the network of this runtime.
    pub(super) fn tell_gone(&self) {
        self.ps.all_timers().for_each(|timers| timers.end());
        self.net.shut();
        let mut end = self.exit.end.lock();
        end.gone = true;
        let attended = end.attended;
        drop(end);
        self.exit.changed.notify_all();
        if !attended {
            drop(self.guest.take());
        }
    }

    /// Closes the runtime and waits for its end, at most for `limit`.
    ///
    /// A worker thread of the runtime waits only for the ends of the other goroutines, because it
    /// cannot wait for itself.
    pub(crate) fn shutdown(self: &Arc<Self>, limit: Duration) -> Result<(), Leftovers> {
        let deadline = Instant::now().checked_add(limit);
        if self.is_own_thread() {
            self.close();
            // A wait for a P would exceed the limit.
            return handoff::syscall_block_and_pass(|| self.wait_alone(deadline));
        }
        let attendant = Attendant::new(self);
        self.close();
        // Hands off the P of a goroutine of another runtime. A wait for a P would exceed the limit.
        handoff::syscall_block_and_pass(move || self.wait_joined(deadline, attendant))
    }

    /// Whether the calling thread is a worker thread of this runtime.
    pub(crate) fn is_own_thread(&self) -> bool {
        local::with(|local| local.is_some_and(|local| std::ptr::eq(&*local.sched, self)))
    }

    /// Waits until no goroutine but the calling one is left.
    fn wait_alone(&self, deadline: Option<Instant>) -> Result<(), Leftovers> {
        let own = u64::from(own_goid() != 0);
        while self.live() > own {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(self.left());
            }
            // Rare: a wake-up by each goroutine that ends would cost every shutdown more.
            thread::sleep(SYSMON_MAX_NAP);
        }
        Ok(())
    }

    /// Waits until all goroutines and threads have ended, then ends the guest.
    fn wait_joined(
        &self,
        deadline: Option<Instant>,
        _attendant: Attendant<'_>,
    ) -> Result<(), Leftovers> {
        if !self.wait_gone(deadline) {
            return Err(self.left());
        }
        let threads = self.threads.join_until(deadline);
        if !threads.is_empty() {
            return Err(Leftovers { threads, ..Leftovers::default() });
        }
        if let Some(guest) = self.guest.take() {
            let rest = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
            guest.shutdown(deadline.map_or(Duration::MAX, rest));
        }
        Ok(())
    }

    fn wait_gone(&self, deadline: Option<Instant>) -> bool {
        let mut end = self.exit.end.lock();
        while !end.gone {
            match deadline {
                Some(deadline) if self.exit.changed.wait_until(&mut end, deadline).timed_out() => {
                    return end.gone;
                }
                Some(_) => {}
                None => self.exit.changed.wait(&mut end),
            }
        }
        true
    }

    /// Returns what is left of the runtime, without the calling goroutine.
    fn left(&self) -> Leftovers {
        let mut left = Leftovers::default();
        let own = own_goid();
        heap::for_each(|g| {
            if g.runtime() != self.id || g.goid() == own {
                return;
            }
            match g.status.phase() {
                Phase::Running => left.stuck.push(describe(g)),
                Phase::Runnable | Phase::Waiting => left.queued += 1,
                Phase::Dead | Phase::Free => {}
            }
        });
        if self.live() == 0 {
            left.threads = self.threads.unfinished();
        }
        left
    }
}

/// What is left of a runtime when the limit of its shutdown is over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers {
    /// Goroutines inside a poll or a destructor, one line each.
    pub(crate) stuck: Vec<String>,
    /// The number of goroutines that no thread has dropped yet.
    pub(crate) queued: usize,
    /// If all goroutines have ended: the names of the threads that have not.
    pub(crate) threads: Vec<String>,
}

/// Returns the id, the name and the spawn site of a goroutine.
fn describe(g: &G) -> String {
    let name = g.name().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    format!("goroutine {}{name}, spawned at {}", g.goid(), g.site())
}

/// Returns the id of the goroutine that this thread polls; 0 if it polls none.
fn own_goid() -> GoId {
    local::with(|local| local.map_or(0, |local| local.goid.get()))
}

/// Sysmon's reaps of a runtime that is closing.
///
/// An M that spawns a goroutine as the runtime closes may not see that it closes, and `close` may
/// not see the goroutine. Some time later the next walk sees it. The time between two walks
/// doubles, because a walk over many goroutines takes long.
#[derive(Debug, Default)]
pub(crate) struct LateReaps {
    next: u64,
    /// The time between two walks; 0 before the runtime closes.
    pause: u64,
}

impl LateReaps {
    /// Reaps if the runtime is closing and it is time. Called in each round of sysmon.
    pub(crate) fn round(&mut self, sched: &Sched, now: u64) {
        if !sched.is_closing() || now < self.next {
            return;
        }
        match self.pause {
            // `close` makes the first walk.
            0 => self.pause = clock::nanos(SLICE),
            _ => {
                sched.reap();
                self.pause *= 2;
            }
        }
        self.next = now + self.pause;
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "shutdown_tests.rs"]
mod tests;
