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
//! A send case of a select waits without its value, which is moved only when the case is chosen
//! ([`Parcel::Later`]). Such a sender gets a *permit*, and uses it as soon as it runs: [`fulfil`](Core::fulfil) or [`forfeit`](Core::forfeit). The other side of a permit is a
//! receiver that waits for it in `promised`, or a reserved place in the buffer. So a rendezvous
//! stays one: the receiver of a permit waits for that sender and for nobody else. Only if it is
//! dropped meanwhile, or did not wait at all (`try_recv`), does the value go into the buffer of
//! a channel that has none.
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
//! - I1: a value in the buffer: no receiver waits, not for a permit either. Room in the buffer: no sender waits. (Not
//!   counted: selects that are away polling other futures; they look again before they sleep.)
//! - I2: permits in the hands of senders = nodes in `promised` + `reserved`, while open.
//! - I3: `core` is reached under `lock` only.
//! - I4: closed: nobody waits.

use crate::claim::Claim;
use crate::waitq::{Fired, Node, Queue, State, Verdict};
use crate::wakers::Wakers;
use gmp_rt::prim::{RawLock, UnsafeCell};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

/// What both sides share.
pub(crate) struct Chan<T> {
    lock: RawLock,
    core: UnsafeCell<Core<T>>,
}

// SAFETY: I3 — values and nodes are reached under the lock, so by one thread at a time.
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above; no reference to a value is ever given out.
unsafe impl<T: Send> Sync for Chan<T> {}

/// Open or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    Closed,
}

/// What the lock guards.
pub(crate) struct Core<T> {
    buf: VecDeque<T>,
    /// The turns of the values at the front of the buffer that came back.
    returned: VecDeque<u64>,
    /// How many values were handed over.
    turns: u64,
    /// `usize::MAX`: unbounded.
    cap: usize,
    /// Places in the buffer for permits without a waiting receiver.
    reserved: usize,
    /// Receivers that wait for anybody.
    recvq: Queue<Wait<T>>,
    /// Receivers that wait for the sender with a permit for them.
    promised: Queue<Wait<T>>,
    sendq: Queue<Wait<T>>,
    /// The bells of streams.
    streams: Queue<Wait<T>>,
    /// The bells of sinks.
    sinks: Queue<Wait<T>>,
    /// Bells that were rung: woken when the lock is released.
    rung: Wakers,
    phase: Phase,
    pub(super) senders: usize,
    pub(super) receivers: usize,
}

/// What a wait keeps in its node.
pub(crate) struct Wait<T> {
    parcel: Parcel<T>,
    /// When the value in it was handed over, counted in hand-overs.
    turn: u64,
    claim: Option<Ticket>,
    place: Place,
}

/// Who leaves a bell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Stream,
    Sink,
}

/// The queue a receiver's node is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Common,
    Promised,
}

/// What lies in a node.
pub(crate) enum Parcel<T> {
    /// Nothing: a receiver that waits, a sender whose value was taken.
    Nothing,
    /// The value: to be sent, or received.
    Value(T),
    /// A sender that has its value elsewhere.
    Later,
    /// For a `Later` sender: it may send now.
    Permit,
    /// The channel was closed.
    Closed,
    /// The permit this receiver waited for was forfeited: it begins again.
    Again,
}

/// The case of a select that a node belongs to.
struct Ticket {
    claim: NonNull<Claim>,
    index: u32,
}

// SAFETY: `Claim` is `Sync`, and outlives its tickets: the select removes its nodes first.
unsafe impl Send for Ticket {}

impl<T> Wait<T> {
    /// A wait for `parcel`, not of a select.
    pub(crate) fn new(parcel: Parcel<T>) -> Self {
        Self { parcel, turn: 0, claim: None, place: Place::Common }
    }

    /// Makes it case `index` of the select that owns `claim`.
    ///
    /// # Safety
    ///
    /// `claim` stays where it is as long as the node of this wait is in a queue.
    pub(crate) unsafe fn enlist(&mut self, claim: &Claim, index: u32) {
        self.claim = Some(Ticket { claim: NonNull::from(claim), index });
    }

