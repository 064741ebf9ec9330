//! `ReceiverSet`: receives from any of many channels, at a cost that does not depend on their
//! number.
//!
//! A member whose channel is empty has a listener in the channel, as a stream has. The listener
//! stays there when a receive ends. Its waker reports the member ([`Reports`]). So a receive looks
//! only at members that were reported, and a wait adds nothing to the queues of the channels.
//!
//! # Invariants
//!
//! - S1: each member is in `ready`, or reported, or its listener is in its channel. So a value or
//!   the end of a channel is never overlooked.
//! - S2: a member is in `ready` once if `is_ready` is set, otherwise never. So each member in
//!   `ready` is chosen with the same probability.

mod recv;

pub use self::recv::ReceiverSetRecv;

use super::{Receiver, RecvError};
use crate::wait::reports::Reports;
use futures::stream::{FusedStream, Stream};
use gmp_rt::task::park::{Random, StorableWaker, WaitReason, note_wait, poll_proceed};
use slab::Slab;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// A set of receivers of one type, to receive from any of them again and again.
///
/// [`recv`](Self::recv) returns a value together with the key of its receiver. If several channels
/// are ready, each is chosen with the same probability. When a channel is closed and empty, `recv`
/// returns that once, and the receiver leaves the set.
///
/// # When to use which
///
/// - [`select!`](macro@crate::select) for a number of operations that is known when the program is
///   written.
/// - `ReceiverSet` for a goroutine that serves many channels in a loop.
/// - [`recv_any`](super::recv_any) for one receive from receivers that are borrowed.
/// - [`select_cases`](super::select_cases) for any number of sends, receives of several types and
///   futures.
///
/// # Costs
///
/// A receive costs the same with two channels and with ten thousand, and so does a wait. Each
/// receiver costs two small allocations: one when it is added, and one when its channel is first
/// found empty. [`remove`](Self::remove) takes time in proportion to the number of ready channels.
///
/// # Channels without room
///
/// The set waits at its channels as a [`Stream`] does, also between two receives. A plain `send`
/// on a channel without a buffer is done when `recv` takes its value. But
/// [`try_send`](super::Sender::try_send), a send case of `select!` and a [`Sink`](futures::Sink)
/// find room for one value in such a channel, or beyond a full buffer, while the set waits for it.
/// That value stays in the channel until it is received.
///
/// # Examples
///
/// A goroutine collects the results of many others:
///
/// ```
/// # use gmp_sync as gmp;
/// use gmp::chan::{ReceiverSet, chan};
///
/// gmp_rt::block_on(async {
///     let mut results = ReceiverSet::new();
///     for n in 0..100 {
///         let (tx, rx) = chan::<u32>(1);
///         results.add(rx);
///         gmp_rt::spawn(async move { tx.send(n).await }).detach();
///     }
///     let mut sum = 0;
///     while let Some((_, result)) = results.recv().await {
///         // An error says that the sender has gone.
///         sum += result.unwrap_or(0);
///     }
///     assert_eq!(sum, 4950);
/// });
/// ```
#[doc(alias("StreamMap", "SelectAll"))]
pub struct ReceiverSet<T> {
    members: Slab<SetMember<T>>,
    /// Members to be looked at: S2.
    ready: Vec<usize>,
    reports: Arc<Reports>,
    random: Random,
    /// Number of receivers that were added.
    added: u64,
}

/// A receiver in the set.
struct SetMember<T> {
    receiver: Receiver<T>,
    /// Reports it.
    waker: Waker,
    serial: u64,
    is_ready: bool,
}

/// The name of a receiver in a [`ReceiverSet`].
///
/// Keys have the order in which their receivers were added. A set never uses a key twice. Keys of
/// different sets may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverKey {
    serial: u64,
    index: usize,
}

impl<T> UnwindSafe for ReceiverSet<T> {}
impl<T> RefUnwindSafe for ReceiverSet<T> {}

