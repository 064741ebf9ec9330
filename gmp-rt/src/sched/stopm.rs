//! How an M goes to sleep and wakes up without losing a wake-up.
//!
//! An M puts its P on the idle list and enters the pool. After a fence it checks all queues and
//! timers again, and whether the runtime closes. Then it sleeps. The README has the proof.

use super::Sched;
use super::idle::IdleLists;
use super::local::Place;
use super::pause;
use super::poller::Network;
use super::pool::TimerSleeper;
use super::wake::Started;
use super::worker::{Step, Worker};
use crate::g::heap;
use crate::m::M;
use crate::m::note::Slept;
use crate::p::PStatus;
use crate::util::clock;
use std::sync::Arc;
use std::time::Duration;

/// How long an M sleeps, and where.
#[derive(Clone, Copy, Debug)]
enum SleepKind {
    /// Not at all: the runtime stops.
    Skip,
    /// Until it is woken.
    Forever,
    /// Until the next timer, on behalf of all Ms.
    Timer(u64),
    /// For the keep-alive time: the M is beyond `max_procs` and then exits.
    KeepAlive(u64),
    /// In the netpoller, on behalf of all Ms, at most until this time.
    Poll(u64),
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakeup {
    /// The M was woken, or a timer is due.
    Woken,
    /// The keep-alive time is over.
    TimedOut,
}

/// The result of an M's attempt to wake up by itself.
#[derive(Debug, PartialEq, Eq)]
enum Restart {
    /// It has a P and spins.
    GotP,
    /// No P is idle: the Ms that hold the Ps find the work.
    NoIdleP,
    /// Another thread took it out of the pool and is about to grant it a P.
    AlreadyWoken,
}

impl Worker<'_> {
    /// Releases the P and sleeps. Returns `None` when the M has a P again and must look for work.
    pub(crate) fn stopm(&mut self) -> Option<Step> {
        let sched = &self.local.sched;
        if let Some(p) = self.local.release_p() {
            let token = self.token.take();
            let (all_idle, _surplus) = sched.idle.with(|lists| {
                if p.status() == PStatus::HandedOff {
                    // Sysmon handed off the P before: it is not active any more.
                    pause::leave();
                    lists.ps.remove_handed_off(&p);
                    lists.ps.retire(p, &lists.key);
                    sched.idle.word.drop_token(token);
                } else {
                    p.counters.parks.add(1);
                    sched.idle.put_p(lists, p, Some(self.local.m.clone()), token);
                }
                lists.pool.push(self.local.m.clone());
                (lists.all_idle(), lists.trim_spare())
            });
            if all_idle {
                // A goroutine that becomes runnable meanwhile does not wait for the rest.
                heap::trim(|| !sched.any_work() && sched.next_timer() > clock::now());
            }
        }
        self.sleep_in_pool()
    }

    /// Retires the handed-off P and enters the pool. Moves the P's queue to the shared queues.
    pub(crate) fn retire_p(&mut self) {
        let sched = &self.local.sched;
        // Before the queue is drained: a pause with the goroutines in hand would delay them.
        pause::leave();
        let Some(p) = self.local.release_p() else {
            return;
        };
        // The P is handed off, so nothing more is queued on it, even before the lock is taken.
        let left = p.runq().drain();
        let _surplus = sched.idle.with(|lists| {
            lists.ps.remove_handed_off(&p);
            lists.ps.retire(p, &lists.key);
            lists.pool.push(self.local.m.clone());
            lists.trim_spare()
        });
        sched.requeue_all(left);
        sched.idle.word.drop_token(self.token.take());
        sched.wakep();
    }

    /// Sleeps in the pool. Returns `None` when the M has a P and must look for work.
    pub(super) fn sleep_in_pool(&mut self) -> Option<Step> {
        let local = self.local;
        let (sched, m) = (&local.sched, &local.m);
        loop {
            sched.idle.word.fence_before_recheck();
            // After the fence: either this M sees `closing`, or `close` sees everything that this M
            // did.
            if sched.is_closing() {
                local.outside(|| sched.reap_spawned());
            }
            let next = sched.next_timer();
            let nothing = next > clock::now() && !self.any_work() && self.ready.is_empty();
            let wakeup = if nothing {
                self.sleep_once(next)
            } else {
                match self.restart() {
                    Restart::GotP => {
                        self.begin();
                        return None;
                    }
                    Restart::NoIdleP => {
                        self.wake_ready_external();
                        self.sleep_once(clock::FOREVER)
                    }
                    Restart::AlreadyWoken => {
                        m.note.sleep();
                        Wakeup::Woken
                    }
                }
            };
            if let Some(grant) = m.take_grant() {
                self.local.acquire_p(grant.p);
                self.token = Some(grant.token);
                self.begin();
                return None;
            }
            if sched.idle.with(|lists| lists.may_exit(m, wakeup)) {
                self.wake_ready_external();
                // A thread that set a timer may have relied on this M.
                let next = sched.next_timer();
                if next != clock::FOREVER {
                    let _ = sched.ensure_timer_sleeper(next);
                }
                return Some(Step::Exit);
            }
        }
    }

    /// Begins on a P: its first goroutines are those whose events ended the sleep.
    pub(super) fn begin(&mut self) {
        self.local.wake_ready(Place::Newcomer, &mut self.ready);
        if self.local.begin_found_newcomers() {
            self.local.p().begin_slice();
        }
    }

