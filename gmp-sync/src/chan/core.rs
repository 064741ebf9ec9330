//! The state of a channel: a buffer and two queues of waiters, under one lock (Go: `hchan`).
//!
//! Every operation on a channel is a small function on [`Core`], called under the lock. None of
//! them waits, wakes or runs user code. Wakers are returned as [`Fired`], to be woken after the
//! lock is released. Values leave the lock before they are dropped.
//!
//! Values are handed over directly. A sender that finds a waiting receiver stores the value in the
//! receiver's node. A receiver that finds a waiting sender takes the value from the sender's node.
//! Waiters are served in arrival order.
//!
//! # Senders that keep their value
//!
//! A send case of a select waits without its value. [`permits`](super::permits) describes how it
//! meets a receiver.
//!
//! # Listeners (bells)
//!
//! A stream or sink may never be polled again, so nothing is handed to it: a value would be stuck
//! there. Instead it leaves a listener (`bell` in the code), which is woken when the operation may
//! be possible. Then the stream or sink tries like any other end. All listeners are woken, because
//! the first one may belong to an end that is never polled again.
//!
//! # Values that come back
//!
//! A receiver that is dropped with a value gives it back, before all other values. Several such
//! receivers may be dropped in any order. So each handover has a sequence number (`seq`). Returned
//! values are at the front of the buffer, ordered by their sequence numbers.
//!
//! # Invariants
//!
//! - I1: if a value is in the buffer, no receiver waits, not for a permit either. If there is room
//!   in the buffer, no sender waits. (Two kinds of waiters do not count: selects that poll other
//!   futures at the time, and senders whose summons was withdrawn. Both try again before they
//!   sleep.)
//! - I2: it is accessed only under the channel's lock (`shared`).
//! - I3: a closed channel has no waiters.

use super::node::{ChanWaiter, NodePlace, Payload};
use super::permits::Summonses;
use crate::wait::queue::{Fired, Queue, Verdict};
use crate::wait::wakers::Wakers;
use std::collections::VecDeque;

/// Open or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChanPhase {
    Open,
    Closed,
}

/// The data that the lock guards.
///
/// The order of the fields matters. The fields that every send and receive uses are in two cache
/// lines, which move between the CPUs of both sides. The other fields are usually only read.
#[repr(C)]
pub(crate) struct Core<T> {
    pub(super) buf: VecDeque<T>,
    /// `usize::MAX` means unbounded.
    pub(super) cap: usize,
    /// Slots of the buffer that are reserved for permits without a waiting receiver.
    pub(super) reserved: usize,
    /// Receivers that wait for any sender.
    pub(super) recvq: Queue<ChanWaiter<T>>,
    pub(super) sendq: Queue<ChanWaiter<T>>,
    /// Number of handovers: the last sequence number.
    pub(super) last_seq: u64,
    pub(super) phase: ChanPhase,
    /// Receivers that wait for a sender with a permit for them.
    pub(super) promised: Queue<ChanWaiter<T>>,
    pub(super) summonses: Summonses,
    /// Sequence numbers of the returned values at the front of the buffer.
    pub(super) returned: VecDeque<u64>,
    /// Listeners of streams.
    pub(super) streams: Queue<ChanWaiter<T>>,
    /// Listeners of sinks.
    pub(super) sinks: Queue<ChanWaiter<T>>,
    /// Wakers of notified listeners, to be woken after the lock is released.
    pub(super) rung: Wakers,
    pub(super) senders: usize,
    pub(super) receivers: usize,
    /// Futures that wait until the channel is closed.
    pub(super) closing: Queue<()>,
}

/// Result of an attempt to receive.
pub(crate) enum Take<T> {
    Value(T, Fired),
    /// A sender without its value was summoned.
    Summoned(Fired),
    Empty,
    Closed,
}

/// Result of an attempt to send.
pub(crate) enum Push<T> {
    Done(Fired),
    Full(T),
    Closed(T),
}

/// What a receiver does with a waiting sender that does not have its value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnLater {
    /// Summons the sender.
    Summon,
    /// Leaves the sender waiting, and takes nothing from the senders behind it.
    Stop,
    /// Leaves the sender waiting, and takes the value of a sender behind it.
    Skip,
}

/// Result of an attempt to receive that summons no sender.
pub(super) enum Present<T> {
    Value(T, Fired),
    /// A sender waits that does not have its value yet.
    Later,
    Empty,
    Closed,
}

