//! One channel, all events on it, and the checks. See the parent module.

use super::hook::with_hook;
use futures::{Sink, Stream};
use gmp::chan::{
    Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryRecvError, TrySendError,
};
use gmp::{chan, select};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// An operation that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Recv,
    Send,
    /// A select: a receive, and a receive that is never ready.
    SelRecv,
    /// A select: a send, and a receive that is never ready.
    SelSend,
    /// A select: a send and a receive, on the same channel.
    SelBoth,
    /// A select: a receive, and a future that never ends.
    AwayRecv,
    /// A select: a send, and a future that never ends.
    AwaySend,
    Stream,
    /// A stream that outlives its dropped wait and is not polled again.
    StaleStream,
    Sink,
    /// A receive with a time limit of zero. Other events happen when it drops its waker.
    Now,
    /// A select: a receive and a default.
    DefRecv,
    /// A select: a send and a default.
    DefSend,
    /// A select: a send and a receive on the same channel, a future that never ends, a default.
    DefBoth,
    /// A reservation. Its permit is held until the next poll.
    Reserve,
    /// A receive of at most two values.
    RecvMany,
}

use Kind::{
    AwayRecv, AwaySend, DefBoth, DefRecv, DefSend, Now, Recv, SelBoth, SelRecv, SelSend, Send,
    StaleStream,
};

impl Kind {
    fn receives(self) -> bool {
        !matches!(self, Send | SelSend | AwaySend | DefSend | Kind::Sink | Kind::Reserve)
    }

    fn sends(self) -> bool {
        let selects = matches!(self, SelSend | SelBoth | AwaySend | DefSend | DefBoth);
        selects || matches!(self, Send | Kind::Sink | Kind::Reserve)
    }

    /// Whether it is a select that sends, or a reservation. Its value is made when the send is
    /// committed.
    fn sends_later(self) -> bool {
        self.sends() && !matches!(self, Send | Kind::Sink)
    }

    fn is_stream(self) -> bool {
        matches!(self, Kind::Stream | StaleStream)
    }

    /// Whether events of other operations can happen in the middle of its poll.
    pub(super) fn is_open(self) -> bool {
        matches!(self, SelSend | SelBoth | AwayRecv | AwaySend | Now | DefSend | DefBoth)
    }
}

/// The most values that one receive of [`Kind::RecvMany`] takes.
const MANY: usize = 2;

/// One event. A number is the index of an operation, in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Begin(Kind),
    Poll(usize),
    Drop(usize),
    TrySend,
    /// Blocks the thread while it waits for a sender, so that sender does not run.
    TryRecv,
    /// The sender that it wakes runs during the call.
    TryRecvMeet,
    /// Reserves without waiting, and sends.
    TryReserve,
    /// Takes all values of the buffer.
    Drain,
    Close,
}

/// An act, and the acts that happen in the middle of it.
pub(super) type Event = (Act, Vec<Act>);

/// The result of an operation.
#[derive(Debug)]
enum Done {
    Sent(usize),
    Refused(usize),
    Got(Token),
    GotMany(Vec<Token>),
    Closed,
    Default,
    TimedOut,
}

fn got(result: Result<Token, RecvError>) -> Done {
    result.map_or(Done::Closed, Done::Got)
}

fn sent(id: usize, result: Result<(), SendError<Token>>) -> Done {
    match result {
        Ok(()) => Done::Sent(id),
        Err(error) => {
            assert_eq!(error.into_inner().id, id, "another value came back");
            Done::Refused(id)
        }
    }
}

/// A value. Counts its drops.
#[derive(Debug)]
struct Token {
    id: usize,
    drops: Rc<RefCell<Vec<u32>>>,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.drops.borrow_mut()[self.id] += 1;
    }
}

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waiting,
    Sent,
    Refused,
    /// Dropped while it waited. The value may have been received or not.
    Abandoned,
}

/// The history of a value. Times are counted in acts.
#[derive(Clone, Copy, Debug)]
struct Story {
    begun: u32,
    done: u32,
    fate: Fate,
    /// When its permit was got, if it was reserved.
    reserved: Option<u32>,
    /// Queued at once and served in order, like a plain send.
    plain: bool,
    received: bool,
}

