//! The tree of scopes: ending a scope ends all scopes below it.
//!
//! A scope refers to its children weakly, in a slab, and to its parent strongly. So a child whose
//! last reference is dropped leaves its parent at once, and a parent lives as long as its children.
//! Waiting futures are in the scope's queue, and calls of `after_func` in a second slab. The
//! scope's lock guards all of this. No thread holds two locks of a tree at once.
//!
//! [`Scope::end`] walks the tree in a loop, without recursion, and in two passes. The first pass
//! ends each scope, which is then *ending* and still has its children. The second pass runs when
//! all scopes below have ended. It removes the children, and the scope is *ended*. A concurrent
//! call of `cancel` that finds a scope ending walks its children too. So no call of `cancel`
//! returns before all scopes below have ended, whichever call ended them. Waiters are woken and
//! calls made only after that, so they see the same. Go holds the locks of a whole path for this,
//! by recursion.
//!
//! # Orderings
//!
//! `ended` is stored under the lock with `Release`, and loaded without the lock with `Acquire`. So
//! a thread that sees that a scope has ended sees the writes before that.

use super::error::{Cause, ContextError};
use crate::wait::queue::Queue;
use crate::wait::wakers::Wakers;
use gmp_rt::prim::{AtomicU8, Mutex, Ordering};
use gmp_rt::task::park::after_func_always;
use gmp_rt::time::AfterFunc;
use slab::Slab;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// A call that is made once, when a scope ends.
pub(super) type ScopeCall = Box<dyn FnOnce() + Send>;

/// Capacity above which an empty slab is replaced by a new one, so that a burst of children does
/// not keep the memory of a long-lived parent. Chosen.
const ROOMY: usize = 64;

/// A node of the tree, which can be cancelled.
pub(super) struct Scope {
    /// Taken only when the scope is dropped.
    parent: Option<Arc<Scope>>,
    /// The earliest of its own deadline and those of its ancestors.
    deadline: Option<Instant>,
    /// [`LIVE`], or why it has ended. Written under the lock.
    ended: AtomicU8,
    state: Mutex<ScopeState>,
}

const LIVE: u8 = 0;
const CANCELED: u8 = 1;
const DEADLINE_EXCEEDED: u8 = 2;

/// The data that the lock of a scope guards.
pub(super) struct ScopeState {
    life: Life,
    cause: Option<Cause>,
    /// Key of this scope in the parent's slab of children.
    place: Option<usize>,
    fuse: Option<Fuse>,
    children: Slab<Weak<Scope>>,
    calls: Slab<ScopeCall>,
    waiting: Queue<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Live,
    /// Ended, but scopes below it may not have.
    Ending,
    /// Ended, with all scopes below it.
    Ended,
}

/// The timer of a deadline.
struct Fuse {
    timer: AfterFunc,
    hold: Hold,
    cause: Option<Cause>,
}

/// How a timer refers to its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// The timer has no effect if all owners have dropped the scope.
    Weak,
    /// The timer keeps the scope: its `after_func` calls must be made.
    Strong,
}

/// Numbers of dependants of a scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependants {
    pub(super) children: usize,
    pub(super) calls: usize,
}

/// Why a scope ends.
#[derive(Clone)]
pub(super) struct ScopeEnd {
    why: ContextError,
    cause: Option<Cause>,
}

impl ScopeEnd {
    pub(super) fn new(why: ContextError, cause: Option<Cause>) -> Self {
        Self { why, cause }
    }

    /// Returns the given cause, or the plain reason.
    pub(super) fn into_cause(self) -> Cause {
        self.cause.unwrap_or_else(|| Arc::new(self.why))
    }
}

/// Work for the time when all scopes have ended and no lock is held.
#[derive(Default)]
#[must_use = "its wakers and calls are lost otherwise"]
struct Aftermath {
    wakers: Wakers,
    calls: Vec<ScopeCall>,
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
        // Dropped last: a cause is user code, whose drop may panic.
        drop(self.fuses);
    }
}

impl ScopeState {
    pub(super) fn waiting(&mut self) -> &mut Queue<()> {
        &mut self.waiting
    }

    pub(super) fn is_live(&self) -> bool {
        self.life == Life::Live
    }

    fn take_calls(&mut self) -> Slab<ScopeCall> {
        std::mem::take(&mut self.calls)
    }