    /// Takes what lies in it.
    #[inline]
    pub(crate) fn take(&mut self) -> Parcel<T> {
        std::mem::replace(&mut self.parcel, Parcel::Nothing)
    }

    pub(crate) fn put(&mut self, parcel: Parcel<T>) {
        self.parcel = parcel;
    }

    /// A value is handed over.
    #[inline]
    fn receive(&mut self, value: Option<T>, turn: u64) {
        self.parcel = value.map_or(Parcel::Nothing, Parcel::Value);
        self.turn = turn;
    }

    fn claim(&self) -> Option<&Claim> {
        // SAFETY: `enlist`'s promise.
        self.claim.as_ref().map(|ticket| unsafe { ticket.claim.as_ref() })
    }

    /// Whether this wait may be ended by us.
    #[inline]
    fn win(&self) -> Verdict<()> {
        match (&self.claim, self.claim()) {
            (Some(ticket), Some(claim)) => claim.win(ticket.index),
            _ => Verdict::Fire(()),
        }
    }

    /// The waker, if it is a select's.
    #[inline]
    fn select_waker(&self) -> Option<Waker> {
        self.claim()?.take_waker()
    }
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

/// What came of a try to get a permit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reserve {
    Permit,
    Full,
    Closed,
}

impl<T> fmt::Debug for Chan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, cap, phase) = self.with(|core| (core.len(), core.capacity(), core.phase));
        let mut out = f.debug_struct("Chan");
        out.field("len", &len).field("cap", &cap).field("phase", &phase).finish()
    }
}

impl<T> Chan<T> {
    pub(crate) fn new(cap: usize) -> Self {
        let core = Core {
            buf: VecDeque::new(),
            returned: VecDeque::new(),
            turns: 0,
            cap,
            reserved: 0,
            recvq: Queue::default(),
            promised: Queue::default(),
            sendq: Queue::default(),
            streams: Queue::default(),
            sinks: Queue::default(),
            rung: Wakers::None,
            phase: Phase::Open,
            senders: 1,
            receivers: 1,
        };
        Self { lock: RawLock::new(), core: UnsafeCell::new(core) }
    }

    /// Runs `f` under the lock.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        self.lock();
        let unlock = Unlock(self);
        // SAFETY: locked just now.
        let result = unsafe { self.locked(f) };
        drop(unlock);
        result
    }

    /// Locks, for who has to hold several locks at once.
    #[inline]
    pub(crate) fn lock(&self) {
        self.lock.lock();
    }

    /// Unlocks. The bells that were rung are to be woken when no lock is held.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline]
    pub(crate) unsafe fn unlock(&self) -> Wakers {
        // SAFETY: the caller's promise.
        let rung = unsafe { self.locked(|core| std::mem::take(&mut core.rung)) };
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock() };
        rung
    }

    /// Runs `f` on what the lock guards.
    ///
    /// # Safety
    ///
    /// This thread has [locked](Self::lock) it.
    #[inline]
    pub(crate) unsafe fn locked<R>(&self, f: impl FnOnce(&mut Core<T>) -> R) -> R {
        // SAFETY: I3 — the caller's promise.
        self.core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// What a dump shows as the resource.
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Closes it; `false` if it was closed.
    pub(super) fn close(&self) -> bool {
        match self.with(Core::close) {
            Some(wakers) => {
                wakers.wake_all();
                true
            }
            None => false,
        }
    }
}

/// Unlocks, and wakes the bells that were rung.
struct Unlock<'a, T>(&'a Chan<T>);

impl<T> Drop for Unlock<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by `with`, which has locked it.
        unsafe { self.0.unlock() }.wake_all();
    }
}

impl<T> Core<T> {
    /// There may be a value.
    #[inline]
    pub(crate) fn ring_streams(&mut self) {
        Self::ring(&mut self.streams, &mut self.rung);
    }

