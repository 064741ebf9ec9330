//! The netpoller's place in the scheduler (Go: `netpoll` in `findRunnable`).
//!
//! There is no thread only for the network. One idle M at a time sleeps in the netpoller instead of
//! on its note, and also wakes for the next timer. A P that runs out of goroutines polls the
//! network without blocking, before it steals. A P that always has goroutines polls in its
//! [services](crate::p::service). If no P has polled for long, sysmon sends an M with an idle P, or
//! polls itself.
//!
//! The M that leaves the netpoller has no P, so it keeps the wakers. Once it has a P, it wakes them
//! as one batch of newcomers, and wakes another M if that makes work for two. If no P is idle, the
//! goroutines go to the inbox.
//!
//! # The wake-up of the poller
//!
//! An M in the netpoller is woken by an event of the netpoller (Go: `netpollBreak`). Another M that
//! polls without blocking may consume that event. So an M sets `waits` before another thread can
//! wake it ([`Note::sleep_in`]). A thread that consumed a wake-up reads `waits` and sends the
//! wake-up again.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst store of `waits` in [`Net::sleep`], then the exchange on the note | the swap in `Note::wake`, the wake-up, the poll that consumes it, then the SeqCst load in [`Net::is_awaited`] | that the wake-up was meant for another thread |

use super::Sched;
use super::forked::FORKED;
use super::local::Local;
use super::local::Place;
use super::worker::Worker;
use crate::g::stored::StoredWaker;
use crate::m::note::Note;
use crate::netpoll::{Delay, Netpoll, PollerWake, Ready};
use crate::p::OwnedP;
use crate::p::service::SERVICE_PERIOD;
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::fixed::OnceLock;
use crate::prim::{AtomicBool, fixed};
use crate::tuning::{RUNQ_CAP, SLOW_CHECK, SYSMON_MAX_NAP};
use crate::util::clock;
use crate::util::tally::{Counter, Tally};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Whether a runtime has a netpoller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// It has one.
    There,
    /// It has had no socket yet.
    None,
}

/// The network of a runtime. See the [module](self).
#[derive(Debug)]
pub(crate) struct Net {
    netpoll: OnceLock<Arc<dyn Netpoll>>,
    /// The time at which a service last polled. A hint.
    asked: fixed::AtomicU64,
    /// Whether an M sleeps in the netpoller, or is about to. O1.
    waits: AtomicBool,
    /// How often an M did. Written by the M that has the role.
    slept: Counter,
    /// The events that an M received there. Written by the M that has the role.
    slept_events: Tally,
    /// How often sysmon has polled. Written by sysmon.
    rescued: Counter,
    /// The events that sysmon received. Written by sysmon.
    rescued_events: Tally,
}

impl Default for Net {
    fn default() -> Self {
        Self {
            netpoll: OnceLock::new(),
            asked: fixed::AtomicU64::new(0),
            waits: AtomicBool::new(false),
            slept: Counter::default(),
            slept_events: Tally::default(),
            rescued: Counter::default(),
            rescued_events: Tally::default(),
        }
    }
}

impl Net {
    pub(super) fn network(&self) -> Network {
        if self.netpoll.get().is_some() { Network::There } else { Network::None }
    }

    /// Whether an M sleeps in the netpoller, or is about to.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waits.load(SeqCst) // O1
    }

    /// Returns the netpoller, if something is registered with it.
    #[inline]
    pub(crate) fn in_use(&self) -> Option<&Arc<dyn Netpoll>> {
        self.netpoll.get().filter(|netpoll| netpoll.is_used())
    }

    /// Whether a goroutine waits for an event.
    pub(crate) fn has_waiters(&self) -> bool {
        self.netpoll.get().is_some_and(|netpoll| netpoll.has_waiters())
    }

    /// Whether no service of any P has polled for half a [`SERVICE_PERIOD`]. If so, the caller must
    /// poll. So the rate of polls does not grow with the number of Ps.
    pub(super) fn is_ask_due(&self, now: u64) -> bool {
        // Relaxed: a hint. Two polls at once do no harm.
        if now < self.asked.load(Relaxed) + clock::nanos(SERVICE_PERIOD) / 2 {
            return false;
        }
        self.asked.store(now, Relaxed);
        true
    }

    /// Polls without blocking, on any thread.
    pub(super) fn ask(&self, netpoll: &dyn Netpoll, limit: usize, ready: &mut Ready) {
        if netpoll.poll(Delay::Now, limit, ready) == PollerWake::Taken && self.is_awaited() {
            netpoll.wake();
        }
    }

    /// Waits for events until the time `until`, or until `note` is woken. One thread at a time.
    pub(super) fn sleep(&self, note: &Note, until: u64, ready: &mut Ready) {
        let netpoll = self.netpoll.get().expect("the role is given only if it is there");
        self.slept.add(1);
        self.waits.store(true, SeqCst); // O1
        let _ = note.sleep_in(netpoll, || {
            let delay = match until {
                clock::FOREVER => Delay::Forever,
                until => match until.saturating_sub(clock::now()) {
                    0 => Delay::Now,
                    left => Delay::For(Duration::from_nanos(left)),
                },
            };
            let _ = netpoll.poll(delay, RUNQ_CAP, ready);
        });
        self.slept_events.add(ready.len() as u64);
        self.waits.store(false, SeqCst); // O1
    }

    /// Polls without blocking, from sysmon, and wakes the goroutines whose events have come.
    pub(crate) fn rescue(&self, netpoll: &dyn Netpoll) {
        self.rescued.add(1);
        let mut ready = Ready::default();
        self.ask(netpoll, RUNQ_CAP, &mut ready);
        self.rescued_events.add(ready.len() as u64);
        ready.drain().for_each(StoredWaker::wake);
    }

    /// Makes the M in the netpoller leave it and enter it again, and waits for that while `wanted`
    /// returns `true`. The goroutines whose events it had received before are then woken. Returns
    /// `true` also if there is no netpoller. Returns `false` after [`SLOW_CHECK`], or if `wanted`
    /// returns `false`.
    pub(crate) fn has_gone_round(&self, wanted: impl Fn() -> bool) -> bool {
        let Some(netpoll) = self.netpoll.get() else { return true };
        let before = self.slept.get();
        let end = clock::after(SLOW_CHECK);
        while clock::now() < end {
            netpoll.wake();
            std::thread::sleep(SYSMON_MAX_NAP);
            if self.slept.get() != before && self.is_awaited() {
                return true;
            }
            if !wanted() {
                return false;
            }
        }
        false
    }

    /// Returns how often Ms slept in the netpoller, and the events that they received.
    pub(crate) fn slept(&self) -> (u64, u64) {
        (self.slept.get(), self.slept_events.get())
    }

    /// Returns how often sysmon polled, and the events that it received.
    pub(crate) fn rescued(&self) -> (u64, u64) {
        (self.rescued.get(), self.rescued_events.get())
    }

    /// Ends the network of a runtime that has ended: goroutines that still wait get an error.
    pub(super) fn shut(&self) {
        if let Some(netpoll) = self.netpoll.get() {
            let mut ready = Ready::default();
            netpoll.shut(&mut ready);
            ready.drain().for_each(StoredWaker::wake);
        }
    }
}

