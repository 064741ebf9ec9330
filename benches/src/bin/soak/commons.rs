//! Objects that all workers of a phase share, across runtimes.

use crate::ledger::{Ledger, Origin, Token};
use crate::violation::{fault, violation};
use gmp::chan::{Receiver, Sender};
use gmp::sync::{Mutex, Pool, RwLock, Semaphore, SingleFlight};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Permits of the shared semaphore.
pub(crate) const PERMITS: usize = 5;

/// Values that one shared channel can carry in a phase.
const VALUES: usize = 1 << 16;

/// A shared channel.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) tx: Sender<Token>,
    pub(crate) rx: Receiver<Token>,
    pub(crate) ledger: Arc<Ledger>,
    next: AtomicUsize,
}

/// The shared objects of a phase.
#[derive(Debug)]
pub(crate) struct Commons {
    pub(crate) lanes: Vec<Arc<Lane>>,
    pub(crate) mutex: Mutex<(u64, u64)>,
    pub(crate) rw: RwLock<(u64, u64)>,
    pub(crate) semaphore: Semaphore,
    /// Permits that are held, counted by their holders.
    pub(crate) held: AtomicUsize,
    pub(crate) flights: SingleFlight<u64, Arc<u64>>,
    pub(crate) pool: Pool<Vec<u8>>,
}

impl Lane {
    fn new(ends: (Sender<Token>, Receiver<Token>)) -> Arc<Self> {
        let ledger = Ledger::new(1, VALUES, fault);
        Arc::new(Self { tx: ends.0, rx: ends.1, ledger, next: AtomicUsize::new(0) })
    }

    /// Returns the place of the next value, unless the ledger is full.
    pub(crate) fn next_origin(&self) -> Option<Origin> {
        let number = self.next.fetch_add(1, Relaxed);
        (number < VALUES).then_some(Origin { sender: 0, number })
    }
}

impl Commons {
    /// Creates the objects of a phase.
    pub(crate) fn new() -> Self {
        Self {
            lanes: vec![
                Lane::new(gmp::chan(0)),
                Lane::new(gmp::chan(3)),
                Lane::new(gmp::chan::unbounded()),
            ],
            mutex: Mutex::new((0, 0)),
            rw: RwLock::new((0, 0)),
            semaphore: Semaphore::new(PERMITS),
            held: AtomicUsize::new(0),
            flights: SingleFlight::new(),
            pool: Pool::with_idle_timeout(Vec::new, std::time::Duration::from_millis(100)),
        }
    }

    /// Checks the objects after all workers have ended.
    pub(crate) fn judge(&self) {
        for lane in &self.lanes {
            lane.tx.close();
            crate::ops::chan::drain(&lane.rx, &lane.ledger);
            if let Err(faults) = lane.ledger.judge() {
                violation(format!("a shared channel: {faults}"));
            }
        }
        let (held, free) = (self.held.load(Relaxed), self.semaphore.available_permits());
        if held != 0 || free != PERMITS || self.semaphore.max_permits() != PERMITS {
            violation(format!("the shared semaphore has {free} free permits; {held} are held"));
        }
        if self.mutex.is_locked() || self.rw.is_locked() {
            violation("a shared lock is held, but all workers have ended");
        }
    }
}
