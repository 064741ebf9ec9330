//! The tree in which contexts end: what can be cancelled, and all below it with it.
//!
//! A scope has its children by weak reference, in a slab, and its parent by a counted one: a
//! child that nobody has any more leaves its parent at once, and a parent lives as long as a
//! child may ask it. Waiting futures lie in the scope's queue, calls of `after_func` in a slab of
//! its own. All that is under the scope's lock; no two locks of a tree are held together.
//!
//! [`Scope::end`] walks the tree in a loop, not by recursion, and in two passes. The first ends
//! each scope, which is then *ending*: it still knows its children. The second, with all below
//! ended, lets it forget them: it is *ended*. Whoever comes to cancel meanwhile and finds a scope
//! ending walks its children too, so that no call of `cancel` returns before all below have ended,
//! whoever ended them. Only then are waiters woken and calls made, so they see the same.
//! Go holds the locks of a whole path for that, by recursion.
//!
//! # Orderings
//!
//! `ended` is stored under the lock, with `Release`, and loaded without, with `Acquire`: who sees
//! that a scope has ended sees what was done before.

use super::error::{Cause, ContextError};
use crate::waitq::Queue;
use crate::wakers::Wakers;
use gmp_rt::AfterFunc;
use gmp_rt::prim::{AtomicU8, Mutex, Ordering};
use slab::Slab;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// A call to make, once, when a scope ends.
pub(super) type Call = Box<dyn FnOnce() + Send>;

/// From this many places on, a set of children that has become empty is made anew: a burst of
/// children must not cost a long-lived parent its memory for ever.
const ROOMY: usize = 64;

/// What can be cancelled.
pub(super) struct Scope {
    /// Taken only as the scope is dropped.
    parent: Option<Arc<Scope>>,
    /// When it ends at the latest: its own deadline, or that of an ancestor.
    deadline: Option<Instant>,
    /// [`LIVE`], or why it has ended. Written under the lock.
    ended: AtomicU8,
    state: Mutex<State>,
}

const LIVE: u8 = 0;
const CANCELED: u8 = 1;
const DEADLINE_EXCEEDED: u8 = 2;

/// What the lock of a scope guards.
pub(super) struct State {
    life: Life,
    cause: Option<Cause>,
    /// Where the parent has it among its children.
    place: Option<usize>,
    fuse: Option<Fuse>,
    children: Slab<Weak<Scope>>,
    calls: Slab<Call>,
    waiting: Queue<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Live,
    /// Ended, but not all below it may have.
    Ending,
    /// Ended with all below it.
    Ended,
}

/// The timer of a deadline.
struct Fuse {
    timer: AfterFunc,
    hold: Hold,
    cause: Option<Cause>,
}

/// How a timer has its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// A scope that everybody has dropped is of no interest.
    Weak,
    /// Somebody wants a call when it ends, even if nobody has it any more.
    Strong,
}

/// How many depend on a scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependants {
    pub(super) children: usize,
    pub(super) calls: usize,
}

/// Why a scope ends.
#[derive(Clone)]
pub(super) struct End {
    why: ContextError,
    cause: Option<Cause>,
}

impl End {
    pub(super) fn new(why: ContextError, cause: Option<Cause>) -> Self {
        Self { why, cause }
    }

    /// The cause given, or the plain reason.
    pub(super) fn into_cause(self) -> Cause {
        self.cause.unwrap_or_else(|| Arc::new(self.why))
    }
}

/// What is left to do when all have ended and no lock is held.
#[derive(Default)]
#[must_use = "somebody waits for this"]
struct Aftermath {
    wakers: Wakers,
    calls: Vec<Call>,
    fuses: Vec<Fuse>,
}

impl Aftermath {
    fn see_to(self) {
        for fuse in &self.fuses {
            fuse.timer.stop();
        }
        self.wakers.wake_all();
        for call in self.calls {
            call();
        }
        // Last: a cause in them is user code, whose drop may panic.
        drop(self.fuses);
    }
}

impl State {
    pub(super) fn waiting(&mut self) -> &mut Queue<()> {
        &mut self.waiting
    }

    pub(super) fn is_live(&self) -> bool {
        self.life == Life::Live
    }

    fn take_calls(&mut self) -> Slab<Call> {
        std::mem::take(&mut self.calls)
    }