/// The waker of a slot. It records the time of the wake-up.
struct Bell {
    slot: usize,
    clock: Arc<AtomicU32>,
    /// 0: not woken since the last poll.
    rung: AtomicU32,
    last: AtomicU32,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = self.clock.load(Ordering::Relaxed);
        self.rung.store(now, Ordering::Relaxed);
        self.last.store(now, Ordering::Relaxed);
        if let Some(world) = MEETING.with_borrow(Clone::clone) {
            world.run_sender(self.slot);
        }
    }
}

thread_local! {
    /// The world whose senders run as soon as they are woken.
    static MEETING: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

type Operation = Pin<Box<dyn Future<Output = Done>>>;

/// Returns the next value of a stream that others may hold too.
fn stream(receiver: Rc<RefCell<Receiver<Token>>>) -> impl Future<Output = Done> {
    poll_fn(move |cx| {
        let mut receiver = receiver.borrow_mut();
        Pin::new(&mut *receiver).poll_next(cx).map(|v| v.map_or(Done::Closed, Done::Got))
    })
}

/// An operation that was begun.
pub(super) struct Slot {
    pub(super) kind: Kind,
    /// `None` while it is polled and after its end.
    future: Option<Operation>,
    bell: Arc<Bell>,
    begun: u32,
    /// 0: it still waits.
    ended: u32,
    /// The number of the value that it sends.
    id: Option<usize>,
}

impl Slot {
    pub(super) fn waits(&self) -> bool {
        self.ended == 0
    }

    /// Whether it is in its wait queue: it waits and has not been served.
    fn is_queued(&self) -> bool {
        self.waits() && self.future.is_some() && !self.woken()
    }

    pub(super) fn woken(&self) -> bool {
        self.bell.rung.load(Ordering::Relaxed) != 0
    }
}

/// One channel and all events on it.
pub(super) struct World {
    cap: usize,
    tx: Sender<Token>,
    rx: Receiver<Token>,
    never: (Sender<Token>, Receiver<Token>),
    clock: Arc<AtomicU32>,
    pub(super) slots: RefCell<Vec<Slot>>,
    stories: RefCell<Vec<Story>>,
    drops: Rc<RefCell<Vec<u32>>>,
    /// The acts that happen in the middle of the next poll.
    pub(super) meanwhile: Cell<Vec<Act>>,
    pub(super) closed: Cell<bool>,
    /// Streams that are not polled again.
    stale: RefCell<Vec<Rc<RefCell<Receiver<Token>>>>>,
}

impl World {
    pub(super) fn new(cap: usize) -> Rc<Self> {
        let (tx, rx) = chan(cap);
        Rc::new(Self {
            cap,
            tx,
            rx,
            never: chan(0),
            clock: Arc::new(AtomicU32::new(0)),
            slots: RefCell::default(),
            stories: RefCell::default(),
            drops: Rc::default(),
            meanwhile: Cell::default(),
            closed: Cell::new(false),
            stale: RefCell::default(),
        })
    }

    fn now(&self) -> u32 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Returns the number of a new value.
    fn value(&self, plain: bool) -> usize {
        let begun = self.now();
        let (fate, reserved) = (Fate::Waiting, None);
        let story = Story { begun, done: 0, fate, reserved, plain, received: false };
        self.stories.borrow_mut().push(story);
        self.drops.borrow_mut().push(0);
        self.stories.borrow().len() - 1
    }

    fn token(&self, id: usize) -> Token {
        Token { id, drops: self.drops.clone() }
    }

    /// Runs the acts that happen in the middle of a poll.
    fn middle(self: &Rc<Self>) {
        for act in self.meanwhile.take() {
            self.act(act);
        }
        // The next act is later than these.
        self.clock.fetch_add(1, Ordering::Relaxed);
    }

    fn operation(self: &Rc<Self>, kind: Kind, id: usize) -> Operation {
        let (tx, rx) = (self.tx.clone(), self.rx.clone());
        match kind {
            Recv => Box::pin(async move { got(rx.recv().await) }),
            Send => {
                let token = self.token(id);
                Box::pin(async move { sent(id, tx.send(token).await) })
            }
            SelRecv | SelSend | SelBoth | AwayRecv | AwaySend | DefRecv | DefSend | DefBoth => {
                self.select(kind, id)
            }
            Kind::Reserve => Box::pin(self.clone().reserve(tx, id)),
            Kind::RecvMany => Box::pin(async move {
                let mut tokens = Vec::new();
                let result = rx.recv_many(&mut tokens, MANY).await;
                assert_eq!(result.unwrap_or(0), tokens.len());
                result.map_or(Done::Closed, |_| Done::GotMany(tokens))
            }),
            Now => Box::pin(self.clone().receive_now(rx)),
            Kind::Stream => Box::pin(stream(Rc::new(RefCell::new(rx)))),
            StaleStream => {
                let kept = Rc::new(RefCell::new(rx));
                self.stale.borrow_mut().push(kept.clone());
                Box::pin(stream(kept))
            }
            Kind::Sink => {
                let (world, mut tx) = (self.clone(), tx);
                Box::pin(poll_fn(move |cx| {
                    let mut sink = Pin::new(&mut tx);
                    sink.as_mut().poll_ready(cx).map(|ready| match ready {
                        Ok(()) => {
                            sink.start_send(world.token(id)).expect("ready");
                            Done::Sent(id)
                        }
                        Err(_) => Done::Refused(id),
                    })
                }))
            }
        }
    }

    /// Reserves, holds the permit until the next poll, and sends.
    async fn reserve(self: Rc<Self>, tx: Sender<Token>, id: usize) -> Done {
        let Ok(permit) = tx.reserve().await else { return Done::Refused(id) };
        self.stories.borrow_mut()[id].reserved = Some(self.now());
        // Nothing polls it again while the thread is blocked in `try_recv`.
        let mut held = MEETING.with_borrow(Option::is_some);
        poll_fn(|cx| {
            if std::mem::replace(&mut held, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        sent(id, permit.send(self.token(id)))
    }

    /// Runs a receive with a time limit of zero to its end.
    async fn receive_now(self: Rc<Self>, rx: Receiver<Token>) -> Done {
        let mut timed = Box::pin(rx.recv_timeout(Duration::ZERO));
        let world = self.clone();
        let poll = |waker: &Waker| timed.as_mut().poll(&mut Context::from_waker(waker));
        let mut polled = with_hook(move || world.middle(), poll);
        // It waits for a sender that it has woken and that does not run.
        while polled.is_pending() {
            std::thread::sleep(Duration::from_micros(200));
            polled = timed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        match polled {
            Poll::Ready(Err(RecvTimeoutError::Timeout)) | Poll::Pending => Done::TimedOut,
            Poll::Ready(Err(RecvTimeoutError::Closed)) => Done::Closed,
            Poll::Ready(Ok(token)) => Done::Got(token),
        }
    }

    fn select(self: &Rc<Self>, kind: Kind, id: usize) -> Operation {
        let (world, tx, rx) = (self.clone(), self.tx.clone(), self.rx.clone());
        let never = self.never.1.clone();
        let away = {
            let world = self.clone();
            poll_fn(move |_| -> Poll<Done> {
                world.middle();
                Poll::Pending
            })
        };
        // The value of a send case is evaluated in the middle of a poll.
        let value = move || {
            world.middle();
            world.token(id)
        };
        match kind {
            SelRecv => Box::pin(async move {
                select! { v = rx.recv() => got(v), v = never.recv() => got(v) }
            }),
            SelSend => Box::pin(async move {
                select! { r = tx.send(value()) => sent(id, r), v = never.recv() => got(v) }
            }),
            SelBoth => Box::pin(async move {
                select! { r = tx.send(value()) => sent(id, r), v = rx.recv() => got(v) }
            }),
            AwayRecv => Box::pin(async move {
                select! { v = rx.recv() => got(v), d = away => d }
            }),
            AwaySend => Box::pin(async move {
                select! { r = tx.send(value()) => sent(id, r), d = away => d }
            }),
            DefRecv => Box::pin(async move {
                select! { v = rx.recv() => got(v), default => Done::Default }
            }),
            DefSend => Box::pin(async move {
                select! { r = tx.send(value()) => sent(id, r), default => Done::Default }
            }),
            DefBoth => Box::pin(async move {
                select! {
                    r = tx.send(value()) => sent(id, r),
                    v = rx.recv() => got(v),
                    d = away => d,
                    default => Done::Default,
                }
            }),
            other => unreachable!("{other:?} is not a select"),
        }
    }

    pub(super) fn act(self: &Rc<Self>, act: Act) {
        self.clock.fetch_add(1, Ordering::Relaxed);
        match act {
            Act::Begin(kind) => {
                let id = kind.sends().then(|| self.value(kind == Send));
                let bell = Arc::new(Bell {
                    slot: self.slots.borrow().len(),
                    clock: self.clock.clone(),
                    rung: AtomicU32::new(0),
                    last: AtomicU32::new(0),
                });
                let future = Some(self.operation(kind, id.unwrap_or(usize::MAX)));
                let slot = Slot { kind, future, bell, begun: self.now(), ended: 0, id };
                self.slots.borrow_mut().push(slot);
                let index = self.slots.borrow().len() - 1;
                self.poll(index);
            }
            Act::Poll(index) => self.poll(index),
            Act::Drop(index) => self.drop_slot(index),
            Act::TrySend => self.try_send(),
            Act::TryRecv => self.try_recv(),
            Act::TryRecvMeet => {
                MEETING.set(Some(self.clone()));
                self.try_recv();
                MEETING.set(None);
            }
            Act::TryReserve => self.try_reserve(),
            Act::Drain => self.drain(),
            Act::Close => {
                assert_eq!(self.tx.close(), !self.closed.replace(true));
            }
        }
    }

    fn poll(self: &Rc<Self>, index: usize) {
        let (mut future, bell) = {
            let slot = &mut self.slots.borrow_mut()[index];
            slot.bell.rung.store(0, Ordering::Relaxed);
            (slot.future.take().expect("an operation that waits"), slot.bell.clone())
        };
        let start = self.now();
        let waker = Waker::from(bell);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Pending => self.slots.borrow_mut()[index].future = Some(future),
            Poll::Ready(done) => {
                drop(future);
                self.finish(index, done, start);
            }
        }
    }

    /// `start`: the time at which the last poll of the operation began.
    fn finish(&self, index: usize, done: Done, start: u32) {
        let now = self.now();
        let (kind, id, woken) = {
            let slot = &mut self.slots.borrow_mut()[index];
            slot.ended = now;
            (slot.kind, slot.id, slot.bell.last.load(Ordering::Relaxed))
        };
        // The time at which the result was decided. Other events happen inside a poll of `Now`,
        // before or after that.
        let since = match kind {
            Now => start,
            _ if kind.is_stream() || woken == 0 => now,
            _ => woken,
        };
        match done {
            Done::Sent(id) => {
                let since = self.stories.borrow()[id].reserved.unwrap_or(start);
                let met = !kind.sends_later() || self.cap > 0 || self.has_receiver(index, since);
                assert!(met, "{index} has sent, but no receiver is there");
                self.settle(id, Fate::Sent);
            }
            Done::Default => {
                assert!(!self.closed.get(), "a default on a closed channel");
                let receives = kind.receives() && self.could_receive();
                let sends = kind.sends() && self.could_send();
                assert!(!receives && !sends, "{index} took its default, but could have gone on");
                id.inspect(|id| self.settle(*id, Fate::Refused));
            }
            Done::TimedOut => {
                let beyond = self.rx.len() > self.cap && !self.may_be_beyond();
                assert!(!beyond, "{index} timed out, but a value was sent to it");
            }
            Done::Refused(id) => {
                assert!(self.closed.get(), "refused, but not closed");
                self.settle(id, Fate::Refused);
            }
            Done::Closed => {
                assert!(self.closed.get(), "not closed");
                self.judge_closed(Some(index), since);
                id.inspect(|id| self.settle(*id, Fate::Refused));
            }
            Done::Got(token) => {
                // The value of its own send case was not sent.
                id.inspect(|id| self.settle(*id, Fate::Refused));
                self.received(&token, Some(index), since);
            }
            Done::GotMany(tokens) => {
                assert!(tokens.len() == MANY || self.rx.is_empty(), "left values that were there");
                for (n, token) in tokens.iter().enumerate() {
                    // Only the first one may have been handed to it before this poll.
                    let since = if n == 0 { since } else { now };
                    self.received(token, Some(index), since);
                }
            }
        }
    }

    fn settle(&self, id: usize, fate: Fate) {
        let mut stories = self.stories.borrow_mut();
        (stories[id].fate, stories[id].done) = (fate, self.now());
    }

    /// Checks the order: no earlier value is overtaken, unless another receiver may have held it at
    /// the time `since`.
    fn received(&self, token: &Token, by: Option<usize>, since: u32) {
        let mut stories = self.stories.borrow_mut();
        let this = stories[token.id];
        assert!(!this.received, "value {} received twice", token.id);
        assert_ne!(this.fate, Fate::Refused, "value {} was not sent", token.id);
        stories[token.id].received = true;
        if self.may_hold(by, since) {
            return;
        }
        for (id, other) in stories.iter().enumerate() {
            let undelivered = !other.received && matches!(other.fate, Fate::Sent | Fate::Waiting);
            let before = (other.fate == Fate::Sent && other.done < this.begun)
                || (other.plain && this.plain && other.begun < this.begun);
            assert!(!(undelivered && before), "value {} overtook {id}", token.id);
        }
    }

    /// Whether a receiver other than `by` may have held a value at the time `since`, or still holds
    /// one. A receiver with a time limit does not count: it returns the value that it was handed.
    fn may_hold(&self, by: Option<usize>, since: u32) -> bool {
        self.slots.borrow().iter().enumerate().any(|(index, slot)| {
            Some(index) != by
                && slot.kind.receives()
                && slot.kind != Now
                && slot.begun <= since
                && (slot.waits() || slot.ended >= since)
        })
    }

    /// Checks that all values were received at the time `since`, at which a receive returned
    /// "closed".
    fn judge_closed(&self, by: Option<usize>, since: u32) {
        if self.may_hold(by, since) {
            return;
        }
        for (id, story) in self.stories.borrow().iter().enumerate() {
            let left = story.fate == Fate::Sent && !story.received;
            assert!(!left, "closed and empty, but {id} was not received");
        }
    }

    /// Whether a receiver is present for a sender, or was at the time `since`.
    fn has_receiver(&self, sender: usize, since: u32) -> bool {
        let slots = self.slots.borrow();
        let there = |(index, slot): (usize, &Slot)| {
            index != sender && slot.kind.receives() && (slot.waits() || slot.ended >= since)
        };
        slots.iter().enumerate().any(there)
            || !self.stale.borrow().is_empty()
            || MEETING.with_borrow(Option::is_some)
    }

    fn is_queued(&self, f: impl Fn(Kind) -> bool) -> bool {
        self.slots.borrow().iter().any(|slot| slot.is_queued() && f(slot.kind))
    }

    /// Returns the number of selects that are about to send their value.
    fn coming(&self) -> usize {
        let coming = |slot: &&Slot| slot.kind.sends_later() && slot.waits() && !slot.is_queued();
        self.slots.borrow().iter().filter(coming).count()
    }

    /// Whether a value or a waiting sender is present. A select that also receives may itself wait
    /// for a sender that is about to send.
    fn could_receive(&self) -> bool {
        let both = self.coming() == 0;
        let sends = |kind| match kind {
            Send | SelSend | AwaySend | Kind::Reserve => true,
            kind => both && kind == SelBoth,
        };
        !self.rx.is_empty() || self.is_queued(sends)
    }

    /// Whether there is room, or a waiting receiver to which no sender is about to send.
    fn could_send(&self) -> bool {
        let coming = self.coming();
        let slots = self.slots.borrow();
        let queued = |f: fn(Kind) -> bool| {
            slots.iter().filter(|slot| slot.is_queued() && f(slot.kind)).count()
        };
        let streams = queued(Kind::is_stream);
        let others = queued(|kind| kind.receives() && !kind.is_stream());
        let stream_waits = streams > 0 && self.rx.is_empty() && coming == 0;
        !self.rx.is_full() || others > coming || stream_waits
    }

    /// Whether the buffer may hold more values than its capacity, because of returned values,
    /// streams or sinks.
    fn may_be_beyond(&self) -> bool {
        let slots = self.slots.borrow();
        let gone = |slot: &Slot| slot.kind.receives() && !slot.waits();
        slots.iter().any(|slot| gone(slot) || slot.kind.is_stream() || slot.kind == Kind::Sink)
    }

    /// Runs a sender that was woken while this thread is in `try_recv`.
    fn run_sender(self: &Rc<Self>, index: usize) {
        let runs = {
            let slots = self.slots.borrow();
            slots[index].kind.sends_later() && slots[index].future.is_some()
        };
        if runs {
            self.act(Act::Poll(index));
        }
    }

    fn drop_slot(&self, index: usize) {
        let (future, id) = {
            let slot = &mut self.slots.borrow_mut()[index];
            slot.ended = self.now();
            (slot.future.take(), slot.id)
        };
        drop(future.expect("an operation that waits"));
        if let Some(id) = id {
            self.settle(id, Fate::Abandoned);
        }
    }

    fn try_send(&self) {
        let id = self.value(true);
        let possible = self.could_send();
        match self.tx.try_send(self.token(id)) {
            Ok(()) => self.settle(id, Fate::Sent),
            Err(TrySendError::Closed(_)) => {
                assert!(self.closed.get(), "not closed");
                self.settle(id, Fate::Refused);
            }
            Err(TrySendError::Full(_)) => {
                assert!(!possible, "was not full");
                self.settle(id, Fate::Refused);
            }
        }
    }

    fn try_reserve(&self) {
        let id = self.value(true);
        let possible = self.could_send();
        match self.tx.try_reserve() {
            Ok(permit) => {
                assert!(permit.send(self.token(id)).is_ok(), "a permit of an open channel");
                self.settle(id, Fate::Sent);
            }
            Err(error) => {
                let closed = error == TrySendError::Closed(());
                assert_eq!(closed, self.closed.get());
                assert!(closed || !possible, "was not full");
                self.settle(id, Fate::Refused);
            }
        }
    }

    fn drain(&self) {
        let len = self.rx.len();
        let drained: Vec<_> = self.rx.drain().collect();
        assert_eq!(drained.len(), len);
        let waits = self.is_queued(|kind| kind == Send);
        assert!(!waits || self.rx.is_full(), "a sender waits with room for it");
        drained.iter().for_each(|token| self.received(token, None, self.now()));
    }

    fn try_recv(&self) {
        let meeting = MEETING.with_borrow(Option::is_some);
        // A woken sender may serve a receiver that already waits.
        let possible = match meeting && self.coming() == 0 {
            true => self.could_receive(),
            false => self.is_queued(|kind| kind == Send) || !self.rx.is_empty(),
        };
        match self.rx.try_recv() {
            Ok(token) => self.received(&token, None, self.now()),
            Err(TryRecvError::Empty) => assert!(!possible, "was not empty"),
            Err(TryRecvError::Closed) => {
                assert!(self.closed.get() && self.rx.is_empty());
                self.judge_closed(None, self.now());
            }
        }
    }

    /// Polls woken operations until none is woken.
    pub(super) fn quiesce(self: &Rc<Self>) {
        for _ in 0..100 {
            let woken = self.slots.borrow().iter().position(|slot| slot.waits() && slot.woken());
            match woken {
                Some(index) => self.act(Act::Poll(index)),
                None => return,
            }
        }
        panic!("does not come to rest");
    }

    /// Checks that no operation waits that could complete.
    pub(super) fn judge_progress(&self) {
        let slots = self.slots.borrow();
        let waiting = |f: fn(Kind) -> bool| {
            let wait =
                slots.iter().enumerate().filter(move |(_, slot)| slot.waits() && f(slot.kind));
            wait.map(|(index, _)| index).collect::<Vec<_>>()
        };
        let (receivers, senders) = (waiting(Kind::receives), waiting(Kind::sends));
        for receiver in &receivers {
            let pair = senders.iter().find(|sender| *sender != receiver);
            assert_eq!(pair, None, "{receiver} waits to receive, this one to send");
        }
        let len = self.rx.len();
        assert!(receivers.is_empty() || len == 0, "{receivers:?} wait with {len} values there");
        assert!(senders.is_empty() || len >= self.cap, "{senders:?} wait with room for them");
        assert!(!self.closed.get() || (receivers.is_empty() && senders.is_empty()), "closed");
        assert_eq!(self.rx.is_full(), len >= self.cap, "a reservation was left behind");
    }

    /// Drops all waiting operations and receives the remaining values.
    pub(super) fn judge_conservation(&self) {
        let count = self.slots.borrow().len();
        for index in 0..count {
            if self.slots.borrow()[index].waits() {
                self.drop_slot(index);
            }
        }
        self.clock.fetch_add(1, Ordering::Relaxed);
        while let Ok(token) = self.rx.try_recv() {
            self.received(&token, None, self.now());
        }
        self.stale.borrow_mut().clear();
        assert_eq!(self.rx.is_full(), self.cap == 0, "a reservation was left behind");
        for (id, story) in self.stories.borrow().iter().enumerate() {
            assert_ne!(story.fate, Fate::Waiting, "value {id}");
            assert!(story.fate != Fate::Sent || story.received, "value {id} is lost: {story:?}");
            let drops = self.drops.borrow()[id];
            // The value of a send case that was not chosen was never made.
            assert!(drops == 1 || (drops == 0 && !story.received), "value {id}: {drops} drops");
        }
    }
}