    /// Removes a child and returns it, to be dropped after the lock is released.
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
    /// Creates a scope below `parent`, ended if `parent` is. `deadline` is only stored;
    /// [`set_fuse`](Self::set_fuse) sets the timer.
    pub(super) fn new(parent: Option<Arc<Self>>, deadline: Option<Instant>) -> Arc<Self> {
        let state = ScopeState {
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

    /// Adds itself to its parent's children, or ends as the parent has ended.
    fn attach(self: &Arc<Self>) {
        let Some(parent) = &self.parent else { return };
        let place = parent
            .with(|state| state.is_live().then(|| state.children.insert(Arc::downgrade(self))));
        match place {
            // The parent may have ended this scope meanwhile. Then the key has no use and no
            // effect.
            Some(place) => self.with(|state| state.place = Some(place)),
            None => self.end(parent.how().expect("not live, so ended")),
        }
    }

    /// Runs `f` under the lock.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut ScopeState) -> R) -> R {
        f(&mut self.state.lock())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns why it has ended, if it has. Takes no lock.
    #[inline]
    pub(super) fn err(&self) -> Option<ContextError> {
        // Acquire: pairs with the Release in `end_one`.
        match self.ended.load(Ordering::Acquire) {
            LIVE => None,
            CANCELED => Some(ContextError::Cancelled),
            _ => Some(ContextError::DeadlineExceeded),
        }
    }

    /// Returns why and with which cause it has ended, if it has.
    pub(super) fn how(&self) -> Option<ScopeEnd> {
        let why = self.err()?;
        // Written before `ended`, in the same critical section.
        Some(ScopeEnd { why, cause: self.with(|state| state.cause.clone()) })
    }

    /// Ends the scope and all below it, unless they have ended. On return all of them have ended.
    pub(super) fn end(self: &Arc<Self>, end: ScopeEnd) {
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

    /// Ends one scope if it is live, and adds its children to `below`.
    fn end_one(&self, end: &ScopeEnd, below: &mut Vec<Arc<Self>>, after: &mut Aftermath) {
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
                    ContextError::Cancelled => CANCELED,
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
        // A child that is being dropped need not be ended: see `depart`.
        below.extend(state.children.iter().filter_map(|(_, child)| child.upgrade()));
    }

    /// Removes the children, when all scopes below have ended.
    fn forget_children(&self) {
        // Dropped after the lock is released.
        let _children = self.with(|state| {
            state.life = Life::Ended;
            std::mem::take(&mut state.children)
        });
    }

    /// Removes itself from its parent's children.
    fn detach(&self) {
        let Some(parent) = &self.parent else { return };
        if let Some(place) = self.with(|state| state.place.take()) {
            drop(parent.with(|state| state.remove_child(place)));
        }
    }

    /// Sets the timer that ends the scope at its deadline.
    pub(super) fn set_fuse(self: &Arc<Self>, cause: Option<Cause>) {
        self.light(Hold::Weak, cause);
    }

    fn light(self: &Arc<Self>, hold: Hold, cause: Option<Cause>) {
        let Some(deadline) = self.deadline else { return };
        let end = ScopeEnd::new(ContextError::DeadlineExceeded, cause.clone());
        let left = deadline.saturating_duration_since(Instant::now());
        let timer = match hold {
            Hold::Weak => {
                let scope = Arc::downgrade(self);
                after_func_always(left, move || {
                    if let Some(scope) = scope.upgrade() {
                        scope.end(end);
                    }
                })
            }
            Hold::Strong => {
                let scope = self.clone();
                after_func_always(left, move || scope.end(end))
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

    /// Makes the timer hold the scope strongly if there are calls to make, weakly otherwise.
    ///
    /// With a strong timer, scope and timer refer to each other until the deadline, the end of the
    /// scope, or the stop of the last call.
    fn update_hold(self: &Arc<Self>) {
        loop {
            let (fuse, wanted) = self.with(|state| {
                let wanted = if state.calls.is_empty() { Hold::Weak } else { Hold::Strong };
                (state.fuse.take_if(|fuse| fuse.hold != wanted), wanted)
            });
            // The hold is right, or there is no timer, or another thread has taken it and checks
            // again.
            let Some(fuse) = fuse else { return };
            if !fuse.timer.stop() {
                // The timer is firing.
                return;
            }
            self.light(wanted, fuse.cause);
        }
    }

    /// Adds a call to make when the scope ends. Returns the call as the error if the scope has
    /// ended.
    pub(super) fn add_call(self: &Arc<Self>, call: ScopeCall) -> Result<usize, ScopeCall> {
        let key = self.with(|state| match state.life {
            Life::Live => Ok(state.calls.insert(call)),
            _ => Err(call),
        })?;
        self.update_hold();
        Ok(key)
    }

    /// Removes a call. Returns `None` if it was made or removed before.
    pub(super) fn remove_call(self: &Arc<Self>, key: usize) -> Option<ScopeCall> {
        let call = self.with(|state| {
            let call = state.calls.try_remove(key);
            if state.calls.is_empty() && state.calls.capacity() > ROOMY {
                state.calls = Slab::new();
            }
            call
        })?;
        self.update_hold();
        Some(call)
    }

    /// Returns the numbers of current dependants.
    pub(super) fn dependants(&self) -> Dependants {
        self.with(|state| Dependants { children: state.children.len(), calls: state.calls.len() })
    }

    /// Stops the timer, leaves the parent and moves the calls to it. The last reference was
    /// dropped. Without a parent nothing can end the scope any more, and the calls are dropped.
    fn depart(&mut self) -> Option<Arc<Self>> {
        let (place, fuse, calls) =
            self.with(|state| (state.place.take(), state.fuse.take(), state.take_calls()));
        // Dropped last: a cause is user code, whose drop may panic.
        if let Some(fuse) = &fuse {
            fuse.timer.stop();
        }
        let parent = self.parent.take()?;
        if let Some(place) = place {
            drop(parent.with(|state| state.remove_child(place)));
        }
        for (_, call) in calls {
            // The parent may have ended without finding this scope.
            if let Err(call) = parent.add_call(call) {
                call();
            }
        }
        Some(parent)
    }
}

impl Drop for Scope {
    /// Runs in a loop: recursion would overflow the stack in a deep tree.
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
