//! The choice among the cases of a select (Go: `selectgo`).
//!
//! 1. Each case that may be ready is tried on its own, in random order unless the select is biased.
//!    An empty channel costs one load, and a ready one costs one lock. A future is polled.
//! 2. If none is ready, all channels are locked in the order of their addresses and tried once
//!    more. So the next decision is made at one instant. If there is a `default`, it is taken.
//!    Otherwise a node of each channel case joins its queue, with the select's [`Claim`], and the
//!    select waits. If a select with a `default` has at most one channel case, the first try is
//!    enough.
//! 3. The first peer that serves a node wins the claim. The woken select locks all channels again
//!    and removes the losing nodes.
//!
//! A receive case that finds a sender in another select waits for that sender (see
//! `chan/permits.rs`), even if there is a `default`. If that sender declines, the select begins
//! again.
//!
//! Futures that are not channel cases are polled when the select is polled. Meanwhile no peer may
//! serve its channel cases, because two cases would be chosen. So the claim is *away* then. The
//! nodes stay in their queues, and the channels are tried again before the claim is opened.

use super::case::{Attempt, Kind, Outcome, Will};
use super::list::List;
use super::order::{Candidates, Locks, Order};
use crate::chan::queue::Summoned;
use crate::wait::claim::Claim;
use crate::wait::wakers::Wakers;
use gmp_rt::task::park::{StorableWaker, StoredWaker, WaitReason, note_wait, poll_proceed};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The choice of a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The case with this number.
    Case(usize),
    /// No case was ready.
    Default,
}

/// State of a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectPhase {
    /// In no queue.
    Start,
    /// In all queues.
    Queued,
    /// Decided for this case, whose value has not arrived yet.
    Promised(usize),
}

pin_project! {
    /// The future that chooses.
    #[project = ChooseView]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Choose<'l, L: List> {
        list: Pin<&'l mut L>,
        will: Will,
        phase: SelectPhase,
        #[pin]
        claim: Claim,
        locks: Locks,
        futures: Futures,
    }

    impl<L: List> PinnedDrop for Choose<'_, L> {
        #[inline]
        fn drop(this: Pin<&mut Self>) {
            if this.phase != SelectPhase::Start {
                this.project().engine().give_up();
            }
        }
    }
}

