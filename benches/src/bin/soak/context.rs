//! The surroundings of an operation: its runtime, its random numbers, the shared objects.

use crate::commons::Commons;
use crate::coverage::{End, did};
use crate::home::{Child, From, Home};
use crate::rand::Rand;
use crate::violation::{EXPECTED, violation};
use crate::world::the_world;
use std::sync::Arc;

/// The surroundings of one operation.
#[derive(Debug)]
pub(crate) struct Cx {
    /// The runtime around the operation.
    pub(crate) home: Home,
    pub(crate) rand: Rand,
    pub(crate) commons: Arc<Commons>,
}

impl Cx {
    /// Returns the surroundings for another goroutine of the same runtime.
    pub(crate) fn fork(&mut self) -> Self {
        Self { home: self.home.clone(), rand: self.rand.fork(), commons: self.commons.clone() }
    }

    /// Starts a goroutine on the runtime around the operation.
    #[track_caller]
    pub(crate) fn spawn<F>(&mut self, future: F) -> Child<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.home.spawn(From::Ambient, &mut self.rand, future)
    }

    /// Starts a goroutine on the runtime around the operation, or on another one of the run.
    /// `body` gets the surroundings there.
    #[track_caller]
    pub(crate) fn spawn_anywhere<F>(&mut self, body: impl FnOnce(Self) -> F) -> Child<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let mut inner = self.fork();
        if self.rand.once_in(4) {
            let home = self.rand.pick(&the_world().homes);
            inner.home = home.clone();
            home.spawn(From::Elsewhere, &mut self.rand, body(inner))
        } else {
            self.spawn(body(inner))
        }
    }

    /// Waits a short random time, in one of several ways.
    pub(crate) async fn pause(&mut self) {
        match self.rand.below(4) {
            0 => {}
            1 => gmp::yield_now().await,
            2 => gmp::sleep(self.rand.micros(500)).await,
            _ => {
                for _ in 0..self.rand.below(8) {
                    gmp::yield_now().await;
                }
            }
        }
    }
}

/// Waits for a goroutine. Only expected panics and cancellations are allowed.
pub(crate) async fn join<T>(child: Child<T>) -> Option<T> {
    match child.join().await {
        Ok(output) => {
            did("JoinHandle::await", End::Ok);
            Some(output)
        }
        Err(gmp::JoinError::Panic(panic)) => {
            if !panic.message().contains(EXPECTED) {
                violation(format!("a goroutine panicked: {}", panic.message()));
            }
            did("JoinHandle::await", End::Panicked);
            None
        }
        Err(error) => {
            if !error.is_cancelled() {
                violation(format!("a join returned {error:?}"));
            }
            did("JoinHandle::await", End::Cancelled);
            None
        }
    }
}

/// Aborts a goroutine.
pub(crate) fn abort<T>(child: &Child<T>) {
    child.handle.abort();
    did("JoinHandle::abort", End::Ok);
}
