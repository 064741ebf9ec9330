//! Single scans over all Ps, for the micro-benchmarks of `benches/`. Behind the feature
//! `dev-hooks`.
//!
//! A [`Probe`] is a scheduler without threads. [`Crowd::work`] makes its Ps look as if their Ms ran
//! goroutines. So the cost of a scan over many Ps can be measured on a machine with few CPUs: it
//! reads as many cache lines that another CPU has written.

use super::goroutine::{NO_RUNTIME, unqueued};
use crate::g::GRef;
use crate::m::M;
use crate::netpoll::Ready;
use crate::p::OwnedP;
use crate::p::runq::Got;
use crate::sched::Config;
use crate::sched::Sched;
use crate::sched::local::Local;
use crate::sched::progress::Progress;
use crate::sched::ps::PsView;
use crate::sched::worker::Worker;
use crate::sysmon::Sysmon;
use crate::util::clock;
use std::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Longer than a benchmark runs.
const HOUR: Duration = Duration::from_secs(3600);

/// An M with a P that has no work, beside Ps that run.
#[derive(Debug)]
pub struct Probe {
    local: Local,
    ps: RefCell<PsView>,
}

/// The other Ps. One thread runs all of them.
#[derive(Debug)]
pub struct Crowd {
    sched: Arc<Sched>,
    ps: Vec<OwnedP>,
}

impl Probe {
    /// Creates `procs` Ps: one for the calling thread, the others in the crowd.
    #[must_use]
    pub fn new(procs: usize) -> (Self, Crowd) {
        let sched = Sched::new(NO_RUNTIME, Config { procs, ..Config::default() });
        let mut ps: Vec<OwnedP> =
            sched.idle.with(|lists| std::iter::from_fn(|| sched.idle.take_p(lists)).collect());
        let local = Local::new(sched.clone(), Arc::new(M::for_this_thread(1)));
        local.acquire_p(ps.pop().expect("at least one P"));
        (Self { local, ps: RefCell::default() }, Crowd { sched, ps })
    }

    /// Scans the timers, as an M does when it takes a P and before it sleeps.
    pub fn next_timer(&self) -> u64 {
        self.local.sched.next_timer()
    }

    /// Scans the queues, as an M does before it sleeps.
    pub fn any_work(&self) -> bool {
        self.with_worker(|worker| worker.any_work())
    }

    /// Makes the whole check before a sleep.
    pub fn last_look(&self) -> bool {
        self.local.sched.idle.word.fence_before_recheck();
        self.next_timer() > clock::now() && !self.any_work()
    }

    /// Makes one round of a thief. Returns whether it found work.
    pub fn steal_pass(&self) -> bool {
        self.with_worker(|worker| worker.steal_pass(false).map(GRef::into_raw).is_some())
    }

    fn with_worker<R>(&self, f: impl FnOnce(&mut Worker<'_>) -> R) -> R {
        let (local, ps) = (&self.local, self.ps.take());
        let (ready, progress) = (Ready::default(), Progress::default());
        let mut worker = Worker { ready, ps, progress, spin_rounds: 1, ..Worker::new(local, None) };
        let result = f(&mut worker);
        self.ps.replace(worker.ps);
        result
    }

    /// Returns a sysmon that makes a round at each call.
    pub fn sysmon(&self) -> impl FnMut() + use<> {
        let mut sysmon = Sysmon::new(self.local.sched.clone());
        move || {
            sysmon.round(clock::now());
        }
    }

    /// Counts the goroutines, as `num_goroutine` does.
    pub fn live(&self) -> u64 {
        self.local.sched.live()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        drop(self.local.release_p());
    }
}

impl Crowd {
    /// Creates a goroutine for each P.
    #[must_use]
    pub fn goroutines(&self) -> Vec<Waiting> {
        self.ps.iter().map(|_| Waiting(Some(unqueued()))).collect()
    }

    /// Sets and cancels a timer on every P.
    pub fn set_timers(&self) {
        let now = clock::now();
        for p in &self.ps {
            let timers = self.sched.ps.timers(p.number());
            let set = timers.insert(now, now + clock::nanos(HOUR), Waker::noop());
            if let Some((key, _)) = set {
                timers.remove(key);
            }
        }
    }

    /// Makes every P queue its goroutine, take it, and do what it does around a poll.
    pub fn work(&self, goroutines: &mut [Waiting]) {
        for (p, Waiting(slot)) in self.ps.iter().zip(goroutines) {
            let Some(gp) = slot.take() else { continue };
            let _ = p.runq().put_tail(gp).map_err(|full| full.0.into_raw());
            if let Some(Got::Next(gp) | Got::Ring(gp)) = p.runq().get() {
                p.begin_slice();
                p.counters.polls.add(1);
                p.set_goid(gp.goid());
                p.set_goid(0);
                *slot = Some(gp);
            }
        }
    }
}

/// A goroutine for [`Crowd::work`]. It never runs.
#[derive(Debug)]
pub struct Waiting(Option<GRef>);

impl Drop for Waiting {
    fn drop(&mut self) {
        // Leaked, because no thread will run it.
        let _ = self.0.take().map(GRef::into_raw);
    }
}