/// Whether there are cases that are not channel cases.
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
    let (locks, futures) = (Locks::default(), Futures::None);
    Choose { list, will, phase: SelectPhase::Start, claim: Claim::new(), locks, futures }
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
        ready!(poll_proceed(cx));
        let mut tried = None;
        if self.phase == SelectPhase::Start {
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
    /// Tries each case alone, before anything is queued. Here and not in the engine, because here
    /// the types of the cases are known.
    #[inline]
    fn first_try(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Tried {
        let this = self.project();
        try_each(this.list.as_mut(), *this.will, cx)
    }
}

/// Result of trying each case alone.
enum Tried {
    /// This case is chosen and done.
    Chosen(usize),
    /// This case is chosen, and its value has not arrived yet. Its channel is still locked.
    Promised(usize, Wakers),
    /// No case was ready.
    None,
}

#[inline]
fn try_each<L: List + ?Sized>(mut list: Pin<&mut L>, will: Will, cx: &mut Context<'_>) -> Tried {
    let mut candidates = Candidates::of(&*list, will);
    while let Some(index) = candidates.draw(&*list) {
        match list.as_mut().try_alone(index, will, cx) {
            Attempt::No(wakers) => wakers.wake_all(),
            Attempt::Done(wakers) => {
                wakers.wake_all();
                return Tried::Chosen(index);
            }
            Attempt::Promised(wakers) => return Tried::Promised(index, wakers),
        }
    }
    Tried::None
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

/// A select without the types of its cases.
struct Engine<'s> {
    list: Pin<&'s mut dyn List>,
    will: Will,
    phase: &'s mut SelectPhase,
    claim: &'s Claim,
    /// The channel cases, in the order in which their channels are locked. Set by `prepare`.
    locks: &'s mut Locks,
    futures: &'s mut Futures,
}

/// Work for the time when no channel is locked, because wakers may run any code.
#[derive(Default)]
struct After {
    wakers: Wakers,
    /// Dropped and not woken: a select that wakes itself at each poll would never sleep.
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

/// Result of a step of the engine.
enum Step {
    Chosen(Chosen),
    Wait,
    /// Nothing is queued: begin again.
    Again,
}

impl Engine<'_> {
    /// Runs steps until the select has chosen or waits. `tried` is the result of the first try, if
    /// nothing is queued.
    fn poll(&mut self, mut tried: Option<Tried>, cx: &mut Context<'_>) -> Poll<Chosen> {
        loop {
            let step = match *self.phase {
                SelectPhase::Start => {
                    let tried = tried.take();
                    let tried =
                        tried.unwrap_or_else(|| try_each(self.list.as_mut(), self.will, cx));
                    self.start(tried, cx)
                }
                SelectPhase::Queued => self.look_again(cx),
                SelectPhase::Promised(index) => self.collect_promise(index, cx),
            };
            match step {
                Step::Chosen(chosen) => return Poll::Ready(chosen),
                Step::Wait => return Poll::Pending,
                Step::Again => {}
            }
        }
    }

    /// Returns what a dump shows; with several channels, the first one.
    fn wait_reason(&self) -> (WaitReason, usize) {
        match (self.locks.cases().next(), *self.futures) {
            (Some(first), _) => {
                let kind = self.list.look(first).kind();
                (WaitReason::Select, kind.channel().unwrap_or(0))
            }
            (None, Futures::Some) => (WaitReason::Select, 0),
            (None, Futures::None) => (WaitReason::SelectNoCases, 0),
        }
    }

    fn lock_all(&self) {
        self.locks.channels().for_each(|index| self.list.look(index).lock());
    }

    /// # Safety
    ///
    /// The caller has called [`lock_all`](Self::lock_all).
    unsafe fn unlock_all(&self, after: &mut After) {
        for index in self.locks.channels().rev() {
            // SAFETY: locked, guaranteed by the caller.
            after.wakers.append(unsafe { self.list.look(index).unlock() });
        }
    }

    /// Tries case `index`, whose channel is locked.
    ///
    /// # Safety
    ///
    /// The channel is locked by this thread.
    unsafe fn attempt(
        &mut self,
        index: usize,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Option<Step> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.list.as_mut().arm(index).attempt() } {
            Attempt::No(more) => {
                after.wakers.append(more);
                None
            }
            Attempt::Done(more) => {
                after.wakers.append(more);
                // SAFETY: the phase is `Queued` only if all channels are locked.
                unsafe { self.dequeue_all(after) };
                Some(Step::Chosen(Chosen::Case(index)))
            }
            Attempt::Promised(more) => {
                after.wakers.append(more);
                // SAFETY: as above.
                unsafe { self.dequeue_all(after) };
                // SAFETY: guaranteed by the caller; nothing is queued any more.
                unsafe { self.await_promise(index, Some(waker), after) };
                Some(Step::Wait)
            }
        }
    }

    /// Decides for case `index`, whose value comes from a summoned sender. Without a waker the
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
        // The drop needs the locks.
        self.prepare();
        self.claim.decide(index as u32);
        if let Some(waker) = waker {
            after.drop_later(self.claim.set_waker(waker));
        }
        let arm = self.list.as_mut().arm(index);
        // SAFETY: locked; the claim is pinned with the select, whose drop dequeues.
        unsafe { arm.enqueue(self.claim, index as u32, Summoned::Yes) };
        *self.phase = SelectPhase::Promised(index);
    }

    /// Removes all nodes from their queues, if they are queued.
    ///
    /// # Safety
    ///
    /// The channels of all queued nodes are locked.
    unsafe fn dequeue_all(&mut self, after: &mut After) {
        if *self.phase != SelectPhase::Start {
            // SAFETY: guaranteed by the caller.
            unsafe { self.dequeue_but(None, after) };
            *self.phase = SelectPhase::Start;
        }
    }

    /// # Safety
    ///
    /// As [`dequeue_all`](Self::dequeue_all).
    unsafe fn dequeue_but(&mut self, winner: Option<usize>, after: &mut After) {
        for index in self.locks.cases() {
            if Some(index) != winner {
                // SAFETY: guaranteed by the caller.
                after.wakers.append(unsafe { self.list.as_mut().arm(index).dequeue() });
            }
        }
    }

    /// Continues after the first try: if no case was ready, tries all channels at one instant.
    fn start(&mut self, tried: Tried, cx: &Context<'_>) -> Step {
        match tried {
            Tried::Chosen(index) => return Step::Chosen(Chosen::Case(index)),
            // SAFETY: locked by the try.
            Tried::Promised(index, wakers) => unsafe {
                return self.begin_promise(index, wakers, cx);
            },
            Tried::None => {}
        }
        self.prepare();
        if self.will == Will::GoOn && self.locks.len() <= 1 {
            // At most one channel case, tried at one instant. Two cases, even on the same channel,
            // were tried at two.
            return Step::Chosen(Chosen::Default);
        }
        let mut after = After::default();
        let mut waker = StorableWaker::new(cx.waker());
        let order = Order::of(&*self.list);
        self.lock_all();
        // SAFETY: all locked.
        let step = unsafe { self.try_together(&order, &mut waker, &mut after) };
        // SAFETY: locked above.
        unsafe { self.unlock_all(&mut after) };
        after.finish();
        step
    }

    /// Collects the channels to lock, and sorts them.
    fn prepare(&mut self) {
        if self.locks.len() != 0 {
            return;
        }
        self.list.as_mut().prepare();
        *self.locks = Locks::of(&*self.list);
        let is_future = |index| self.list.look(index).kind() == Kind::Future;
        if self.locks.len() < self.list.count() && (0..self.list.count()).any(is_future) {
            *self.futures = Futures::Some;
        }
    }

    /// Decides for case `index`, and unlocks its channel.
    ///
    /// # Safety
    ///
    /// The channel is locked by this thread, and nothing is queued.
    unsafe fn begin_promise(&mut self, index: usize, wakers: Wakers, cx: &Context<'_>) -> Step {
        let mut after = After { wakers, replaced: None };
        let mut waker = StorableWaker::of_goroutine(cx.waker());
        // SAFETY: guaranteed by the caller.
        unsafe { self.await_promise(index, waker.as_mut(), &mut after) };
        // SAFETY: guaranteed by the caller.
        after.wakers.append(unsafe { self.list.look(index).unlock() });
        after.finish();
        match waker {
            Some(_) => Step::Wait,
            // A foreign waker cannot be cloned under the lock, so it is stored here.
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
        order: &Order,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Step {
        for index in order.iter() {
            if let Kind::Channel(_) = self.list.look(index).kind() {
                // SAFETY: guaranteed by the caller.
                if let Some(step) = unsafe { self.attempt(index, waker, after) } {
                    return step;
                }
            }
        }
        if self.will == Will::GoOn {
            return Step::Chosen(Chosen::Default);
        }
        if *self.phase == SelectPhase::Queued {
            for index in self.locks.cases() {
                // SAFETY: locked.
                unsafe { self.list.look(index).return_to_queue() };
            }
        } else {
            // In the same order, because of several cases on one channel the first in its queue
            // wins.
            for index in order.iter() {
                let arm = self.list.as_mut().arm(index);
                if let Kind::Channel(_) = arm.kind() {
                    // SAFETY: locked; the claim is pinned with the select, whose drop dequeues.
                    unsafe { arm.enqueue(self.claim, index as u32, Summoned::No) };
                }
            }
            *self.phase = SelectPhase::Queued;
        }
        after.drop_later(self.claim.reopen(waker));
        Step::Wait
    }

    /// Continues a queued select, which was woken by a winner, by a future, or spuriously.
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
        // Polls the futures while no peer can win.
        let order = Order::of(&*self.list);
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

    /// Collects the winner, if there is one. Otherwise updates the claim. Returns `None` if the
    /// futures have to be polled now.
    ///
    /// # Safety
    ///
    /// All channels are locked.
    unsafe fn look(&mut self, waker: &mut StorableWaker<'_>, after: &mut After) -> Option<Step> {
        if let Some(winner) = self.claim.winner() {
            // SAFETY: guaranteed by the caller.
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
        // SAFETY: guaranteed by the caller.
        unsafe { self.dequeue_but(Some(winner), after) };
        *self.phase = SelectPhase::Promised(winner);
        // SAFETY: guaranteed by the caller.
        unsafe { self.collect(winner, waker, after) }
    }

    /// Checks whether the value of the chosen case has arrived.
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
    /// The channel of case `index`, which has won, is locked, and only this case is queued.
    unsafe fn collect(
        &mut self,
        index: usize,
        waker: &mut StorableWaker<'_>,
        after: &mut After,
    ) -> Step {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.list.as_mut().arm(index).collect() } {
            Outcome::Waiting => {
                after.drop_later(self.claim.set_waker(waker));
                return Step::Wait;
            }
            Outcome::Done => *self.phase = SelectPhase::Start,
            Outcome::Again => {
                *self.phase = SelectPhase::Start;
                return Step::Again;
            }
        }
        Step::Chosen(Chosen::Case(index))
    }

    fn poll_futures(&mut self, order: &Order, cx: &mut Context<'_>) -> Option<usize> {
        order.iter().find(|index| {
            self.list.look(*index).kind() == Kind::Future
                && self.list.as_mut().arm(*index).poll(cx).is_ready()
        })
    }

    /// Leaves all queues when the select is dropped, and passes on what it was given.
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
