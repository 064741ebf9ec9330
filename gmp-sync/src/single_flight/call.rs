//! `Call`: one call in flight, with its leader and its followers.
//!
//! The leader runs the call. If the leader is dropped, the lead passes to the first waiting
//! follower. If none waits, the call is *leaderless* until a follower is polled for the first time
//! or a new caller joins. A follower that is dropped after it was given the lead passes it on.

use crate::wait::queue::Queue;
use crate::wait::waiter::{Abandoned, WaitList};
use crate::wait::wakers::Wakers;
use gmp_rt::prim::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) struct Call<K, V> {
    /// The hash of the key.
    hash: u64,
    key: K,
    state: Mutex<FlightState<V>>,
}

/// The data that the lock of a call guards.
pub(super) struct FlightState<V> {
    phase: FlightPhase<V>,
    /// Followers, including those that have not been polled yet.
    followers: usize,
    waiting: Queue<FiredWith<V>>,
}

enum FlightPhase<V> {
    Led,
    Leaderless,
    Done(Arc<V>),
}

/// What a follower was fired with.
pub(super) enum FiredWith<V> {
    Nothing,
    Turn(Turn<V>),
}

/// What a follower has to do.
pub(super) enum Turn<V> {
    /// Run the call, because the leader is gone.
    Lead,
    /// Return this value.
    Value(Arc<V>),
}

/// The role of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Leader,
    Follower,
    /// It has its value, and nothing to give back.
    Settled,
}

/// Whether any caller takes part in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a deserted call has to be forgotten"]
pub(super) enum Crew {
    Some,
    Deserted,
}

// SAFETY: one lock, one queue behind it, both as old as the call.
unsafe impl<K, V> WaitList for Call<K, V> {
    type State = FlightState<V>;
    type Data = FiredWith<V>;

    fn with<R>(&self, f: impl FnOnce(&mut FlightState<V>) -> R) -> R {
        Call::with(self, f)
    }

    fn queue(state: &mut FlightState<V>) -> &mut Queue<FiredWith<V>> {
        &mut state.waiting
    }

    fn abandoned(
        &self,
        state: &mut FlightState<V>,
        fired_with: &mut FiredWith<V>,
        _: Abandoned,
    ) -> Wakers {
        match fired_with {
            FiredWith::Turn(Turn::Lead) => state.pass_lead(),
            // All followers have the value already.
            _ => Wakers::None,
        }
    }
}

impl<K, V> Call<K, V> {
    /// Creates a call whose leader is the caller.
    pub(super) fn new(hash: u64, key: K) -> Arc<Self> {
        let state =
            FlightState { phase: FlightPhase::Led, followers: 0, waiting: Queue::default() };
        Arc::new(Self { hash, key, state: Mutex::new(state) })
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }

    pub(super) fn with<R>(&self, f: impl FnOnce(&mut FlightState<V>) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Joins the call and returns the role.
    pub(super) fn join(&self) -> Role {
        self.with(|state| match state.phase {
            FlightPhase::Leaderless => {
                state.phase = FlightPhase::Led;
                Role::Leader
            }
            FlightPhase::Led | FlightPhase::Done(_) => {
                state.followers += 1;
                Role::Follower
            }
        })
    }

    /// Gives `value` to all followers. Returns it as the error if there are none.
    pub(super) fn finish(&self, value: V) -> Result<Arc<V>, V> {
        if self.with(|state| state.followers) == 0 {
            return Err(value);
        }
        let value = Arc::new(value);
        let wakers = self.with(|state| {
            state.phase = FlightPhase::Done(value.clone());
            state.wake_all(&value)
        });
        wakers.wake_all();
        Ok(value)
    }
}

impl<V> FlightState<V> {
    /// Returns what a follower finds when it is first polled. `Continue` if it has to wait.
    pub(super) fn look(&mut self) -> ControlFlow<Turn<V>> {
        match &self.phase {
            FlightPhase::Led => ControlFlow::Continue(()),
            FlightPhase::Leaderless => {
                self.phase = FlightPhase::Led;
                ControlFlow::Break(Turn::Lead)
            }
            FlightPhase::Done(value) => ControlFlow::Break(Turn::Value(value.clone())),
        }
    }

    /// Counts a follower that has become the leader.
    pub(super) fn promote(&mut self) {
        self.followers -= 1;
    }

    /// Removes a caller that leaves without a value.
    pub(super) fn quit(&mut self, role: Role) -> (Crew, Wakers) {
        let wakers = match role {
            Role::Leader => self.pass_lead(),
            Role::Follower => {
                self.followers -= 1;
                Wakers::None
            }
            Role::Settled => Wakers::None,
        };
        let deserted = self.followers == 0 && matches!(self.phase, FlightPhase::Leaderless);
        (if deserted { Crew::Deserted } else { Crew::Some }, wakers)
    }

    fn pass_lead(&mut self) -> Wakers {
        match self.waiting.fire_front(|fired_with| *fired_with = FiredWith::Turn(Turn::Lead)) {
            Some(((), fired)) => fired.into(),
            None => {
                self.phase = FlightPhase::Leaderless;
                Wakers::None
            }
        }
    }

    fn wake_all(&mut self, value: &Arc<V>) -> Wakers {
        let mut wakers = Wakers::None;
        let give_value = |fired_with: &mut FiredWith<V>| {
            *fired_with = FiredWith::Turn(Turn::Value(value.clone()))
        };
        while let Some(((), fired)) = self.waiting.fire_front(give_value) {
            wakers.push(fired);
        }
        wakers
    }
}
