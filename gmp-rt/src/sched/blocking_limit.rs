//! The limit of running `spawn_blocking` closures.
//!
//! A closure needs a [`Permit`]. If all are taken, its goroutine waits, without a thread. Permits
//! are passed on in arrival order: the end of a closure gives its permit to the first goroutine
//! that waits.
//!
//! The limit does not concern other blocking calls. A goroutine that is in its poll already has a
//! thread, and the goroutines behind it need another one.

use super::{Sched, local};
use crate::g::stored::{StorableWaker, StoredWaker};
use crate::g::waker::note_wait;
use crate::prim::fixed::Mutex;
use crate::wait_reason::WaitReason;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The number of a goroutine that waits. Numbers grow in arrival order.
type Ticket = u64;

/// The permits of a runtime.
#[derive(Debug)]
pub(crate) struct BlockingLimit {
    limit: usize,
    state: Mutex<LimitState>,
}

#[derive(Debug, Default)]
struct LimitState {
    /// Permits that were given out, also those that their goroutines have not taken yet.
    given: usize,
    next: Ticket,
    waiting: BTreeMap<Ticket, StoredWaker>,
    /// Goroutines that were given a permit and have not run since.
    granted: BTreeSet<Ticket>,
}

impl LimitState {
    /// Passes a permit on to the first goroutine that waits. Returns its waker.
    fn pass_on(&mut self) -> Option<StoredWaker> {
        let Some((ticket, waker)) = self.waiting.pop_first() else {
            self.given -= 1;
            return None;
        };
        self.granted.insert(ticket);
        Some(waker)
    }
}

impl BlockingLimit {
    /// Creates `limit` permits.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Returns how many closures run, and how many wait for a permit.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.given, state.waiting.len())
    }

    /// Takes a permit without waiting.
    fn try_acquire(&self) -> bool {
        let mut state = self.state.lock();
        let is_free = state.given < self.limit;
        state.given += usize::from(is_free);
        is_free
    }

    /// Queues a goroutine unless a permit is free. Returns its ticket if it waits.
    fn enqueue(&self, cx: &Context<'_>) -> Option<Ticket> {
        let mut waker = StorableWaker::new(cx.waker());
        let mut state = self.state.lock();
        if state.given < self.limit {
            state.given += 1;
            return None;
        }
        let ticket = state.next;
        state.next += 1;
        state.waiting.insert(ticket, waker.store());
        Some(ticket)
    }

    /// Takes the permit that was given to `ticket`. Otherwise remembers the waker of `cx`. Returns
    /// whether there was a permit.
    fn take_granted(&self, ticket: Ticket, cx: &Context<'_>) -> bool {
        let mut waker = StorableWaker::new(cx.waker());
        let mut state = self.state.lock();
        if state.granted.remove(&ticket) {
            return true;
        }
        let replaced = state.waiting.insert(ticket, waker.store());
        drop(state);
        // Without the lock: a foreign waker's drop is user code.
        drop(replaced);
        false
    }

    /// Gives a permit back.
    fn release(&self) {
        let waker = self.state.lock().pass_on();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Gives up a place in the queue, or the permit that came meanwhile.
    fn give_up(&self, ticket: Ticket) {
        let mut state = self.state.lock();
        let left = state.waiting.remove(&ticket);
        let next = if state.granted.remove(&ticket) { state.pass_on() } else { None };
        drop(state);
        // Without the lock: a foreign waker's drop is user code.
        drop(left);
        if let Some(next) = next {
            next.wake();
        }
    }
}

/// The right to run a closure. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Sched>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.blocking_calls.release();
    }
}

/// Waits for a permit of the calling goroutine's runtime. Ready with `None` on a thread that is not
/// one of a runtime.
///
/// Cancel-safe: dropping it gives up the place in the queue.
pub(crate) fn acquire() -> Acquire {
    Acquire { sched: None, ticket: None }
}

/// The future of [`acquire`].
#[derive(Debug)]
pub(crate) struct Acquire {
    /// The runtime in whose queue it waits.
    sched: Option<Arc<Sched>>,
    ticket: Option<Ticket>,
}

impl Future for Acquire {
    type Output = Option<Permit>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(ticket) = self.ticket else {
            let Some(sched) = local::with(|local| local.map(|local| local.sched.clone())) else {
                return Poll::Ready(None);
            };
            if sched.blocking_calls.try_acquire() {
                return Poll::Ready(Some(Permit(sched)));
            }
            return match sched.blocking_calls.enqueue(cx) {
                None => Poll::Ready(Some(Permit(sched))),
                Some(ticket) => {
                    (self.sched, self.ticket) = (Some(sched), Some(ticket));
                    note_wait(cx, WaitReason::BlockingLimit, 0);
                    Poll::Pending
                }
            };
        };
        let sched = self.sched.clone().expect("a ticket has a runtime");
        if sched.blocking_calls.take_granted(ticket, cx) {
            self.ticket = None;
            return Poll::Ready(Some(Permit(sched)));
        }
        note_wait(cx, WaitReason::BlockingLimit, 0);
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let (Some(sched), Some(ticket)) = (&self.sched, self.ticket) {
            sched.blocking_calls.give_up(ticket);
        }
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use crate::util::rand::Rand;
    use std::task::Waker;

    /// Random arrivals, ends and drops: the limit holds, permits go in arrival order, and none is
    /// lost.
    #[test]
    fn permits_go_in_arrival_order_and_none_is_lost() {
        const LIMIT: usize = 3;
        let (calls, rand) = (BlockingLimit::new(LIMIT), Rand::new(3));
        let cx = Context::from_waker(Waker::noop());
        let mut waiting: Vec<Ticket> = Vec::new();
        let mut running = 0;
        for _ in 0..20_000 {
            let random = rand.next_u32() as usize;
            match random % 4 {
                0 | 1 => match calls.enqueue(&cx) {
                    None => running += 1,
                    Some(ticket) => waiting.push(ticket),
                },
                2 if running > 0 => {
                    calls.release();
                    running -= 1;
                }
                3 if !waiting.is_empty() => {
                    calls.give_up(waiting.remove(random / 4 % waiting.len()));
                }
                _ => {}
            }
            // Only the first ones may have a permit.
            let granted = waiting.iter().take_while(|ticket| calls.take_granted(**ticket, &cx));
            let granted = granted.count();
            waiting.drain(..granted);
            running += granted;
            assert!(running <= LIMIT);
            assert!(running == LIMIT || waiting.is_empty(), "a permit is lost");
            assert_eq!(calls.counts(), (running, waiting.len()));
            if waiting.len() > 20 {
                waiting.drain(..).for_each(|ticket| calls.give_up(ticket));
            }
        }
    }
}