impl<T> ReceiverSet<T> {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self {
            members: Slab::new(),
            ready: Vec::new(),
            reports: Arc::default(),
            random: Random::new(),
            added: 0,
        }
    }

    /// Adds a receiver. Returns its key, which [`recv`](Self::recv) returns with each value.
    #[doc(alias = "push")]
    pub fn add(&mut self, receiver: Receiver<T>) -> ReceiverKey {
        let place = self.members.vacant_entry();
        let index = place.key();
        self.added += 1;
        let serial = self.added;
        let waker = Reports::waker(&self.reports, index);
        place.insert(SetMember { receiver, waker, serial, is_ready: false });
        // S1. It also wakes a task that has polled the set and waits.
        self.reports.report(index);
        ReceiverKey { serial, index }
    }

    /// Removes a receiver and returns it, with the values that are left in its channel. Returns
    /// `None` if it has left the set.
    pub fn remove(&mut self, key: ReceiverKey) -> Option<Receiver<T>> {
        self.get(key)?;
        let mut member = self.members.remove(key.index);
        if member.is_ready {
            self.ready.retain(|index| *index != key.index);
        }
        member.receiver.stop_listening();
        Some(member.receiver)
    }

    /// Returns a receiver. Returns `None` if it has left the set.
    #[must_use]
    pub fn get(&self, key: ReceiverKey) -> Option<&Receiver<T>> {
        let member = self.members.get(key.index).filter(|member| member.serial == key.serial);
        member.map(|member| &member.receiver)
    }

    /// Returns an iterator over the receivers, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (ReceiverKey, &Receiver<T>)> {
        self.members.iter().map(|(index, member)| (member.key(index), &member.receiver))
    }

    /// Returns the number of receivers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the set has no receivers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Receives from any channel that is ready, and waits while none is. Returns `None` if the set
    /// is empty.
    ///
    /// Values of one channel come in their order.
    ///
    /// # Errors
    ///
    /// The inner [`RecvError`] says that the channel is closed, and that all its values were
    /// received. Its receiver has left the set and is dropped.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped `recv` has taken nothing. The values stay in their channels.
    #[doc(alias = "next")]
    pub fn recv(&mut self) -> ReceiverSetRecv<'_, T> {
        ReceiverSetRecv::new(self)
    }

    /// As [`recv`](Self::recv), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call: other goroutines
    /// continue on other threads.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    #[doc(alias = "blocking_recv")]
    pub fn recv_blocking(&mut self) -> Option<(ReceiverKey, Result<T, RecvError>)> {
        gmp_rt::block_on(self.recv())
    }

    /// Receives from any channel that is ready. Returns `None` if none is, or if the set is empty.
    ///
    /// A sender that waits in [`select!`](macro@crate::select) has to run before its value is
    /// available. This call wakes it, and a later one returns the value.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Option<(ReceiverKey, Result<T, RecvError>)> {
        loop {
            self.collect_reports();
            let place = match self.ready.len() {
                0 => return None,
                1 => 0,
                // A list of more than 2^32 receivers does not fit into memory.
                len => self.random.below(len as u32) as usize,
            };
            let index = self.ready[place];
            let member = &mut self.members[index];
            let key = member.key(index);
            match member.receiver.poll_listening(&Context::from_waker(&member.waker)) {
                Poll::Ready(Some(value)) => return Some((key, Ok(value))),
                Poll::Ready(None) => {
                    self.ready.swap_remove(place);
                    let _closed = self.members.remove(index);
                    return Some((key, Err(RecvError)));
                }
                Poll::Pending => {
                    // S1: its listener is in its channel now.
                    self.ready.swap_remove(place);
                    member.is_ready = false;
                }
            }
        }
    }

    /// Polls for a value, for a future that is written by hand.
    ///
    /// The waker of the last poll is kept until a channel is ready or the set is dropped.
    pub fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(ReceiverKey, Result<T, RecvError>)>> {
        ready!(poll_proceed(cx));
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let mut waker = None;
        loop {
            if let Some(received) = self.try_recv() {
                return Poll::Ready(Some(received));
            }
            // Made only if it may be needed.
            let waker = waker.get_or_insert_with(|| StorableWaker::new(cx.waker()));
            if self.reports.wait(waker).is_pending() {
                note_wait(cx, WaitReason::Select, Arc::as_ptr(&self.reports).addr());
                return Poll::Pending;
            }
        }
    }

    /// Moves the reported members to `ready`. A report may be that of an earlier member with the
    /// same index, or the second one of a member.
    #[inline]
    fn collect_reports(&mut self) {
        while let Some(index) = self.reports.take() {
            if let Some(member) = self.members.get_mut(index).filter(|member| !member.is_ready) {
                member.is_ready = true;
                self.ready.push(index);
            }
        }
    }
}

impl<T> SetMember<T> {
    fn key(&self, index: usize) -> ReceiverKey {
        ReceiverKey { serial: self.serial, index }
    }
}

impl<T> Default for ReceiverSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Extend<Receiver<T>> for ReceiverSet<T> {
    fn extend<I: IntoIterator<Item = Receiver<T>>>(&mut self, receivers: I) {
        for receiver in receivers {
            self.add(receiver);
        }
    }
}

impl<T> FromIterator<Receiver<T>> for ReceiverSet<T> {
    fn from_iter<I: IntoIterator<Item = Receiver<T>>>(receivers: I) -> Self {
        let mut set = Self::new();
        set.extend(receivers);
        set
    }
}

impl<T> Stream for ReceiverSet<T> {
    type Item = (ReceiverKey, Result<T, RecvError>);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_recv(cx)
    }
}

impl<T> FusedStream for ReceiverSet<T> {
    fn is_terminated(&self) -> bool {
        self.is_empty()
    }
}

impl<T> fmt::Debug for ReceiverSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverSet").field("len", &self.len()).finish()
    }
}

#[cfg(all(test, gmp_loom))]
mod loom;
