//! The channel itself: a buffer and two queues of waits, under one lock (Go: `hchan`).
//!
//! All that happens to a channel is a small function on [`Core`], called under the lock. None of
//! them waits, wakes or runs code of the user: wakers come back as [`Fired`], to be woken after the
//! lock is released, and values leave the lock before they are dropped.
//!
//! A value never waits for a third party: a sender that finds a waiting receiver gives it the
//! value directly, into the node of its wait; a receiver that finds a waiting sender takes
//! the value from its node. Waits are served first come, first served.
//!
//! # Senders that keep their value
//!
//! A send case of a select waits without its value. [`permits`](super::permits) says how it meets a
//! receiver.
//!
//! # Bells
//!
//! A stream or sink that is not polled any more can not be told from one that will be, so nothing
//! may be handed to it: it would be stuck there. They leave a *bell* to be woken by when there
//! may be something for them, and then try as anybody does. All bells ring, since the first may be
//! of one that never comes.
//!
//! # Values that come back
//!
//! A receiver that is dropped with a value gives it back, before all others. Several such receivers
//! are dropped in any order, so each hand-over has a *turn*: what came back lies at the front of
//! the buffer in the order of its turns.
//!
//! # Invariants
//!
//! - I1: a value in the buffer: no receiver waits, not for a permit either. Room in the buffer: no
//!   sender waits. (Not counted: selects that are away polling other futures, and senders whose
//!   summons was withdrawn. Both try again before they sleep.)
//! - I2: it is reached under the channel's lock only (`shared`).
//! - I3: closed: nobody waits.

use super::permits::Summonses;
use super::wait::{Parcel, Place, Wait};
use crate::waitq::{Fired, Queue, Verdict};
use crate::wakers::Wakers;
use std::collections::VecDeque;

/// Open or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    Closed,
}

/// What the lock guards.
///
/// In this order: what every send and receive touches lies in two cache lines, which wander
/// between the CPUs of both sides; the rest is read at most.
#[repr(C)]
pub(crate) struct Core<T> {
    pub(super) buf: VecDeque<T>,
    /// `usize::MAX`: unbounded.
    pub(super) cap: usize,
    /// Places in the buffer for permits without a waiting receiver.
    pub(super) reserved: usize,
    /// Receivers that wait for anybody.
    pub(super) recvq: Queue<Wait<T>>,
    pub(super) sendq: Queue<Wait<T>>,
    /// How many values were handed over.
    pub(super) turns: u64,
    pub(super) phase: Phase,
    /// Receivers that wait for the sender with a permit for them.
    pub(super) promised: Queue<Wait<T>>,
    pub(super) summonses: Summonses,
    /// The turns of the values at the front of the buffer that came back.
    pub(super) returned: VecDeque<u64>,
    /// The bells of streams.
    pub(super) streams: Queue<Wait<T>>,
    /// The bells of sinks.
    pub(super) sinks: Queue<Wait<T>>,
    /// Bells that were rung: woken when the lock is released.
    pub(super) rung: Wakers,
    pub(super) senders: usize,
    pub(super) receivers: usize,
}

/// What came of a try to receive.
pub(crate) enum Take<T> {
    Value(T, Fired),
    /// A sender without its value was told to come with it.
    Summoned(Fired),
    Empty,
    Closed,
}

/// What came of a try to send.
pub(crate) enum Push<T> {
    Done(Fired),
    Full(T),
    Closed(T),
}

/// What a receiver does with a waiting sender that has its value elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnLater {
    /// Summons it.
    Summon,
    /// Leaves it waiting, and takes nothing from the senders behind it.
    Stop,
    /// Leaves it waiting, and takes the value of a sender behind it.
    Skip,
}

/// What a receiver finds that does not summon senders.
pub(super) enum Present<T> {
    Value(T, Fired),
    /// The next sender has its value elsewhere.
    Later,
    Empty,
    Closed,
}