    /// Sleeps once, in the way that `IdleLists::sleep_kind` decides. The next timer is at `next`.
    fn sleep_once(&mut self, next: u64) -> Wakeup {
        let m = &self.local.m;
        let sched = &self.local.sched;
        let (network, keep_alive) = (sched.net.network(), sched.config.keep_alive);
        let kind = sched.idle.with(|lists| {
            let kind = lists.sleep_kind(m, next, network, keep_alive);
            let timed = lists.pool.roles.timer_sleeper.is_some();
            sched.cancel_sysmon_wake(lists, timed && lists.is_polled(network));
            kind
        });
        match kind {
            SleepKind::Skip => Wakeup::Woken,
            SleepKind::Forever => {
                m.note.sleep();
                Wakeup::Woken
            }
            SleepKind::Timer(until) => {
                let _ = m.note.sleep_until(until);
                Wakeup::Woken
            }
            SleepKind::KeepAlive(until) => {
                // One of many threads after a burst of blocking calls: it keeps no P alive.
                self.ps.clear();
                match m.note.sleep_until(until) {
                    Slept::Woken => Wakeup::Woken,
                    Slept::TimedOut => Wakeup::TimedOut,
                }
            }
            SleepKind::Poll(until) => {
                self.sleep_in_netpoll(until);
                Wakeup::Woken
            }
        }
    }

    /// Takes an idle P without a grant, to look for work.
    fn restart(&mut self) -> Restart {
        let sched = &self.local.sched;
        let m = &self.local.m;
        let restarted = sched.idle.with(|lists| {
            if !lists.pool.leave(m) {
                return Err(Restart::AlreadyWoken);
            }
            match sched.idle.take_p(lists) {
                Some(p) => Ok((p, sched.idle.word.spin_unconditionally())),
                None => {
                    lists.pool.push(m.clone());
                    Err(Restart::NoIdleP)
                }
            }
        });
        match restarted {
            Ok((p, token)) => {
                self.local.acquire_p(p);
                self.token = Some(token);
                Restart::GotP
            }
            Err(restart) => restart,
        }
    }
}

impl IdleLists {
    /// Decides how long `m`, which is in the pool, sleeps, if the next timer is at `next`.
    ///
    /// One M sleeps until the next timer on behalf of all. An M with an earlier timer replaces it.
    /// If there is a netpoller, one M sleeps in it, also for the timer if it is the one that does
    /// so.
    fn sleep_kind(
        &mut self,
        m: &Arc<M>,
        next: u64,
        network: Network,
        keep_alive: Duration,
    ) -> SleepKind {
        if self.stopping {
            return SleepKind::Skip;
        }
        let pool = &mut self.pool;
        if !pool.contains(m) {
            // Another thread took it out of the pool. Its grant ends the sleep.
            return SleepKind::Forever;
        }
        let until =
            pool.roles.timer_sleeper.as_ref().map_or(clock::FOREVER, |sleeper| sleeper.until);
        let timed = next != clock::FOREVER && (until > next || pool.roles.is_timer_sleeper(m));
        if timed {
            pool.roles.timer_sleeper = Some(TimerSleeper { m: m.clone(), until: next });
        } else {
            pool.roles.forget_timer_sleeper(m);
        }
        if network == Network::There && pool.roles.poller.is_none_or(|poller| poller == m.id) {
            pool.roles.poller = Some(m.id);
            return SleepKind::Poll(if timed { next } else { clock::FOREVER });
        }
        if timed {
            return SleepKind::Timer(next);
        }
        if self.threads.count > self.quota.max {
            SleepKind::KeepAlive(clock::after(keep_alive))
        } else {
            SleepKind::Forever
        }
    }

    /// Whether an M waits in the netpoller, or there is no netpoller.
    pub(super) fn is_polled(&self, network: Network) -> bool {
        self.pool.roles.poller.is_some() || network == Network::None
    }

    /// Whether `m`, which is awake, must exit. If so, takes it out of the pool and out of the count
    /// of threads.
    ///
    /// From here on the M sleeps for no timer. A thread that sets one wakes this M or another one,
    /// until this M has read the timers again.
    fn may_exit(&mut self, m: &M, wakeup: Wakeup) -> bool {
        self.pool.roles.forget_timer_sleeper(m);
        let surplus = wakeup == Wakeup::TimedOut && self.threads.count > self.quota.max;
        let exits = (self.stopping || surplus) && self.pool.leave(m);
        if exits {
            self.threads.count -= 1;
        }
        exits
    }
}

/// The M that is to wake for a timer.
enum WakeForTimer {
    /// An M sleeps until this timer or an earlier one.
    Found,
    /// This M is in the pool. Woken, it reads the timers and sleeps again.
    Wake(Arc<M>),
    /// No M is in the pool: another one is needed.
    Start,
}

impl Sched {
    /// Ensures that a thread wakes for a timer at `when` that no running P serves. That is an M of
    /// the pool, another M if a P is idle, or sysmon if no thread can be started.
    pub(crate) fn ensure_timer_sleeper(self: &Arc<Self>, when: u64) -> Started {
        // An M enters the pool, and stops to be the sleeper, under the same lock, and reads the
        // timers after that. So either that M sees the timer, or this thread sees the M in the
        // pool.
        let wake = self.idle.with(|lists| match &lists.pool.roles.timer_sleeper {
            Some(sleeper) if sleeper.until <= when => WakeForTimer::Found,
            Some(sleeper) => WakeForTimer::Wake(sleeper.m.clone()),
            None => lists.pool.iter().next().cloned().into(),
        });
        match wake {
            WakeForTimer::Found => {}
            WakeForTimer::Wake(m) => m.note.wake(),
            WakeForTimer::Start => {
                let started = self.startm(self.idle.word.spin_unconditionally());
                if started == Started::Refused {
                    // No thread is available: only sysmon is left.
                    self.wake_sysmon();
                }
                return started;
            }
        }
        Started::Enough
    }
}

impl From<Option<Arc<M>>> for WakeForTimer {
    fn from(m: Option<Arc<M>>) -> Self {
        m.map_or(Self::Start, Self::Wake)
    }
}