    /// Removes a child; what is left of it is to be dropped after the lock is released.
    fn remove_child(&mut self, place: usize) -> Option<Weak<Scope>> {
        if !self.is_live() {
            return None;
        }
        let child = self.children.try_remove(place);
        if self.children.is_empty() && self.children.capacity() > ROOMY {
            self.children = Slab::new();
        }
        child
    }
}

impl Scope {
    /// A scope below `parent`, ended if that is. `deadline` is for those who ask; the timer
    /// is [`set_fuse`](Self::set_fuse).
    pub(super) fn new(parent: Option<Arc<Self>>, deadline: Option<Instant>) -> Arc<Self> {
        let state = State {
            life: Life::Live,
            cause: None,
            place: None,
            fuse: None,
            children: Slab::new(),
            calls: Slab::new(),
            waiting: Queue::default(),
        };
        let (ended, state) = (AtomicU8::new(LIVE), Mutex::new(state));
        let scope = Arc::new(Self { parent, deadline, ended, state });
        scope.attach();
        scope
    }

    /// Becomes a child of its parent, or ends as that has.
    fn attach(self: &Arc<Self>) {
        let Some(parent) = &self.parent else { return };
        let place = parent
            .with(|state| state.is_live().then(|| state.children.insert(Arc::downgrade(self))));
        match place {
            // The parent may have ended us meanwhile: then the place is of no use, and harmless.
            Some(place) => self.with(|state| state.place = Some(place)),
            None => self.end(parent.how().expect("not live, so ended")),
        }
    }

    /// Runs `f` under the lock.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Why it has ended, if it has. Without the lock.
    #[inline]
    pub(super) fn err(&self) -> Option<ContextError> {
        // Acquire: pairs with the Release in `end_one`.
        match self.ended.load(Ordering::Acquire) {
            LIVE => None,
            CANCELED => Some(ContextError::Canceled),
            _ => Some(ContextError::DeadlineExceeded),
        }
    }

    /// Why and with what it has ended, if it has.
    pub(super) fn how(&self) -> Option<End> {
        let why = self.err()?;
        // Written before `ended`, in the same critical section.
        Some(End { why, cause: self.with(|state| state.cause.clone()) })
    }

    /// Ends it and all below it, if that has not happened; when it returns, it has.
    pub(super) fn end(self: &Arc<Self>, end: End) {
        let (mut below, mut after) = (Vec::new(), Aftermath::default());
        self.end_one(&end, &mut below, &mut after);
        let mut next = 0;
        while let Some(scope) = below.get(next).cloned() {
            scope.end_one(&end, &mut below, &mut after);
            next += 1;
        }
        self.forget_children();
        below.iter().for_each(|scope| scope.forget_children());
        self.detach();
        after.see_to();
    }

    /// Ends one scope, if it is live, and adds its children to those to be ended.
    fn end_one(&self, end: &End, below: &mut Vec<Arc<Self>>, after: &mut Aftermath) {
        let mut state = self.state.lock();
        if state.life == Life::Ended {
            return;
        }
        if state.life == Life::Live {
            state.life = Life::Ending;
            state.cause.clone_from(&end.cause);
            // Release: pairs with the Acquire in `err`.
            self.ended.store(
                match end.why {
                    ContextError::Canceled => CANCELED,
                    ContextError::DeadlineExceeded => DEADLINE_EXCEEDED,
                },
                Ordering::Release,
            );
            while let Some(((), fired)) = state.waiting.fire_front(|()| ()) {
                after.wakers.push(fired);
            }
            after.calls.extend(state.take_calls().into_iter().map(|(_, call)| call));
            after.fuses.extend(state.fuse.take());
        }
        // One that is being dropped just now needs no end: see `depart`.
        below.extend(state.children.iter().filter_map(|(_, child)| child.upgrade()));
    }

    /// All below have ended.
    fn forget_children(&self) {
        // Dropped after the lock is released.
        let _children = self.with(|state| {
            state.life = Life::Ended;
            std::mem::take(&mut state.children)
        });
    }

    /// Leaves its parent, which has no more business with it.
    fn detach(&self) {
        let Some(parent) = &self.parent else { return };
        if let Some(place) = self.with(|state| state.place.take()) {
            drop(parent.with(|state| state.remove_child(place)));
        }
    }