impl<T> Core<T> {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            buf: VecDeque::new(),
            returned: VecDeque::new(),
            turns: 0,
            cap,
            reserved: 0,
            recvq: Queue::default(),
            promised: Queue::default(),
            summonses: Summonses::default(),
            sendq: Queue::default(),
            streams: Queue::default(),
            sinks: Queue::default(),
            rung: Wakers::None,
            phase: Phase::Open,
            senders: 1,
            receivers: 1,
        }
    }

    /// There may be a value.
    #[inline]
    pub(crate) fn ring_streams(&mut self) {
        Self::ring(&mut self.streams, &mut self.rung);
    }

    /// There may be room, or a receiver.
    #[inline]
    pub(super) fn ring_sinks(&mut self) {
        Self::ring(&mut self.sinks, &mut self.rung);
    }

    #[inline]
    fn ring(bells: &mut Queue<Wait<T>>, rung: &mut Wakers) {
        while let Some(((), fired)) = bells.fire_front(|_| ()) {
            rung.push(fired);
        }
    }

    /// The bells that were rung. Looks before it writes: the line is everybody's.
    #[inline(always)]
    pub(super) fn take_rung(&mut self) -> Wakers {
        match self.rung {
            Wakers::None => Wakers::None,
            _ => std::mem::take(&mut self.rung),
        }
    }

    /// Gives a value to a receiver that waits for a permit (I1), or appends it to the buffer.
    #[inline]
    fn store(&mut self, value: T, turn: u64) -> Fired {
        match self.give_promised(value, turn) {
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
    pub(super) fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    pub(super) fn len(&self) -> usize {
        self.buf.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.cap
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        // The buffer may hold more than its capacity: values that came back from a dropped wait.
        self.buf.len().saturating_add(self.reserved) < self.cap
    }

    /// Gives a value to the first receiver that waits for a permit.
    #[inline]
    pub(super) fn give_promised(&mut self, value: T, turn: u64) -> Result<Fired, T> {
        let mut value = Some(value);
        let hit = self.promised.fire_front(|wait| {
            wait.receive(value.take(), turn);
            wait.select_waker()
        });
        match (hit, value) {
            (None, Some(value)) => Err(value),
            (hit, _) => Ok(hit.map_or(Fired::NONE, |(waker, fired)| fired.or(waker))),
        }
    }

    /// Gives a value to the first receiver that waits for anybody.
    #[inline]
    fn give(&mut self, value: T, turn: u64) -> Result<Fired, T> {
        if self.recvq.is_empty() {
            return Err(value);
        }
        let mut value = Some(value);
        let hit = self.recvq.fire_first(|wait| {
            wait.win().map(|()| {
                wait.receive(value.take(), turn);
                wait.select_waker()
            })
        });
        match (hit, value) {
            (None, Some(value)) => Err(value),
            (hit, _) => Ok(hit.map_or(Fired::NONE, |(waker, fired)| fired.or(waker))),
        }
    }

    /// Takes the parcel of the first sender that waits: a value, or `Later`. The caller counts a
    /// `Later` sender as summoned.
    // Always: the copy of `recv` for foreign wakers must not turn this into a call for all.
    #[inline(always)]
    fn take_from_sender(&mut self, later: OnLater) -> Option<(Parcel<T>, Fired)> {
        let ((parcel, waker), fired) = self.sendq.fire_first(|wait| {
            match later {
                OnLater::Stop if wait.is_later() => return Verdict::Stop,
                OnLater::Skip if wait.is_later() => return Verdict::Skip,
                _ => {}
            }
            wait.win().map(|()| {
                let parcel = wait.take();
                if matches!(parcel, Parcel::Later) {
                    wait.parcel = Parcel::Summons;
                }
                (parcel, wait.select_waker())
            })
        })?;
        Some((parcel, fired.or(waker)))
    }

    /// Receives, if a value is there and nobody waits for its place.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self) -> Result<T, ()> {
        if self.sendq.is_empty() && self.sinks.is_empty() && self.returned.is_empty() {
            return self.buf.pop_front().ok_or(());
        }
        Err(())
    }

    /// The same, or tells that there is nothing to come by.
    #[inline(always)]
    pub(crate) fn look_quickly(&mut self) -> Result<Option<T>, ()> {
        if self.buf.is_empty() && self.sendq.is_empty() && self.phase == Phase::Open {
            return Ok(None);
        }
        self.take_quickly().map(Some)
    }

    /// Sends, if there is room and nobody waits for a value.
    #[inline(always)]
    pub(super) fn push_quickly(&mut self, value: T) -> Result<(), T> {
        let nobody = self.recvq.is_empty() && self.promised.is_empty() && self.streams.is_empty();
        if nobody && self.phase == Phase::Open && self.has_room() {
            // Without a turn: only what was handed to a receiver can come back.
            self.buf.push_back(value);
            return Ok(());
        }
        Err(value)
    }

    /// Takes the first value of the buffer.
    #[inline(always)]
    fn take_buffered(&mut self) -> Option<(T, Fired)> {
        let value = self.buf.pop_front()?;
        self.returned.pop_front();
        self.ring_sinks();
        Some((value, self.refill()))
    }

    /// Tries to receive. After `Summoned` the caller goes to wait in `promised`.
    #[inline]
    pub(crate) fn take(&mut self) -> Take<T> {
        if let Some((value, fired)) = self.take_buffered() {
            return Take::Value(value, fired);
        }
        match self.take_from_sender(OnLater::Summon) {
            Some((Parcel::Value(value), fired)) => Take::Value(value, fired),
            Some((_, fired)) => {
                self.summon_for_receiver();
                Take::Summoned(fired)
            }
            None if self.phase == Phase::Closed => Take::Closed,
            None => Take::Empty,
        }
    }

    /// Tries to receive, for a stream. A sender that was summoned fills a slot.
    pub(super) fn take_for_stream(&mut self) -> Take<T> {
        if let Some((value, fired)) = self.take_buffered() {
            return Take::Value(value, fired);
        }
        let later = if self.may_summon_for_stream() { OnLater::Summon } else { OnLater::Skip };
        match self.take_from_sender(later) {
            Some((Parcel::Value(value), fired)) => Take::Value(value, fired),
            Some((_, fired)) => {
                self.summon_for_slot();
                Take::Summoned(fired)
            }
            None if self.phase == Phase::Closed => Take::Closed,
            None => Take::Empty,
        }
    }

    /// Takes a value that is there: of the buffer or of a sender that waits with it.
    pub(super) fn take_present(&mut self, later: OnLater) -> Present<T> {
        debug_assert!(later != OnLater::Summon, "the caller does not wait for a sender");
        if let Some((value, fired)) = self.take_buffered() {
            return Present::Value(value, fired);
        }
        match self.take_from_sender(later) {
            Some((Parcel::Value(value), fired)) => Present::Value(value, fired),
            Some(_) => unreachable!("a sender that was not summoned"),
            None if self.phase == Phase::Closed => Present::Closed,
            None if self.sendq.is_empty() => Present::Empty,
            None => Present::Later,
        }
    }

    /// Lets the first waiting sender have a slot of the buffer, if there is one.
    #[inline]
    pub(super) fn refill(&mut self) -> Fired {
        if self.sendq.is_empty() || !self.has_room() {
            return Fired::NONE;
        }
        match self.take_from_sender(OnLater::Summon) {
            None => Fired::NONE,
            Some((Parcel::Value(value), fired)) => {
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
        if self.phase == Phase::Closed {
            return Push::Closed(value);
        }
        let turn = self.next_turn();
        match self.give(value, turn) {
            Ok(fired) => Push::Done(fired),
            Err(value) if self.has_room() => Push::Done(self.store(value, turn)),
            Err(value) => Push::Full(value),
        }
    }

    /// Tries to send, for a caller that does not wait: a parked stream has room for one value.
    pub(super) fn try_push(&mut self, value: T) -> Push<T> {
        match self.push(value) {
            Push::Full(value) if self.has_room_for_stream() => {
                let turn = self.next_turn();
                Push::Done(self.store(value, turn))
            }
            pushed => pushed,
        }
    }

    /// Whether a sink may send now. It may to a parked stream: neither waits with a value, so on a
    /// channel without a buffer both would wait for ever.
    pub(super) fn may_send(&mut self) -> bool {
        let wanted = !self.recvq.is_empty() || self.has_room_for_stream();
        self.phase == Phase::Closed || self.has_room() || wanted
    }

    /// Sends where there may be no room: for a sink that was told there is. The value comes back if
    /// the channel is closed.
    pub(super) fn force(&mut self, value: T) -> Result<Fired, T> {
        if self.phase == Phase::Closed {
            return Err(value);
        }
        let turn = self.next_turn();
        Ok(self.give(value, turn).unwrap_or_else(|value| self.store(value, turn)))
    }

    /// A receiver was dropped with its value: it goes to the next one, before all others. Comes
    /// back if no receiver is left, to be dropped after the lock is released.
    pub(super) fn put_back(&mut self, value: T, turn: u64) -> (Fired, Option<T>) {
        if self.receivers == 0 {
            return (Fired::NONE, Some(value));
        }
        let value = match self.give(value, turn) {
            Ok(fired) => return (fired, None),
            Err(value) => value,
        };
        match self.give_promised(value, turn) {
            Ok(fired) => {
                self.leave_promise();
                (fired, None)
            }
            Err(value) => {
                let place = self.returned.partition_point(|other| *other < turn);
                self.returned.insert(place, turn);
                self.buf.insert(place, value);
                self.ring_streams();
                (Fired::NONE, None)
            }
        }
    }

    /// Closes it and ends all waits; `None` if it was closed.
    pub(super) fn close(&mut self) -> Option<Wakers> {
        if self.phase == Phase::Closed {
            return None;
        }
        self.phase = Phase::Closed;
        self.drop_permits();
        self.ring_streams();
        self.ring_sinks();
        let mut wakers = Wakers::None;
        for queue in [&mut self.recvq, &mut self.promised, &mut self.sendq] {
            while let Some((waker, fired)) = queue.fire_first(|wait| {
                // A promised one is won already.
                let won = match wait.place {
                    Place::Promised => Verdict::Fire(()),
                    Place::Common => wait.win(),
                };
                won.map(|()| {
                    // A value stays in its node: its sender gets it back.
                    if !matches!(wait.parcel, Parcel::Value(_)) {
                        wait.parcel = Parcel::Closed;
                    }
                    wait.select_waker()
                })
            }) {
                wakers.push(fired.or(waker));
            }
        }
        Some(wakers)
    }

    /// What nobody will receive, to be dropped after the lock is released.
    pub(super) fn take_buffer(&mut self) -> VecDeque<T> {
        self.returned.clear();
        std::mem::take(&mut self.buf)
    }
}
