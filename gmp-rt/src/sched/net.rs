//! Who waits for the network, and when (Go: `netpoll` in `findRunnable`).
//!
//! No thread is set aside for it. An M that has nothing to do sleeps in the netpoller instead of on its
//! note, one at a time, and wakes for the next timer too. A P that runs out of goroutines asks without
//! waiting, before it steals; one that never does asks in its [services](crate::p::service). If all
//! are busy with one goroutine each, sysmon sends somebody who has a P to spare, or asks itself.
//!
//! What is told is kept as wakers until the M has a P. Then all are woken as one batch onto its ring,
//! and one more thread is woken if that makes work for two. If there is no P to be had, they go to the
//! inbox for those who run.
//!
//! # The bell
//!
//! An M in the netpoller is woken by an event of its own, which another M that just asks may take from
//! it. So an M says that it waits, in `waits`, before anybody may ring for it
//! ([`Note::sleep_in`]), and who took a ring looks there and rings again.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst store of `waits` in [`Net::sleep`], then the exchange on the note | the swap in `Note::wake`, the ring, the poll that takes it, then the SeqCst load in [`Net::is_awaited`] | that the ring was meant for somebody else |

use super::Sched;
use super::current::Local;
use super::ready::Place;
use super::run::Worker;
use crate::g::stored::StoredWaker;
use crate::m::note::Note;
use crate::netpoll::{Bell, Delay, Netpoll, Ready};
use crate::p::{Counter, OwnedP};
use crate::prim::Ordering::{Relaxed, SeqCst};
use crate::prim::fixed::OnceLock;
use crate::prim::{AtomicBool, fixed};
use crate::tuning::{NET_BATCH, ROUND_NAP, ROUND_TRIES, RUNQ_CAP, SERVICE_PERIOD};
use crate::util::clock;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Whether a runtime has a netpoller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// It has.
    There,
    /// There was no socket yet.
    None,
}

/// The network of a runtime. See the [module](self).
#[derive(Debug)]
pub(crate) struct Net {
    netpoll: OnceLock<Arc<dyn Netpoll>>,
    /// When a service last asked. A hint.
    asked: fixed::AtomicU64,
    /// An M sleeps in the netpoller, or is about to. O1.
    waits: AtomicBool,
    /// How often one did. Written by the one that has the role.
    slept: Counter,
    /// How often sysmon has asked. Written by sysmon.
    rescued: Counter,
}

impl Default for Net {
    fn default() -> Self {
        Self {
            netpoll: OnceLock::new(),
            asked: fixed::AtomicU64::new(0),
            waits: AtomicBool::new(false),
            slept: Counter::default(),
            rescued: Counter::default(),
        }
    }
}

impl Net {
    pub(super) fn network(&self) -> Network {
        if self.netpoll.get().is_some() { Network::There } else { Network::None }
    }

    /// Whether an M sleeps in the netpoller, or is about to.
    pub(super) fn is_awaited(&self) -> bool {
        self.waits.load(SeqCst) // O1
    }

    /// The netpoller, if something is registered with it.
    #[inline]
    pub(super) fn in_use(&self) -> Option<&Arc<dyn Netpoll>> {
        self.netpoll.get().filter(|netpoll| netpoll.is_used())
    }

    /// Whether anybody waits for an event.
    pub(super) fn has_waiters(&self) -> bool {
        self.netpoll.get().is_some_and(|netpoll| netpoll.has_waiters())
    }

    /// Whether no service of any P has asked for half a [`SERVICE_PERIOD`]. Then the caller does.
    /// So many Ps do not ask more often than two.
    pub(super) fn is_ask_due(&self, now: u64) -> bool {
        // Relaxed: a hint. Two that ask at once do no harm.
        if now < self.asked.load(Relaxed) + clock::nanos(SERVICE_PERIOD) / 2 {
            return false;
        }
        self.asked.store(now, Relaxed);
        true
    }

    /// Asks without waiting, on any thread.
    pub(super) fn ask(&self, netpoll: &dyn Netpoll, limit: usize, ready: &mut Ready) {
        if netpoll.poll(Delay::Now, limit, ready) == Bell::Rang && self.is_awaited() {
            netpoll.wake();
        }
    }

