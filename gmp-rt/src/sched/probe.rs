//! The looks over all Ps, one at a time, for the micro-benchmarks of `benches/`: behind the feature
//! `dev-hooks`.
//!
//! A [`Probe`] is a scheduler without threads, whose Ps are made to look as if their Ms ran
//! goroutines ([`Crowd::work`]), so what a look costs with many Ps can be measured on a machine with
//! few CPUs: as many cache lines, written by another CPU.

use super::Config;
use super::Sched;
use super::current::Local;
use super::goid;
use super::ready::Gmp;
use super::run::Worker;
use super::still::Still;
use super::sysmon::Sysmon;
use crate::g::origin::Origin;
use crate::g::{Birth, GRef, Ids, cell};
use crate::m::M;
use crate::netpoll::Ready;
use crate::p::OwnedP;
use crate::p::runq::Got;
use crate::util::clock;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A number no runtime has.
const NO_RUNTIME: u16 = (Ids::MAX_RUNTIMES - 1) as u16;

/// Not while a benchmark runs.
const HOUR: Duration = Duration::from_secs(3600);

/// A goroutine that is on no queue, of no runtime.
pub(crate) fn unqueued() -> GRef {
    let ids = Ids::new(goid::single(), NO_RUNTIME);
    let origin = Origin::site_only(Location::caller());
    cell::spawn::<_, Gmp>(async {}, Birth { ids, parent: 0, origin }).gp
}

/// An M with a P that has nothing to do, beside Ps that run.
#[derive(Debug)]
pub struct Probe {
    local: Local,
}

/// The other Ps, all of them run by one thread.
#[derive(Debug)]
pub struct Crowd {
    ps: Vec<OwnedP>,
}

impl Probe {
    /// `procs` Ps: one for the calling thread, the others in the crowd.
    #[must_use]
    pub fn new(procs: usize) -> (Self, Crowd) {
        let sched = Sched::new(NO_RUNTIME, Config { procs, ..Config::default() });
        let mut ps: Vec<OwnedP> =
            sched.idle.with(|lists| std::iter::from_fn(|| sched.idle.take_p(lists)).collect());
        let local = Local::new(sched, Arc::new(M::for_this_thread(1)));
        local.acquire_p(ps.pop().expect("at least one P"));
        (Self { local }, Crowd { ps })
    }

    /// What every M does that takes a P, and twice before it sleeps.
    pub fn next_timer(&self) -> u64 {
        self.local.sched.next_timer()
    }

    /// What every M does before it sleeps.
    pub fn any_work(&self) -> bool {
        self.local.sched.any_work()
    }

    /// The whole look before a sleep.
    pub fn last_look(&self) -> bool {
        self.local.sched.idle.word.parked();
        self.next_timer() > clock::now() && !self.any_work()
    }

    /// One round of a thief; `true` if it found something.
    pub fn steal_pass(&self) -> bool {
        let (ready, polls_seen, patience) = (Ready::default(), Vec::new(), 1);
        let (still, stuck) = (Still::default(), Still::default());
        let mut worker =
            Worker { local: &self.local, unit: None, ready, polls_seen, still, stuck, patience };
        worker.steal_pass(false).map(GRef::into_raw).is_some()
    }

    /// A sysmon that makes a round each time it is called.
    pub fn sysmon(&self) -> impl FnMut() + use<> {
        let mut sysmon = Sysmon::new(self.local.sched.clone());
        move || {
            sysmon.round(clock::now());
        }
    }

    /// What `num_goroutine` counts.
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
    /// A goroutine for each P.
    #[must_use]
    pub fn goroutines(&self) -> Vec<Waiting> {
        self.ps.iter().map(|_| Waiting(Some(unqueued()))).collect()
    }

    /// Every P sets a timer and cancels it.
    pub fn set_timers(&self) {
        let now = clock::now();
        for p in &self.ps {
            let (key, _) = p.timers.insert(now, now + clock::nanos(HOUR), Waker::noop());
            p.timers.remove(key);
        }
    }

    /// Every P queues its goroutine, takes it, and does what it does around a poll.
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

/// A goroutine for [`Crowd::work`]; never run.
#[derive(Debug)]
pub struct Waiting(Option<GRef>);

impl Drop for Waiting {
    fn drop(&mut self) {
        // Leaked: nobody will run it.
        let _ = self.0.take().map(GRef::into_raw);
    }
}
