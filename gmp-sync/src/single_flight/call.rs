//! `Call`: one call in flight, with its leader and those who follow it.
//!
//! The leader runs it. If the leader is dropped the lead passes to the first follower that
//! waits; if none does, the call is *leaderless* until somebody comes: a follower that had not
//! looked yet, or a new caller. A follower that is dropped just as it was given the lead passes
//! it on.

use crate::waiter::{Abandoned, Home};
use crate::waitq::Queue;
use crate::wakers::Wakers;
use gmp_rt::prim::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) struct Call<K, V> {
    /// The hash of the key.
    hash: u64,
    key: K,
    state: Mutex<State<V>>,
}

/// What the lock of a call guards.
pub(super) struct State<V> {
    phase: Phase<V>,
    /// Those who wait, or will when they are polled.
    followers: usize,
    waiting: Queue<Told<V>>,
}

enum Phase<V> {
    Led,
    Leaderless,
    Done(Arc<V>),
}

/// What a follower was told.
pub(super) enum Told<V> {
    Nothing,
    Turn(Turn<V>),
}

/// What a follower is to do.
pub(super) enum Turn<V> {
    /// Run the call: the one who did is gone.
    Lead,
    /// Take this.
    Value(Arc<V>),
}

/// What one who comes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Leader,
    Follower,
    /// It has its value, and nothing to give back.
    Settled,
}

/// Whether anybody has part in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a deserted call has to be forgotten"]
pub(super) enum Crew {
    Some,
    Deserted,
}

// SAFETY: one lock, one queue behind it, both as old as the call.
unsafe impl<K, V> Home for Call<K, V> {
    type State = State<V>;
    type Data = Told<V>;

    fn with<R>(&self, f: impl FnOnce(&mut State<V>) -> R) -> R {
        Call::with(self, f)
    }

    fn queue(state: &mut State<V>) -> &mut Queue<Told<V>> {
        &mut state.waiting
    }

    fn abandoned(&self, state: &mut State<V>, told: &mut Told<V>, _: Abandoned) -> Wakers {
        match told {
            Told::Turn(Turn::Lead) => state.pass_lead(),
            // A value is everybody's.
            _ => Wakers::None,
        }
    }
}

impl<K, V> Call<K, V> {
    /// A call whose leader is the caller.
    pub(super) fn new(hash: u64, key: K) -> Arc<Self> {
        let state = State { phase: Phase::Led, followers: 0, waiting: Queue::default() };
        Arc::new(Self { hash, key, state: Mutex::new(state) })
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }

    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State<V>) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Takes part.
    pub(super) fn join(&self) -> Role {
        self.with(|state| match state.phase {
            Phase::Leaderless => {
                state.phase = Phase::Led;
                Role::Leader
            }
            Phase::Led | Phase::Done(_) => {
                state.followers += 1;
                Role::Follower
            }
        })
    }

    /// Gives `value` to all who follow; `Err` if nobody does.
    pub(super) fn finish(&self, value: V) -> Result<Arc<V>, V> {
        if self.with(|state| state.followers) == 0 {
            return Err(value);
        }
        let value = Arc::new(value);
        let wakers = self.with(|state| {
            state.phase = Phase::Done(value.clone());
            state.tell_all(&value)
        });
        wakers.wake_all();
        Ok(value)
    }
}

impl<V> State<V> {
    /// What a follower that looks for the first time finds.
    pub(super) fn look(&mut self) -> ControlFlow<Turn<V>> {
        match &self.phase {
            Phase::Led => ControlFlow::Continue(()),
            Phase::Leaderless => {
                self.phase = Phase::Led;
                ControlFlow::Break(Turn::Lead)
            }
            Phase::Done(value) => ControlFlow::Break(Turn::Value(value.clone())),
        }
    }

    /// A follower has become the leader.
    pub(super) fn promote(&mut self) {
        self.followers -= 1;
    }

    /// One who took part is gone without a value.
    pub(super) fn quit(&mut self, role: Role) -> (Crew, Wakers) {
        let wakers = match role {
            Role::Leader => self.pass_lead(),
            Role::Follower => {
                self.followers -= 1;
                Wakers::None
            }
            Role::Settled => Wakers::None,
        };
        let deserted = self.followers == 0 && matches!(self.phase, Phase::Leaderless);
        (if deserted { Crew::Deserted } else { Crew::Some }, wakers)
    }

    fn pass_lead(&mut self) -> Wakers {
        match self.waiting.fire_front(|told| *told = Told::Turn(Turn::Lead)) {
            Some(((), fired)) => fired.into(),
            None => {
                self.phase = Phase::Leaderless;
                Wakers::None
            }
        }
    }

    fn tell_all(&mut self, value: &Arc<V>) -> Wakers {
        let mut wakers = Wakers::None;
        let tell = |told: &mut Told<V>| *told = Told::Turn(Turn::Value(value.clone()));
        while let Some(((), fired)) = self.waiting.fire_front(tell) {
            wakers.push(fired);
        }
        wakers
    }
}