    /// There may be room, or a receiver.
    #[inline]
    fn ring_sinks(&mut self) {
        Self::ring(&mut self.sinks, &mut self.rung);
    }

    #[inline]
    fn ring(bells: &mut Queue<Wait<T>>, rung: &mut Wakers) {
        while let Some(((), fired)) = bells.fire_front(|_| ()) {
            rung.push(fired);
        }
    }

    /// Appends a value that nobody waits for; but a receiver that waits for a permit need not wait
    /// any longer, and the permit's value will have this one's place (I1, I2).
    #[inline]
    fn store(&mut self, value: T) -> Fired {
        let turn = self.next_turn();
        match self.give_promised(value, turn) {
            Ok(fired) => {
                self.reserved += 1;
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
    fn next_turn(&mut self) -> u64 {
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
    fn give_promised(&mut self, value: T, turn: u64) -> Result<Fired, T> {
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

    /// Takes the parcel of the first sender that waits: a value, or `Later`, who then has a
    /// permit that the caller has to account for (I2).
    #[inline]
    fn take_from_sender(&mut self) -> Option<(Parcel<T>, Fired)> {
        let ((parcel, waker), fired) = self.sendq.fire_first(|wait| {
            wait.win().map(|()| {
                let parcel = wait.take();
                if matches!(parcel, Parcel::Later) {
                    wait.parcel = Parcel::Permit;
                }
                (parcel, wait.select_waker())
            })
        })?;
        Some((parcel, fired.or(waker)))
    }

    /// Tries to receive. A sender that was summoned has a permit: the caller goes to wait in
    /// `promised`, or reserves a place for it.
    #[inline]
    pub(crate) fn take(&mut self) -> Take<T> {
        if let Some(value) = self.buf.pop_front() {
            self.returned.pop_front();
            self.ring_sinks();
            return Take::Value(value, self.refill());
        }
        match self.take_from_sender() {
            Some((Parcel::Value(value), fired)) => Take::Value(value, fired),
            Some((_, fired)) => Take::Summoned(fired),
            None if self.phase == Phase::Closed => Take::Closed,
            None => Take::Empty,
        }
    }

    /// Tries to receive, for one who does not wait.
    pub(crate) fn try_take(&mut self) -> Take<T> {
        let took = self.take();
        if let Take::Summoned(_) = took {
            self.reserved += 1;
        }
        took
    }

    /// Lets the first waiting sender have a place in the buffer, if there is one.
    #[inline]
    fn refill(&mut self) -> Fired {
        if self.sendq.is_empty() || !self.has_room() {
            return Fired::NONE;
        }
        match self.take_from_sender() {
            None => Fired::NONE,
            Some((Parcel::Value(value), fired)) => {
                self.buf.push_back(value);
                fired
            }
            Some((_, fired)) => {
                self.reserved += 1;
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
            Err(value) if self.has_room() => Push::Done(self.store(value)),
            Err(value) => Push::Full(value),
        }
    }

    /// Whether a sink may send now. It may to a stream that waits: neither can be handed anything, so
    /// on a channel without a buffer both would wait for ever.
    pub(super) fn may_send(&mut self) -> bool {
        let wanted = !self.recvq.is_empty() || !self.streams.is_empty();
        self.phase == Phase::Closed || self.has_room() || wanted
    }

    /// Tries to get a permit: from a waiting receiver, who then waits for us, or a place.
    pub(crate) fn reserve(&mut self) -> Reserve {
        if self.phase == Phase::Closed {
            return Reserve::Closed;
        }
        let promised = self.recvq.move_first(&mut self.promised, |wait| {
            let verdict = wait.win();
            if matches!(verdict, Verdict::Fire(())) {
                wait.place = Place::Promised;
            }
            verdict
        });
        if promised.is_some() {
            return Reserve::Permit;
        }
        if self.has_room() {
            self.reserved += 1;
            return Reserve::Permit;
        }
        Reserve::Full
    }

    /// Sends where there may be no room: for a sink that was told there is. The value comes back if
    /// the channel is closed.
    pub(super) fn force(&mut self, value: T) -> Result<Fired, T> {
        if self.phase == Phase::Closed {
            return Err(value);
        }
        let turn = self.next_turn();
        Ok(self.give(value, turn).unwrap_or_else(|value| self.store(value)))
    }

    /// Uses a permit. The value comes back if the channel was closed meanwhile.
    pub(crate) fn fulfil(&mut self, value: T) -> Result<Fired, T> {
        if self.phase == Phase::Closed {
            return Err(value);
        }
        let turn = self.next_turn();
        self.give_promised(value, turn).or_else(|value| {
            self.reserved -= 1;
            self.force(value)
        })
    }

    /// Gives a permit back unused.
    pub(crate) fn forfeit(&mut self) -> Wakers {
        if self.phase == Phase::Closed {
            return Wakers::None;
        }
        let again = self.promised.fire_front(|wait| {
            wait.parcel = Parcel::Again;
            wait.select_waker()
        });
        if let Some((waker, fired)) = again {
            return fired.or(waker).into();
        }
        self.reserved -= 1;
        self.ring_sinks();
        // The permit may have been for a stream, who now has to look for another sender.
        if !self.sendq.is_empty() {
            self.ring_streams();
        }
        self.refill().into()
    }

    /// A receiver was dropped with its value: it goes to the next one, before all others. Comes
    /// back if no receiver is left, to be dropped after the lock is released.
    fn put_back(&mut self, value: T, turn: u64) -> (Fired, Option<T>) {
        if self.receivers == 0 {
            return (Fired::NONE, Some(value));
        }
        let value = match self.give(value, turn) {
            Ok(fired) => return (fired, None),
            Err(value) => value,
        };
        match self.give_promised(value, turn) {
            Ok(fired) => {
                // The sender with the permit comes all the same (I2).
                self.reserved += 1;
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
    fn close(&mut self) -> Option<Wakers> {
        if self.phase == Phase::Closed {
            return None;
        }
        self.phase = Phase::Closed;
        // Permits are of no use any more.
        self.reserved = 0;
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

    /// Begins to wait for a value, from anybody or for a promised one.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, and leaves by [`leave_receiver`](Self::leave_receiver) before
    /// it is dropped.
    #[inline]
    pub(crate) unsafe fn wait_to_receive(
        &mut self,
        mut node: Pin<&mut Node<Wait<T>>>,
        waker: Option<Waker>,
        summoned: Summoned,
    ) {
        let (queue, place) = match summoned {
            Summoned::No => (&mut self.recvq, Place::Common),
            Summoned::Yes => (&mut self.promised, Place::Promised),
        };
        node.as_mut().own(|wait| wait.place = place);
        // SAFETY: the caller's promise.
        unsafe { queue.push_back(node, waker) };
        self.ring_sinks();
    }

    /// Begins to wait for room or a receiver.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, and leaves by [`leave_sender`](Self::leave_sender) before
    /// it is dropped.
    #[inline]
    pub(crate) unsafe fn wait_to_send(
        &mut self,
        node: Pin<&mut Node<Wait<T>>>,
        waker: Option<Waker>,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.sendq.push_back(node, waker) };
        self.ring_streams();
    }

    /// Leaves a bell, or gives the one that is there another waker.
    ///
    /// # Safety
    ///
    /// `node` is pinned for its life, is used for bells of this side alone, and is
    /// [taken off](Self::take_off_bell) before it is dropped.
    pub(super) unsafe fn leave_bell(
        &mut self,
        side: Side,
        mut node: Pin<&mut Node<Wait<T>>>,
        waker: &Waker,
    ) -> Option<Waker> {
        let bells = self.bells(side);
        if node.state() == State::Queued {
            // SAFETY: queued, so with the bells of this side.
            return unsafe { bells.update(node, waker) };
        }
        node.as_mut().reset();
        // SAFETY: the caller's promise.
        unsafe { bells.push_back(node, waker.clone()) };
        if side == Side::Stream {
            self.ring_sinks();
        }
        None
    }

    /// Takes a bell off, if it is there. Returns its waker, to be dropped after the lock is
    /// released.
    ///
    /// # Safety
    ///
    /// `node` is used for bells of this side alone.
    pub(super) unsafe fn take_off_bell(
        &mut self,
        side: Side,
        node: Pin<&mut Node<Wait<T>>>,
    ) -> Option<Waker> {
        // SAFETY: the caller's promise.
        unsafe { self.bells(side).remove(node) }
    }

    fn bells(&mut self, side: Side) -> &mut Queue<Wait<T>> {
        match side {
            Side::Stream => &mut self.streams,
            Side::Sink => &mut self.sinks,
        }
    }

    /// Gives a wait another waker; returns the old one, to be dropped after the lock is released.
    ///
    /// # Safety
    ///
    /// `node` is queued here.
    pub(crate) unsafe fn update(
        &mut self,
        node: Pin<&mut Node<Wait<T>>>,
        waker: &Waker,
    ) -> Option<Waker> {
        // Any of the queues will do: their ends are not touched.
        // SAFETY: the caller's promise.
        unsafe { self.sendq.update(node, waker) }
    }

    /// A receiver gives up, whether it waits or has been given something.
    ///
    /// # Safety
    ///
    /// `node` is in no queue but one of these.
    pub(crate) unsafe fn leave_receiver(&mut self, mut node: Pin<&mut Node<Wait<T>>>) -> Left<T> {
        let mut left = Left { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            State::Idle => {}
            State::Queued => {
                // SAFETY: the lock is held.
                let place = unsafe { node.as_mut().locked(|wait| wait.place) };
                let queue = match place {
                    Place::Common => &mut self.recvq,
                    Place::Promised => {
                        // The sender with the permit comes all the same (I2).
                        self.reserved += 1;
                        &mut self.promised
                    }
                };
                // SAFETY: the caller's promise; the place says which queue.
                left.waker = unsafe { queue.remove(node) };
            }
            State::Fired => {
                if let (Parcel::Value(value), turn) = node.own(|wait| (wait.take(), wait.turn)) {
                    let (fired, value) = self.put_back(value, turn);
                    left.wakers = fired.into();
                    left.value = value;
                }
            }
        }
        left
    }

    /// A sender gives up, whether it waits or has been given something. Its value, if it is still
    /// in the node, stays there.
    ///
    /// # Safety
    ///
    /// `node` is in no queue but the senders'.
    pub(crate) unsafe fn leave_sender(&mut self, mut node: Pin<&mut Node<Wait<T>>>) -> Left<T> {
        let mut left = Left { wakers: Wakers::None, value: None, waker: None };
        match node.state() {
            State::Idle => {}
            // SAFETY: the caller's promise.
            State::Queued => left.waker = unsafe { self.sendq.remove(node) },
            State::Fired => {
                let permit = node.as_mut().own(|wait| matches!(wait.parcel, Parcel::Permit));
                if permit {
                    node.own(|wait| wait.parcel = Parcel::Nothing);
                    left.wakers = self.forfeit();
                }
            }
        }
        left
    }
}

/// Whether a receiver waits for a sender it has summoned.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summoned {
    /// For anybody.
    No,
    /// For the one.
    Yes,
}

/// What is left of a wait that was given up, to be [finished](Self::finish) after the lock is
/// released.
#[must_use = "to be finished after the lock is released"]
pub(crate) struct Left<T> {
    wakers: Wakers,
    value: Option<T>,
    waker: Option<Waker>,
}

impl<T> Left<T> {
    /// Whom to wake, and what to drop, after the lock is released: for a select's node.
    pub(crate) fn into_parts(self) -> (Wakers, Option<T>) {
        debug_assert!(self.waker.is_none(), "the waker of a select is in its claim");
        (self.wakers, self.value)
    }

    /// Wakes who is to be woken, drops what is to be dropped.
    pub(crate) fn finish(self) {
        self.wakers.wake_all();
        drop((self.value, self.waker));
    }
}
