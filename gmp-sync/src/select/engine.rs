//! Choosing (Go: `selectgo`).
//!
//! 1. In random order, each case is tried on its own: a ready channel costs one lock. A future is
//!    polled.
//! 2. If none is ready all channels are locked, in the order of their addresses, and tried once
//!    more: what is decided next is decided at one instant. With a `default`, that is taken. Otherwise a
//!    node of each channel case joins its queue, with the select's [`Claim`], and the select waits.
//!    A select with one channel case is decided by its try alone.
//! 3. Whoever serves a node first wins the claim. The select, woken, locks all channels again and
//!    takes the losing nodes out.
//!
//! A receive case that finds a sender in another select waits for that sender (see
//! `chan/permits.rs`), also if there is a `default`. If that sender declines, the select begins
//! again.
//!
//! Futures that are not channel cases are polled when the select is. Meanwhile nobody may serve its
//! channel cases, since two would be chosen; so the claim says *away* then, with the nodes in
//! their places, and the channels are tried again before it is opened.

use super::case::{Attempt, Kind, Outcome, Will};
use super::list::List;
use super::order::{Order, Shuffle};
use crate::chan::waits::Summoned;
use crate::claim::Claim;
use crate::wakers::Wakers;
use gmp_rt::park::{StorableWaker, StoredWaker, WaitReason, note_wait, poll_go_on};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What a select has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The case with this number.
    Case(usize),
    /// None was ready.
    Default,
}

/// Where a select is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// In no queue.
    Start,
    /// In all queues.
    Queued,
    /// Decided for this case, whose value is still to come.
    Promised(usize),
}

pin_project! {
    /// The future that chooses.
    #[project = ChooseView]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Choose<'l, L: List> {
        list: Pin<&'l mut L>,
        will: Will,
        phase: Phase,
        #[pin]
        claim: Claim,
        locks: Order,
        futures: Futures,
    }

    impl<L: List> PinnedDrop for Choose<'_, L> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            if this.phase != Phase::Start {
                this.project().engine().give_up();
            }
        }
    }
}

/// Whether there are cases that are not channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Futures {
    None,
    Some,
}

impl<L: List> std::fmt::Debug for Choose<'_, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choose").field("phase", &self.phase).finish()
    }
}

/// Chooses among the cases of `list`.
#[inline]
pub fn choose<L: List>(list: Pin<&mut L>, will: Will) -> Choose<'_, L> {
    let (locks, futures) = (Order::default(), Futures::None);
    Choose { list, will, phase: Phase::Start, claim: Claim::new(), locks, futures }
}

impl Kind {
    fn channel(self) -> Option<usize> {
        match self {
            Self::Channel(id) => Some(id),
            Self::Future | Self::Off => None,
        }
    }
}

impl<L: List> Future for Choose<'_, L> {
    type Output = Chosen;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Chosen> {
        ready!(poll_go_on(cx));
        let mut tried = None;
        if self.phase == Phase::Start {
            match self.as_mut().first_try(cx) {
                Tried::Chosen(index) => return Poll::Ready(Chosen::Case(index)),
                other => tried = Some(other),
            }
        }
        let mut engine = self.project().engine();
        let polled = engine.poll(tried, cx);
        if polled.is_pending() {
            let (reason, resource) = engine.wait_reason();
            note_wait(cx, reason, resource);
        }
        polled
    }
}

impl<L: List> Choose<'_, L> {
    /// Nothing is queued: tries each case alone. Not done by the engine, because here the cases are known.
    #[inline]
    fn first_try(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Tried {
        let this = self.project();
        try_each(this.list.as_mut(), *this.will, cx)
    }
}

/// What came of trying each case alone.
enum Tried {
    /// This one is done.
    Chosen(usize),
    /// This one is chosen, its value is to come; its channel is still locked.
    Promised(usize, Wakers),
    /// None, in this order, of which all is drawn.
    None(Shuffle),
}

#[inline]
fn try_each<L: List + ?Sized>(mut list: Pin<&mut L>, will: Will, cx: &mut Context<'_>) -> Tried {
    let mut order = Shuffle::new(list.count());
    while let Some(index) = order.draw() {
        match list.as_mut().try_alone(index, will, cx) {
            Attempt::No(wakers) => wakers.wake_all(),
            Attempt::Done(wakers) => {
                wakers.wake_all();
                return Tried::Chosen(index);
            }
            Attempt::Promised(wakers) => return Tried::Promised(index, wakers),
        }
    }
    Tried::None(order)
}