    /// Waits for events, at most until the moment `until`, or until somebody wakes `note`. One thread
    /// at a time.
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
            let _ = netpoll.poll(delay, NET_BATCH, ready);
        });
        self.waits.store(false, SeqCst); // O1
    }

    /// Asks without waiting, from sysmon, and wakes those whose event has come.
    pub(super) fn rescue(&self, netpoll: &dyn Netpoll) {
        self.rescued.add(1);
        let mut ready = Ready::default();
        self.ask(netpoll, NET_BATCH, &mut ready);
        ready.drain().for_each(StoredWaker::wake);
    }

    /// Has the M that sleeps in the netpoller come out and go in again, and waits for that while `wanted`: what
    /// it was told before is then with those who waited for it. `true` if there is no netpoller too; `false`
    /// if it takes too long, or is not wanted any more.
    pub(super) fn has_come_round(&self, wanted: impl Fn() -> bool) -> bool {
        let Some(netpoll) = self.netpoll.get() else { return true };
        let before = self.slept.get();
        for _ in 0..ROUND_TRIES {
            netpoll.wake();
            std::thread::sleep(ROUND_NAP);
            if self.slept.get() != before && self.is_awaited() {
                return true;
            }
            if !wanted() {
                return false;
            }
        }
        false
    }

    /// How often the network was asked or waited for by others than Ps.
    pub(super) fn polls(&self) -> u64 {
        self.slept.get() + self.rescued.get()
    }

    /// The runtime has ended: those who still wait get an error.
    pub(super) fn shut(&self) {
        if let Some(netpoll) = self.netpoll.get() {
            let mut ready = Ready::default();
            netpoll.shut(&mut ready);
            ready.drain().for_each(StoredWaker::wake);
        }
    }
}

impl Sched {
    /// The runtime's netpoller; the one that `make` builds if there is none yet.
    pub(crate) fn netpoll(
        &self,
        make: impl FnOnce() -> io::Result<Arc<dyn Netpoll>>,
    ) -> io::Result<Arc<dyn Netpoll>> {
        if self.is_closing() {
            return Err(io::Error::other(
                "the gmp runtime is shutting down: it takes no new sockets",
            ));
        }
        if let Some(netpoll) = self.net.netpoll.get() {
            return Ok(netpoll.clone());
        }
        let made = make()?;
        // Another thread may have been faster.
        let netpoll = self.net.netpoll.get_or_init(|| made).clone();
        self.send_to_netpoll();
        Ok(netpoll)
    }

    /// Has a sleeping M, if there is one and none is there yet, sleep in the netpoller. Those that
    /// run come to it when they are out of work.
    fn send_to_netpoll(&self) {
        // The netpoller is set: an M that enters the pool from now on sees it.
        let m = self.idle.with(|lists| match lists.poller {
            Some(_) => None,
            None => lists.pool.last().cloned(),
        });
        if let Some(m) = m {
            m.note.wake();
        }
    }
}

impl Local {
    /// Asks the network without waiting. Those whose event has come are queued at `place`; `ready`
    /// is room for their wakers.
    pub(super) fn ask_network(&self, now: u64, place: Place, ready: &mut Ready) {
        let net = &self.sched.net;
        let Some(netpoll) = net.in_use() else { return };
        if net.is_awaited() {
            return; // the thread that waits there gets the events
        }
        let p = self.p();
        p.own().pace.end(now, p.counters.polls.get());
        p.counters.netpolls.add(1);
        net.ask(&**netpoll, free_slots(&p), ready);
        drop(p);
        self.wake_ready(place, ready);
    }

    /// Wakes those whose event has come, with a P: as one batch, queued at `place`.
    pub(super) fn wake_ready(&self, place: Place, ready: &mut Ready) {
        if ready.is_empty() {
            return;
        }
        self.in_batch(place, || ready.drain().for_each(StoredWaker::wake));
        self.begin_pace();
    }

    /// There is something to run: from now on it is measured how long that takes, if the network
    /// will be asked after that.
    pub(super) fn begin_pace(&self) {
        if self.sched.net.in_use().is_some() {
            let p = self.p();
            p.own().pace.begin(clock::now(), p.counters.polls.get());
        }
    }
}

impl Worker<'_> {
    /// Sleeps in the netpoller until an event, a wake-up or the moment `until`, and gives the role
    /// up.
    pub(super) fn sleep_in_netpoll(&mut self, until: u64) {
        let sched = &self.local.sched;
        sched.net.sleep(&self.local.m.note, until, &mut self.ready);
        sched.idle.with(|lists| lists.poller = None);
    }

    /// Wakes them without a P: for those who run.
    pub(super) fn wake_ready_outside(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let ready = &mut self.ready;
        self.local.outside(|| ready.drain().for_each(StoredWaker::wake));
    }
}

/// How many goroutines the ring has room for; at least one.
fn free_slots(p: &OwnedP) -> usize {
    RUNQ_CAP.saturating_sub(p.runq.len()).clamp(1, NET_BATCH)
}

#[cfg(all(test, gmp_loom))]
#[path = "net_loom.rs"]
mod loom;
