//! The end of a runtime.
//!
//! 1. *Close*: no new goroutines; a spawn gives a handle that says "cancelled".
//! 2. *Reap*: abort every goroutine of the runtime. Those that wait become runnable and are
//!    dropped by the Ms; those inside a poll are dropped when it returns. Before an M sleeps it
//!    makes a SeqCst fence and reaps again if the runtime closes. So either this M or `close`,
//!    which has the same fence, sees a goroutine that was spawned or ended as the runtime closed.
//! 3. *Stop*: whoever ends the last goroutine tells all Ms to exit.
//!
//! Nobody has to wait for that. [`Sched::shutdown`] does, up to a limit; what is left then is
//! inside a poll that does not return, on threads that finish all this when it does.

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

/// How far the end of a runtime is.
#[derive(Debug, Default)]
pub(crate) struct Exit {
    closing: AtomicBool,
    /// Whether all threads are gone.
    gone: Mutex<bool>,
    changed: Condvar,
}

impl Sched {
    /// Whether the runtime is closed for new goroutines.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.exit.closing.load(Relaxed) // Relaxed: after the fence in `wakep`, or only a hint
    }

    /// Closes, and starts the end. Does not wait.
    pub(crate) fn close(self: &Arc<Self>) {
        self.exit.closing.store(true, SeqCst);
        // Pairs with the fence in `wakep`, between a goroutine's count and the look at `closing`,
        // and with the fence of an M before it sleeps.
        self.idle.word.parked();
        self.limit_hogs();
        self.reap();
    }

    /// Drops goroutines that came from outside when no M is left to do it.
    pub(super) fn cancel_queued(&self) {
        // Under the lock: either `stop` counts our goroutine as living, or we see that it stopped.
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

    /// A goroutine has ended: if it was the last of a closing runtime, stops the threads.
    #[inline]
    pub(super) fn after_complete(&self) {
        if self.is_closing() && self.live() == 0 {
            self.stop();
        }
    }

    /// Tells all threads to exit, if really nothing lives any more.
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

    /// A thread has left the scheduler, and is not counted any more.
    pub(super) fn thread_exits(&self, id: MId) {
        let (over, stopping) = self.idle.with(|lists| (lists.is_over(), lists.stopping));
        if !stopping {
            return self.forget_thread(id);
        }
        if over {
            self.tell_gone();
        }
    }

    /// All threads are gone: wakes who waits for that, and whoever still waits for a timer or for
    /// the network here.
    pub(super) fn tell_gone(&self) {
        for p in self.ps.iter() {
            p.timers.end();
        }
        self.net.shut();
        *self.exit.gone.lock() = true;
        self.exit.changed.notify_all();
    }

    /// Closes and waits for the end, at most for `limit`.
    ///
    /// On a thread of the runtime itself it does not wait: the caller would wait for itself.
    pub(crate) fn shutdown(self: &Arc<Self>, limit: Duration) -> Result<(), Vec<String>> {
        self.close();
        if !self.is_own_thread() && self.wait_gone(limit) {
            self.join_threads();
            return Ok(());
        }
        Err(self.stuck())
    }

    /// Whether the calling thread is one of this runtime's.
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

    /// The goroutines that live, a line each.
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