impl<'s, L: List> ChooseView<'s, '_, L> {
    fn engine(self) -> Engine<'s> {
        Engine {
            list: self.list.as_mut(),
            will: *self.will,
            phase: self.phase,
            claim: self.claim.into_ref().get_ref(),
            locks: self.locks,
            futures: self.futures,
        }
    }
}

/// The select, whatever its cases.
struct Engine<'s> {
    list: Pin<&'s mut dyn List>,
    will: Will,
    phase: &'s mut Phase,
    claim: &'s Claim,
    /// The channel cases, in the order in which their channels are locked. Known after the first
    /// try.
    locks: &'s mut Order,
    futures: &'s mut Futures,
}

/// What is to be done when no channel is locked: waking and dropping may run any code.
#[derive(Default)]
struct After {
    wakers: Wakers,
    /// Not woken instead: a select that wakes itself whenever it is polled would never rest.
    replaced: Option<StoredWaker>,
}

impl After {
    fn drop_later(&mut self, replaced: Option<StoredWaker>) {
        debug_assert!(self.replaced.is_none(), "one waker is replaced per step");
        self.replaced = replaced;
    }

    fn finish(self) {
        self.wakers.wake_all();
        drop(self.replaced);
    }
}

/// What a step of the engine came to.
enum Step {
    Chosen(Chosen),
    Wait,
    /// Nothing is queued: from the beginning.
    Again,
}