    /// Sets the timer that ends it at its deadline.
    pub(super) fn set_fuse(self: &Arc<Self>, cause: Option<Cause>) {
        self.light(Hold::Weak, cause);
    }

    fn light(self: &Arc<Self>, hold: Hold, cause: Option<Cause>) {
        let Some(deadline) = self.deadline else { return };
        let end = End::new(ContextError::DeadlineExceeded, cause.clone());
        let left = deadline.saturating_duration_since(Instant::now());
        let timer = match hold {
            Hold::Weak => {
                let scope = Arc::downgrade(self);
                gmp_rt::after_func(left, move || {
                    if let Some(scope) = scope.upgrade() {
                        scope.end(end.clone());
                    }
                })
            }
            Hold::Strong => {
                let scope = self.clone();
                gmp_rt::after_func(left, move || scope.end(end.clone()))
            }
        };
        let fuse = Fuse { timer, hold, cause };
        let late = self.with(|state| match state.life {
            Life::Live => state.fuse.replace(fuse),
            _ => Some(fuse),
        });
        if let Some(fuse) = late {
            fuse.timer.stop();
        }
    }

    /// Makes the timer hold the scope as it should: strongly if there are calls to make.
    ///
    /// Then the scope has the timer and the timer the scope, until the deadline or the end, or
    /// until the last call is stopped; if the timer's runtime goes down first, for ever.
    fn tend_fuse(self: &Arc<Self>) {
        loop {
            let (fuse, wanted) = self.with(|state| {
                let wanted = if state.calls.is_empty() { Hold::Weak } else { Hold::Strong };
                (state.fuse.take_if(|fuse| fuse.hold != wanted), wanted)
            });
            // Right as it is; or with somebody else who looks again after us; or it has none.
            let Some(fuse) = fuse else { return };
            if !fuse.timer.stop() {
                // It goes off just now.
                return;
            }
            self.light(wanted, fuse.cause);
        }
    }

    /// Lets `call` be made when it ends; gives it back if it has.
    pub(super) fn add_call(self: &Arc<Self>, call: Call) -> Result<usize, Call> {
        let key = self.with(|state| match state.life {
            Life::Live => Ok(state.calls.insert(call)),
            _ => Err(call),
        })?;
        self.tend_fuse();
        Ok(key)
    }

    /// Takes a call back; `None` if it is made, or was taken back before.
    pub(super) fn remove_call(self: &Arc<Self>, key: usize) -> Option<Call> {
        let call = self.with(|state| {
            let call = state.calls.try_remove(key);
            if state.calls.is_empty() && state.calls.capacity() > ROOMY {
                state.calls = Slab::new();
            }
            call
        })?;
        self.tend_fuse();
        Some(call)
    }

    /// Who depends on it just now.
    pub(super) fn dependants(&self) -> Dependants {
        self.with(|state| Dependants { children: state.children.len(), calls: state.calls.len() })
    }

    /// Nobody has it any more: puts out the timer, leaves the parent and leaves it the calls.
    /// Without a parent nobody can end it, and no call will be made.
    fn depart(&mut self) -> Option<Arc<Self>> {
        let (place, fuse, calls) =
            self.with(|state| (state.place.take(), state.fuse.take(), state.take_calls()));
        // Dropped last: a cause in it is user code, whose drop may panic.
        if let Some(fuse) = &fuse {
            fuse.timer.stop();
        }
        let parent = self.parent.take()?;
        if let Some(place) = place {
            drop(parent.with(|state| state.remove_child(place)));
        }
        for (_, call) in calls {
            // The parent may have ended without finding us.
            if let Err(call) = parent.add_call(call) {
                call();
            }
        }
        Some(parent)
    }
}

impl Drop for Scope {
    /// In a loop: a deep tree would overflow the stack by recursion.
    fn drop(&mut self) {
        let mut next = self.depart();
        while let Some(mut scope) = next.and_then(Arc::into_inner) {
            next = scope.depart();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dependants { children, calls } = self.dependants();
        f.debug_struct("Scope")
            .field("err", &self.err())
            .field("children", &children)
            .field("calls", &calls)
            .finish_non_exhaustive()
    }
}
