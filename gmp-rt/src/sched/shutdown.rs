//! The end of a runtime.
//!
//! 1. *Close*: the runtime takes no new goroutines. A spawn returns a handle that reports
//!    "cancelled".
//! 2. *Reap*: abort every goroutine of the runtime. Parked goroutines become runnable, and the Ms
//!    drop them. A goroutine inside a poll is dropped when the poll returns. Before an M sleeps it
//!    makes a SeqCst fence and reaps again if the runtime closes. So either this M or `close`,
//!    which has the same fence, sees a goroutine that was spawned or ended as the runtime closed.
//! 3. *Stop*: the thread that ends the last goroutine makes all Ms exit.
//!
//! No thread has to wait for that. [`Sched::shutdown`] waits up to a limit. Goroutines that are
//! left then are inside a poll that has not returned. Their threads finish the shutdown when it
//! does.

use super::Sched;
use super::current;
use crate::g::status::Phase;
use crate::g::{cell, heap};
use crate::m::MId;
use crate::prim::AtomicBool;
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::fixed::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The progress of the end of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Exit {
    closing: AtomicBool,
    /// Whether all threads have ended.
    gone: Mutex<bool>,
    changed: Condvar,
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
        self.idle.word.parked();
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
        while let Some(gp) = self.inbox.get() {
            let _ = gp.status.abort();
            let _ = gp.status.to_running();
            let output = cell::cancel(&gp);
            self.live.add_finished();
            cell::complete(gp, output);
        }
    }

    /// Aborts every goroutine of this runtime, which is closing. Stops its threads if none is left.
    ///
    /// An M that has no P calls this [outside](super::current::Local::outside).
    pub(super) fn reap(&self) {
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
            lists.stopping |= self.live() == 0;
            (if lists.stopping { lists.pool.clone() } else { Vec::new() }, lists.is_over())
        });
        pool.iter().for_each(|m| m.note.wake());
        self.idle.call_sysmon();
        if over {
            self.tell_gone();
        }
    }

    /// Handles the exit of a thread that has left the scheduler and is not counted any more.
    pub(super) fn thread_exits(&self, id: MId) {
        let (over, stopping) = self.idle.with(|lists| (lists.is_over(), lists.stopping));
        if !stopping {
            return self.forget_thread(id);
        }
        if over {
            self.tell_gone();
        }
    }

    /// Reports that all threads have ended. Wakes the threads that wait for that, and everything
    /// that still waits for a timer or the network of this runtime.
    pub(super) fn tell_gone(&self) {
        for p in self.ps.iter() {
            p.timers.end();
        }
        self.net.shut();
        *self.exit.gone.lock() = true;
        self.exit.changed.notify_all();
    }

    /// Closes the runtime and waits for its end, at most for `limit`.
    ///
    /// On a worker thread of the runtime it does not wait, because the caller would wait for
    /// itself. It then returns an error.
    pub(crate) fn shutdown(self: &Arc<Self>, limit: Duration) -> Result<(), Vec<String>> {
        self.close();
        if !self.is_own_thread() && self.wait_gone(limit) {
            self.join_threads();
            return Ok(());
        }
        Err(self.stuck())
    }

    /// Whether the calling thread is a worker thread of this runtime.
    pub(crate) fn is_own_thread(&self) -> bool {
        current::with(|local| local.is_some_and(|local| std::ptr::eq(&*local.sched, self)))
    }

    fn wait_gone(&self, limit: Duration) -> bool {
        let deadline = Instant::now().checked_add(limit);
        let mut gone = self.exit.gone.lock();
        while !*gone {
            match deadline {
                Some(deadline) if self.exit.changed.wait_until(&mut gone, deadline).timed_out() => {
                    return *gone;
                }
                Some(_) => {}
                None => self.exit.changed.wait(&mut gone),
            }
        }
        true
    }

    /// Describes the goroutines that are not dead, one line each.
    fn stuck(&self) -> Vec<String> {
        let mut stuck = Vec::new();
        heap::for_each(|g| {
            if g.runtime() == self.id && g.status.phase() != Phase::Dead {
                let name = g.name().map(|name| format!(" \"{name}\"")).unwrap_or_default();
                stuck.push(format!("goroutine {}{name}, spawned at {}", g.goid(), g.site()));
            }
        });
        stuck
    }
}