impl Engine<'_> {
    /// `tried`: what came of the first try, if nothing is queued.
    fn poll(&mut self, mut tried: Option<Tried>, cx: &mut Context<'_>) -> Poll<Chosen> {
        loop {
            let step = match *self.phase {
                Phase::Start => {
                    let tried = tried.take();
                    let tried =
                        tried.unwrap_or_else(|| try_each(self.list.as_mut(), self.will, cx));
                    self.start(tried, cx)
                }
                Phase::Queued => self.look_again(cx),
                Phase::Promised(index) => self.collect_promise(index, cx),
            };
            match step {
                Step::Chosen(chosen) => return Poll::Ready(chosen),
                Step::Wait => return Poll::Pending,
                Step::Again => {}
            }
        }
    }

    /// What a dump shows: the first channel, of several.
    fn wait_reason(&self) -> (WaitReason, usize) {
        match (self.locks.as_slice().first(), *self.futures) {
            (Some(first), _) => {
                let kind = self.list.look(*first as usize).kind();
                (WaitReason::Select, kind.channel().unwrap_or(0))
            }
            (None, Futures::Some) => (WaitReason::Select, 0),
            (None, Futures::None) => (WaitReason::SelectNoCases, 0),
        }
    }

    /// The channels to lock, each once, in the order of their addresses.
    fn channels(&self) -> impl DoubleEndedIterator<Item = usize> {
        let locks = self.locks.as_slice();
        let id = move |n: usize| self.list.look(locks[n] as usize).kind();
        (0..locks.len()).filter(move |n| *n == 0 || id(*n) != id(n - 1)).map(|n| locks[n] as usize)
    }

    fn lock_all(&self) {
        self.channels().for_each(|index| self.list.look(index).lock());
    }

    /// # Safety
    ///
    /// After [`lock_all`](Self::lock_all).
    unsafe fn unlock_all(&self, after: &mut After) {
        for index in self.channels().rev() {
            // SAFETY: locked, as the caller promises.
            after.wakers.append(unsafe { self.list.look(index).unlock() });
        }
    }

    /// Tries case `index`, whose channel is locked.
    ///
    /// # Safety
    ///
    /// It is.
    unsafe fn attempt(
        &mut self,
        index: usize,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Option<Step> {
        // SAFETY: the caller's promise.
        match unsafe { self.list.as_mut().arm(index).attempt() } {
            Attempt::No(more) => {
                after.wakers.append(more);
                None
            }
            Attempt::Done(more) => {
                after.wakers.append(more);
                // SAFETY: `Queued` only with all channels locked.
                unsafe { self.dequeue_all(after) };
                Some(Step::Chosen(Chosen::Case(index)))
            }
            Attempt::Promised(more) => {
                after.wakers.append(more);
                // SAFETY: as above.
                unsafe { self.dequeue_all(after) };
                // SAFETY: the caller's promise; nothing is queued any more.
                unsafe { self.await_promise(index, Some(waker), after) };
                Some(Step::Wait)
            }
        }
    }

    /// Decides for case `index`, whose value a summoned sender brings. Without a waker the
    /// caller has to collect the value itself.
    ///
    /// # Safety
    ///
    /// Its channel is locked, and nothing is queued.
    unsafe fn await_promise(
        &mut self,
        index: usize,
        waker: Option<&mut StorableWaker<'_>>,
        after: &mut After,
    ) {
        // For the drop.
        self.prepare();
        self.claim.decide(index as u32);
        if let Some(waker) = waker {
            after.drop_later(self.claim.set_waker(waker));
        }
        let arm = self.list.as_mut().arm(index);
        // SAFETY: locked; the claim is pinned with the select, whose drop dequeues.
        unsafe { arm.enqueue(self.claim, index as u32, Summoned::Yes) };
        *self.phase = Phase::Promised(index);
    }

    /// Takes all nodes out, if they are queued.
    ///
    /// # Safety
    ///
    /// The channels of the nodes that are queued are locked.
    unsafe fn dequeue_all(&mut self, after: &mut After) {
        if *self.phase != Phase::Start {
            // SAFETY: the caller's promise.
            unsafe { self.dequeue_but(None, after) };
            *self.phase = Phase::Start;
        }
    }

    /// # Safety
    ///
    /// As [`dequeue_all`](Self::dequeue_all).
    unsafe fn dequeue_but(&mut self, winner: Option<usize>, after: &mut After) {
        for index in self.locks.as_slice() {
            let index = *index as usize;
            if Some(index) != winner {
                // SAFETY: the caller's promise.
                after.wakers.append(unsafe { self.list.as_mut().arm(index).dequeue() });
            }
        }
    }

    /// Nothing is queued: if no case alone was ready, tries all channels at one instant.
    fn start(&mut self, tried: Tried, cx: &Context<'_>) -> Step {
        let order = match tried {
            Tried::Chosen(index) => return Step::Chosen(Chosen::Case(index)),
            // SAFETY: locked by the try.
            Tried::Promised(index, wakers) => unsafe {
                return self.begin_promise(index, wakers, cx);
            },
            Tried::None(order) => order,
        };
        self.prepare();
        if self.will == Will::GoOn && self.locks.as_slice().len() <= 1 {
            // One channel case, tried at one instant. Two, even on the same channel, are not.
            return Step::Chosen(Chosen::Default);
        }
        let mut after = After::default();
        let mut waker = StorableWaker::new(cx.waker());
        self.lock_all();
        // SAFETY: all locked.
        let step = unsafe { self.try_together(&order, &mut waker, &mut after) };
        // SAFETY: locked above.
        unsafe { self.unlock_all(&mut after) };
        after.finish();
        step
    }

    /// Finds out what there is to lock, and in which order.
    fn prepare(&mut self) {
        if !self.locks.as_slice().is_empty() {
            return;
        }
        self.list.as_mut().prepare();
        for index in 0..self.list.count() {
            match self.list.look(index).kind() {
                Kind::Channel(_) => self.locks.push(index as u32),
                Kind::Future => *self.futures = Futures::Some,
                Kind::Off => {}
            }
        }
        let list = &self.list;
        let id = |index: &u32| list.look(*index as usize).kind().channel();
        self.locks.as_mut_slice().sort_unstable_by_key(id);
    }

    /// Decides for case `index`, and unlocks its channel.
    ///
    /// # Safety
    ///
    /// That is locked, and nothing is queued.
    unsafe fn begin_promise(&mut self, index: usize, wakers: Wakers, cx: &Context<'_>) -> Step {
        let mut after = After { wakers, replaced: None };
        let mut waker = StorableWaker::of_goroutine(cx.waker());
        // SAFETY: the caller's promise.
        unsafe { self.await_promise(index, waker.as_mut(), &mut after) };
        // SAFETY: the caller's promise.
        after.wakers.append(unsafe { self.list.look(index).unlock() });
        after.finish();
        match waker {
            Some(_) => Step::Wait,
            // A foreign waker cannot be cloned under the lock.
            None => self.collect_promise(index, cx),
        }
    }

    /// Tries the channels, then takes the default or joins all queues.
    ///
    /// # Safety
    ///
    /// All channels are locked.
    unsafe fn try_together(
        &mut self,
        order: &Shuffle,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Step {
        for index in order.iter() {
            if let Kind::Channel(_) = self.list.look(index).kind() {
                // SAFETY: the caller's promise.
                if let Some(step) = unsafe { self.attempt(index, waker, after) } {
                    return step;
                }
            }
        }
        if self.will == Will::GoOn {
            return Step::Chosen(Chosen::Default);
        }
        if *self.phase == Phase::Queued {
            for index in self.locks.as_slice() {
                // SAFETY: locked.
                unsafe { self.list.look(*index as usize).return_to_queue() };
            }
        } else {
            // In random order: of cases on the same channel the first in its queue wins.
            for index in order.iter() {
                let arm = self.list.as_mut().arm(index);
                if let Kind::Channel(_) = arm.kind() {
                    // SAFETY: locked; the claim is pinned with the select, whose drop dequeues.
                    unsafe { arm.enqueue(self.claim, index as u32, Summoned::No) };
                }
            }
            *self.phase = Phase::Queued;
        }
        after.drop_later(self.claim.reopen(waker));
        Step::Wait
    }

    /// In all queues: woken by a winner, by a future, or for nothing.
    fn look_again(&mut self, cx: &mut Context<'_>) -> Step {
        let mut after = After::default();
        let mut waker = StorableWaker::new(cx.waker());
        self.lock_all();
        // SAFETY: all locked.
        let step = unsafe { self.look(&mut waker, &mut after) };
        // SAFETY: locked above.
        unsafe { self.unlock_all(&mut after) };
        after.finish();
        if let Some(step) = step {
            return step;
        }
        // The futures, while nobody can win.
        let order = Shuffle::drawn(self.list.count());
        let ready = self.poll_futures(&order, cx);
        let mut after = After::default();
        self.lock_all();
        let step = match ready {
            Some(index) => {
                // SAFETY: all locked.
                unsafe { self.dequeue_all(&mut after) };
                Step::Chosen(Chosen::Case(index))
            }
            // SAFETY: all locked.
            None => unsafe { self.try_together(&order, &mut waker, &mut after) },
        };
        // SAFETY: locked above.
        unsafe { self.unlock_all(&mut after) };
        after.finish();
        step
    }

    /// The winner, if there is one; otherwise leaves the claim in the right state. `None`: the
    /// futures are to be polled now.
    ///
    /// # Safety
    ///
    /// All channels are locked.
    unsafe fn look(&mut self, waker: &mut StorableWaker<'_>, after: &mut After) -> Option<Step> {
        if let Some(winner) = self.claim.winner() {
            // SAFETY: the caller's promise.
            return Some(unsafe { self.take_winner(winner as usize, waker, after) });
        }
        if *self.futures == Futures::None {
            after.drop_later(self.claim.set_waker(waker));
            return Some(Step::Wait);
        }
        self.claim.leave();
        None
    }

    /// # Safety
    ///
    /// All channels are locked, and `winner` has won.
    unsafe fn take_winner(
        &mut self,
        winner: usize,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Step {
        // SAFETY: the caller's promise.
        unsafe { self.dequeue_but(Some(winner), after) };
        *self.phase = Phase::Promised(winner);
        // SAFETY: the caller's promise.
        unsafe { self.collect(winner, waker, after) }
    }

    /// Decided: looks whether the value has come.
    fn collect_promise(&mut self, index: usize, cx: &Context<'_>) -> Step {
        let mut after = After::default();
        let mut waker = StorableWaker::new(cx.waker());
        self.list.look(index).lock();
        // SAFETY: locked.
        let step = unsafe { self.collect(index, &mut waker, &mut after) };
        // SAFETY: locked above.
        after.wakers.append(unsafe { self.list.look(index).unlock() });
        after.finish();
        step
    }

    /// # Safety
    ///
    /// The channel of case `index`, which has won, is locked; it alone is queued.
    unsafe fn collect(
        &mut self,
        index: usize,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Step {
        // SAFETY: the caller's promise.
        match unsafe { self.list.as_mut().arm(index).collect() } {
            Outcome::Waiting => {
                after.drop_later(self.claim.set_waker(waker));
                return Step::Wait;
            }
            Outcome::Done => *self.phase = Phase::Start,
            Outcome::Again => {
                *self.phase = Phase::Start;
                return Step::Again;
            }
        }
        Step::Chosen(Chosen::Case(index))
    }

    fn poll_futures(&mut self, order: &Shuffle, cx: &mut Context<'_>) -> Option<usize> {
        order.iter().find(|index| {
            self.list.look(*index).kind() == Kind::Future
                && self.list.as_mut().arm(*index).poll(cx).is_ready()
        })
    }

    /// Dropped while queued: leaves all queues, and passes on what it was given.
    fn give_up(&mut self) {
        let mut after = After::default();
        self.lock_all();
        // SAFETY: all locked.
        unsafe {
            self.dequeue_all(&mut after);
            self.unlock_all(&mut after);
        }
        after.finish();
    }
}