impl Sched {
    /// Returns the runtime's netpoller. Builds it by `make` if there is none yet.
    pub(crate) fn netpoll(
        &self,
        make: impl FnOnce() -> io::Result<Arc<dyn Netpoll>>,
    ) -> io::Result<Arc<dyn Netpoll>> {
        if self.is_forked() {
            return Err(io::Error::other(FORKED));
        }
        if self.is_closing() {
            return Err(io::Error::other(
                "the gmp runtime is shutting down: it takes no new sockets",
            ));
        }
        if let Some(netpoll) = self.net.netpoll.get() {
            return Ok(netpoll.clone());
        }
        let made = make()?;
        // Another thread may have set one before.
        let netpoll = self.net.netpoll.get_or_init(|| made).clone();
        self.send_to_netpoll();
        Ok(netpoll)
    }

    /// Makes a sleeping M sleep in the netpoller, if no M is there. Running Ms enter it when they
    /// run out of work.
    fn send_to_netpoll(&self) {
        // The netpoller is set: an M that enters the pool from now on sees it.
        let m = self.idle.with(|lists| match lists.pool.roles.poller {
            Some(_) => None,
            None => lists.pool.iter().next().cloned(),
        });
        if let Some(m) = m {
            m.note.wake();
        }
    }
}

impl Local {
    /// Polls the network without blocking, unless an M waits there. Goroutines whose events have
    /// come are queued at `place`. `ready` is room for their wakers.
    pub(super) fn ask_network(&self, place: Place, ready: &mut Ready) {
        let net = &self.sched.net;
        let Some(netpoll) = net.in_use() else { return };
        if net.is_awaited() {
            return; // the thread that waits there gets the events
        }
        let p = self.p();
        p.counters.netpolls.add(1);
        net.ask(&**netpoll, free_slots(&p), ready);
        p.counters.net_events.add(ready.len() as u64);
        drop(p);
        self.wake_ready(place, ready);
    }

    /// Wakes goroutines whose events have come, on a thread with a P: as one batch, queued at
    /// `place`.
    pub(super) fn wake_ready(&self, place: Place, ready: &mut Ready) {
        if ready.is_empty() {
            return;
        }
        self.in_batch(place, || ready.drain().for_each(StoredWaker::wake));
    }
}

impl Worker<'_> {
    /// Sleeps in the netpoller until an event, a wake-up or the time `until`, then gives up the
    /// role.
    pub(super) fn sleep_in_netpoll(&mut self, until: u64) {
        let sched = &self.local.sched;
        sched.net.sleep(&self.local.m.note, until, &mut self.ready);
        sched.idle.with(|lists| lists.pool.roles.poller = None);
    }

    /// Wakes goroutines whose events have come, on a thread without a P: they go to the inbox.
    pub(super) fn wake_ready_external(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let ready = &mut self.ready;
        self.local.outside(|| ready.drain().for_each(StoredWaker::wake));
    }
}

/// Returns how many goroutines the ring has room for, at least one.
fn free_slots(p: &OwnedP) -> usize {
    RUNQ_CAP.saturating_sub(p.runq.len()).clamp(1, RUNQ_CAP)
}

#[cfg(all(test, gmp_loom))]
#[path = "poller_loom.rs"]
mod loom;