/// Bytes of a buffer below which it does not shrink. Chosen: a channel of this size is no leak.
const KEPT_BYTES: usize = 64 * 1024;

impl<T> Core<T> {
    /// Slots of a buffer that does not shrink. A value without size needs no memory.
    const KEPT_CAPACITY: usize = match size_of::<T>() {
        0 => usize::MAX,
        bytes if bytes * 4 > KEPT_BYTES => 4,
        bytes => KEPT_BYTES / bytes,
    };

    pub(super) fn new(cap: usize) -> Self {
        Self {
            buf: VecDeque::new(),
            returned: VecDeque::new(),
            last_seq: 0,
            cap,
            reserved: 0,
            recvq: Queue::default(),
            promised: Queue::default(),
            summonses: Summonses::default(),
            sendq: Queue::default(),
            streams: Queue::default(),
            sinks: Queue::default(),
            rung: Wakers::None,
            phase: ChanPhase::Open,
            senders: 1,
            receivers: 1,
            closing: Queue::default(),
        }
    }

    /// Notifies the streams that there may be a value.
    #[inline]
    pub(crate) fn ring_streams(&mut self) {
        Self::ring(&mut self.streams, &mut self.rung);
    }

    /// Notifies the sinks that there may be room or a receiver.
    #[inline]
    pub(super) fn ring_sinks(&mut self) {
        Self::ring(&mut self.sinks, &mut self.rung);
    }

    #[inline]
    fn ring(bells: &mut Queue<ChanWaiter<T>>, rung: &mut Wakers) {
        while let Some(((), fired)) = bells.fire_front(|_| ()) {
            rung.push(fired);
        }
    }

    /// Takes the wakers of notified listeners. Reads before it writes, because the cache line is
    /// shared.
    #[inline(always)]
    pub(super) fn take_rung(&mut self) -> Wakers {
        match self.rung {
            Wakers::None => Wakers::None,
            _ => std::mem::take(&mut self.rung),
        }
    }

    /// Gives a value to a receiver that waits for a permit (I1), or appends it to the buffer.
    #[inline]
    fn store(&mut self, value: T, seq: u64) -> Fired {
        match self.give_by_permit(value, seq) {
            Ok(fired) => {
                self.leave_promise();
                fired
            }
            Err(value) => {
                self.buf.push_back(value);
                self.ring_streams();
                Fired::NONE
            }
        }
    }

    #[inline]
    pub(super) fn next_seq(&mut self) -> u64 {
        self.last_seq += 1;
        self.last_seq
    }

    pub(super) fn len(&self) -> usize {
        self.buf.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.cap
    }

    pub(super) fn phase(&self) -> ChanPhase {
        self.phase
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        // The buffer may exceed its capacity by values that came back from dropped receives.
        self.buf.len().saturating_add(self.reserved) < self.cap
    }

    /// Gives a value to the first receiver that waits for a permit.
    #[inline]
    pub(super) fn give_by_permit(&mut self, value: T, seq: u64) -> Result<Fired, T> {
        let mut value = Some(value);
        let hit = self.promised.fire_front(|wait| {
            wait.receive(value.take(), seq);
            wait.select_waker()
        });
        match (hit, value) {
            (None, Some(value)) => Err(value),
            (hit, _) => Ok(hit.map_or(Fired::NONE, |(waker, fired)| fired.or(waker))),
        }
    }

    /// Gives a value to the first receiver that waits for any sender.
    #[inline]
    fn give(&mut self, value: T, seq: u64) -> Result<Fired, T> {
        if self.recvq.is_empty() {
            return Err(value);
        }
        let mut value = Some(value);
        let hit = self.recvq.fire_first(|wait| {
            wait.win().map(|()| {
                wait.receive(value.take(), seq);
                wait.select_waker()
            })
        });
        match (hit, value) {
            (None, Some(value)) => Err(value),
            (hit, _) => Ok(hit.map_or(Fired::NONE, |(waker, fired)| fired.or(waker))),
        }
    }

    /// Takes the payload of the first waiting sender: a value, or `Later`. The caller counts a
    /// `Later` sender as summoned.
    // Inlined always: otherwise the copy of `recv` for foreign wakers makes it a call for all.
    #[inline(always)]
    fn take_from_sender(&mut self, later: OnLater) -> Option<(Payload<T>, Fired)> {
        let ((payload, waker), fired) = self.sendq.fire_first(|wait| {
            match later {
                OnLater::Stop if wait.is_later() => return Verdict::Stop,
                OnLater::Skip if wait.is_later() => return Verdict::Skip,
                _ => {}
            }
            wait.win().map(|()| {
                let payload = wait.take();
                if matches!(payload, Payload::Later) {
                    wait.payload = Payload::Summons;
                }
                (payload, wait.select_waker())
            })
        })?;
        Some((payload, fired.or(waker)))
    }

