//! Internals for the micro-benchmarks of `benches/`, behind the feature `dev-hooks`. Not for
//! programs.
//!
//! Most goroutines are plain numbers here: the ring and the inbox do not dereference their
//! pointers.

pub use crate::testing::probe::{Crowd, Probe, Waiting};

use super::fake::{fake, number};
use super::goroutine::unqueued;
use crate::api::runtime::Handle;
use crate::g::GRef;
use crate::g::list::GList;
use crate::p::runq::{Full, Got, RunQ, StealNext};
use crate::prim::BatchQueue;
use crate::sched::globq::{GlobQ, Taken};
use crate::sched::inbox::Inbox;
use crate::sys::thread_state;

/// Returns the number that the OS has given the calling thread.
#[must_use]
pub fn this_thread() -> u32 {
    thread_state::this_thread()
}

/// Returns the CPU time of a thread in nanoseconds. `None` if it has exited, or if the OS does not
/// say.
#[must_use]
pub fn thread_cpu(thread: u32) -> Option<u64> {
    thread_state::cpu(thread)
}

/// Returns how many P objects a runtime has: active, handed-off and spare ones.
#[must_use]
pub fn p_objects(handle: &Handle) -> usize {
    handle.sched().idle.with(|lists| lists.ps.all().count())
}

/// The local run queue.
#[derive(Debug)]
pub struct Ring(RunQ);

impl Default for Ring {
    fn default() -> Self {
        Self(RunQ::new())
    }
}

impl Ring {
    /// Appends `n`. Returns `false` if the ring is full.
    ///
    /// # Safety
    ///
    /// One thread is the owner. Only that thread calls this and [`pop`](Self::pop).
    pub unsafe fn push(&self, n: usize) -> bool {
        // SAFETY: the caller is the owner.
        match unsafe { self.0.owner() }.put_tail(fake(n + 1)) {
            Ok(()) => true,
            Err(Full(gp)) => {
                number(gp);
                false
            }
        }
    }

    /// Removes and returns the first number.
    ///
    /// # Safety
    ///
    /// As for [`push`](Self::push).
    pub unsafe fn pop(&self) -> Option<usize> {
        // SAFETY: the caller is the owner.
        match unsafe { self.0.owner() }.get()? {
            Got::Next(gp) | Got::Ring(gp) => Some(number(gp) - 1),
        }
    }

    /// Moves half of the numbers to `thief`. Returns one of them.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `thief`, which is empty.
    pub unsafe fn steal_into(&self, thief: &Self) -> Option<usize> {
        // SAFETY: the caller is the owner of the thief.
        self.0
            .steal_into(&unsafe { thief.0.owner() }, StealNext::No)
            .map(|stolen| number(stolen.first) - 1)
    }
}

/// The inbox.
#[derive(Debug)]
pub struct In(Inbox);

impl Default for In {
    fn default() -> Self {
        Self(Inbox::new())
    }
}

impl In {
    /// Appends `n`.
    pub fn push(&self, n: usize) {
        self.0.put(fake(n + 1));
    }

    /// Removes up to `limit` numbers and passes them to `each`.
    pub fn take(&self, limit: usize, batch: &Batch, mut each: impl FnMut(usize)) {
        self.0.take(limit, &batch.0, |gp| each(number(gp) - 1));
    }
}

/// A P's room for what it takes from the inbox.
#[derive(Debug)]
pub struct Batch(BatchQueue<GRef>);

impl Default for Batch {
    fn default() -> Self {
        Self(BatchQueue::new_fifo())
    }
}

/// The global queue. Its list links the cells of goroutines, so it needs real ones, which never
/// run.
#[derive(Debug)]
pub struct Global(GlobQ);

/// A goroutine for [`Global`].
#[derive(Debug)]
pub struct Parked(GRef);

impl Default for Global {
    fn default() -> Self {
        Self(GlobQ::new())
    }
}

impl Global {
    /// Makes `n` goroutines for the queue. They never run, and are leaked.
    #[must_use]
    pub fn goroutines(n: usize) -> Vec<Parked> {
        (0..n).map(|_| Parked(unqueued())).collect()
    }

    /// Appends all goroutines as one batch.
    pub fn push_batch(&self, batch: &mut Vec<Parked>) {
        self.0.put_batch(batch.drain(..).map(|parked| parked.0).collect::<GList>());
    }

    /// Moves up to `n` goroutines to `into`.
    pub fn pop_batch(&self, n: usize, into: &mut Vec<Parked>) {
        if let Some(Taken::Goroutines(mut batch)) = self.0.take(|_| n) {
            into.extend(std::iter::from_fn(|| batch.pop_front().map(Parked)));
        }
    }

    /// Appends one goroutine.
    pub fn push(&self, parked: Parked) {
        self.0.put(parked.0);
    }
}