    /// Receives, if a value is there and no sender or sink waits for its slot.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self) -> Result<T, ()> {
        if self.sendq.is_empty() && self.sinks.is_empty() && self.returned.is_empty() {
            return self.pop_buffered().ok_or(());
        }
        Err(())
    }

    /// Removes the first value of the buffer. Returns memory that a burst of values has left.
    #[inline(always)]
    fn pop_buffered(&mut self) -> Option<T> {
        let value = self.buf.pop_front();
        if self.buf.capacity() > Self::KEPT_CAPACITY && self.buf.len() < self.buf.capacity() / 4 {
            self.shrink();
        }
        value
    }

    /// Halves the buffer's memory or more. Each value pays for a constant number of moves: a buffer
    /// that is shrunk to twice its length shrinks or grows again after as many changes.
    #[cold]
    fn shrink(&mut self) {
        self.buf.shrink_to((2 * self.buf.len()).max(Self::KEPT_CAPACITY));
    }

    /// Whether there is a value, or a sender that waits, or the channel is closed.
    #[inline(always)]
    pub(super) fn is_readable(&self) -> bool {
        !self.buf.is_empty() || !self.sendq.is_empty() || self.phase == ChanPhase::Closed
    }

    /// As `take_quickly`, but returns `Ok(None)` if the channel is not readable.
    #[inline(always)]
    pub(crate) fn look_quickly(&mut self) -> Result<Option<T>, ()> {
        if !self.is_readable() {
            return Ok(None);
        }
        self.take_quickly().map(Some)
    }

    /// Sends, if there is room and no receiver or stream waits.
    #[inline(always)]
    pub(super) fn push_quickly(&mut self, value: T) -> Result<(), T> {
        let nobody = self.recvq.is_empty() && self.promised.is_empty() && self.streams.is_empty();
        if nobody && self.phase == ChanPhase::Open && self.has_room() {
            // No sequence number: only a value that was handed to a receiver can come back.
            self.buf.push_back(value);
            return Ok(());
        }
        Err(value)
    }

    /// Takes the first value of the buffer.
    #[inline(always)]
    fn take_buffered(&mut self) -> Option<(T, Fired)> {
        let value = self.pop_buffered()?;
        self.returned.pop_front();
        self.ring_sinks();
        Some((value, self.refill()))
    }

    /// Tries to receive. After `Summoned` the caller waits in `promised`.
    #[inline]
    pub(crate) fn take(&mut self) -> Take<T> {
        if let Some((value, fired)) = self.take_buffered() {
            return Take::Value(value, fired);
        }
        match self.take_from_sender(OnLater::Summon) {
            Some((Payload::Value(value), fired)) => Take::Value(value, fired),
            Some((_, fired)) => {
                self.summon_for_receiver();
                Take::Summoned(fired)
            }
            None if self.phase == ChanPhase::Closed => Take::Closed,
            None => Take::Empty,
        }
    }

    /// Tries to receive, for a stream. A summoned sender gets a slot.
    pub(super) fn take_for_stream(&mut self) -> Take<T> {
        if let Some((value, fired)) = self.take_buffered() {
            return Take::Value(value, fired);
        }
        let later = if self.may_summon_for_stream() { OnLater::Summon } else { OnLater::Skip };
        match self.take_from_sender(later) {
            Some((Payload::Value(value), fired)) => Take::Value(value, fired),
            Some((_, fired)) => {
                self.summon_for_slot();
                Take::Summoned(fired)
            }
            None if self.phase == ChanPhase::Closed => Take::Closed,
            None => Take::Empty,
        }
    }

    /// Takes a value from the buffer or from a waiting sender that has its value.
    pub(super) fn take_present(&mut self, later: OnLater) -> Present<T> {
        debug_assert!(later != OnLater::Summon, "the caller does not wait for a sender");
        if let Some((value, fired)) = self.take_buffered() {
            return Present::Value(value, fired);
        }
        match self.take_from_sender(later) {
            Some((Payload::Value(value), fired)) => Present::Value(value, fired),
            Some(_) => unreachable!("a sender that was not summoned"),
            None if self.phase == ChanPhase::Closed => Present::Closed,
            None if self.sendq.is_empty() => Present::Empty,
            None => Present::Later,
        }
    }

    /// Gives a free slot of the buffer to the first waiting sender.
    #[inline]
    pub(super) fn refill(&mut self) -> Fired {
        if self.sendq.is_empty() || !self.has_room() {
            return Fired::NONE;
        }
        match self.take_from_sender(OnLater::Summon) {
            None => Fired::NONE,
            Some((Payload::Value(value), fired)) => {
                self.buf.push_back(value);
                fired
            }
            Some((_, fired)) => {
                self.summon_for_slot();
                fired
            }
        }
    }

    /// Tries to send.
    #[inline]
    pub(crate) fn push(&mut self, value: T) -> Push<T> {
        if self.phase == ChanPhase::Closed {
            return Push::Closed(value);
        }
        let seq = self.next_seq();
        match self.give(value, seq) {
            Ok(fired) => Push::Done(fired),
            Err(value) if self.has_room() => Push::Done(self.store(value, seq)),
            Err(value) => Push::Full(value),
        }
    }

    /// Tries to send, for a caller that does not wait. A parked stream has room for one value.
    pub(super) fn try_push(&mut self, value: T) -> Push<T> {
        match self.push(value) {
            Push::Full(value) if self.has_room_for_stream() => {
                let seq = self.next_seq();
                Push::Done(self.store(value, seq))
            }
            pushed => pushed,
        }
    }

    /// Whether a sink may send now. It may send to a parked stream: neither of them waits with a
    /// value, so without this both would wait forever on a channel without a buffer.
    pub(super) fn may_send(&mut self) -> bool {
        let wanted = !self.recvq.is_empty() || self.has_room_for_stream();
        self.phase == ChanPhase::Closed || self.has_room() || wanted
    }

    /// Sends even without room, for a sink whose `poll_ready` has succeeded. Returns the value if
    /// the channel is closed.
    pub(super) fn force(&mut self, value: T) -> Result<Fired, T> {
        if self.phase == ChanPhase::Closed {
            return Err(value);
        }
        let seq = self.next_seq();
        Ok(self.give(value, seq).unwrap_or_else(|value| self.store(value, seq)))
    }

    /// Passes on the value of a dropped receive: it goes to the next receiver, before all other
    /// values. Returns the value if no receiver is left, to be dropped after the lock is released.
    pub(super) fn put_back(&mut self, value: T, seq: u64) -> (Fired, Option<T>) {
        if self.receivers == 0 {
            return (Fired::NONE, Some(value));
        }
        let value = match self.give(value, seq) {
            Ok(fired) => return (fired, None),
            Err(value) => value,
        };
        match self.give_by_permit(value, seq) {
            Ok(fired) => {
                self.leave_promise();
                (fired, None)
            }
            Err(value) => {
                let place = self.returned.partition_point(|other| *other < seq);
                self.returned.insert(place, seq);
                self.buf.insert(place, value);
                self.ring_streams();
                (Fired::NONE, None)
            }
        }
    }

    /// Closes the channel and ends all waits. Returns `None` if it was closed already.
    pub(super) fn close(&mut self) -> Option<Wakers> {
        if self.phase == ChanPhase::Closed {
            return None;
        }
        self.phase = ChanPhase::Closed;
        self.drop_permits();
        self.ring_streams();
        self.ring_sinks();
        let mut wakers = Wakers::None;
        for queue in [&mut self.recvq, &mut self.promised, &mut self.sendq] {
            while let Some((waker, fired)) = queue.fire_first(|wait| {
                // A promised receiver is won already.
                let won = match wait.place {
                    NodePlace::Promised => Verdict::Fire(()),
                    NodePlace::Common => wait.win(),
                };
                won.map(|()| {
                    // A value stays in its node: the sender gets it back.
                    if !matches!(wait.payload, Payload::Value(_)) {
                        wait.payload = Payload::Closed;
                    }
                    wait.select_waker()
                })
            }) {
                wakers.push(fired.or(waker));
            }
        }
        wakers.append(Wakers::of_all(&mut self.closing));
        Some(wakers)
    }

    /// Returns the values that no receiver will take, to be dropped after the lock is released.
    pub(super) fn take_buffer(&mut self) -> VecDeque<T> {
        self.returned.clear();
        std::mem::take(&mut self.buf)
    }
}
