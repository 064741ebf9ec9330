//! `Ticket`: one caller's part in a call, given back however the caller ends.

use super::call::{Call, Crew, FiredWith, Role, Turn};
use super::{FlightResult, FlightShared};
use crate::wait::waiter::{Ended, Waiter};
use gmp_rt::task::park::{WaitReason, note_wait, poll_proceed};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A caller's part in a call.
pub(super) struct Ticket<K, V> {
    pub(super) shared: Arc<FlightShared<K, V>>,
    pub(super) call: Arc<Call<K, V>>,
    pub(super) role: Role,
}

impl<K, V: Clone> Ticket<K, V> {
    /// Follows the call, or leads it with `f`, until there is a value.
    pub(super) async fn fly<F, R>(mut self, f: F) -> FlightResult<V>
    where
        F: FnOnce() -> R,
        R: Future<Output = V>,
    {
        if self.role == Role::Follower {
            match follow(self.call.clone()).await {
                Turn::Value(value) => {
                    self.role = Role::Settled;
                    return FlightResult { value: Arc::unwrap_or_clone(value), shared: true };
                }
                Turn::Lead => self.lead(),
            }
        }
        let value = f().await;
        self.land(value)
    }

    fn lead(&mut self) {
        self.role = Role::Leader;
        self.call.with(|state| state.promote());
    }

    /// Ends the call with `value`: followers get it, and new callers begin a new call.
    fn land(mut self, value: V) -> FlightResult<V> {
        self.role = Role::Settled;
        // From here on no caller joins.
        self.shared.remove(&self.call);
        match self.call.finish(value) {
            Ok(value) => FlightResult { value: Arc::unwrap_or_clone(value), shared: true },
            Err(value) => FlightResult { value, shared: false },
        }
    }
}

/// Waits for the value or the lead. The waiter is dropped before the ticket, so that it passes on a
/// lead that it was given before the ticket checks the call.
async fn follow<K, V>(call: Arc<Call<K, V>>) -> Turn<V> {
    let mut waiter = pin!(Waiter::new(call, FiredWith::Nothing));
    poll_fn(|cx| poll_follow(waiter.as_mut(), cx)).await
}

fn poll_follow<K, V>(
    mut waiter: Pin<&mut Waiter<Arc<Call<K, V>>>>,
    cx: &mut Context<'_>,
) -> Poll<Turn<V>> {
    ready!(poll_proceed(cx));
    match waiter.as_mut().poll_wait(cx, |state, _| state.look()) {
        Poll::Pending => {
            let call = Arc::as_ptr(waiter.list());
            note_wait(cx, WaitReason::WaitGroupWait, call.addr());
            Poll::Pending
        }
        Poll::Ready(Ended::AtOnce(turn)) => Poll::Ready(turn),
        Poll::Ready(Ended::Fired) => {
            let fired_with =
                waiter.as_mut().own(|data| std::mem::replace(data, FiredWith::Nothing));
            waiter.reset();
            match fired_with {
                FiredWith::Turn(turn) => Poll::Ready(turn),
                FiredWith::Nothing => unreachable!("it was fired"),
            }
        }
    }
}

impl<K, V> Drop for Ticket<K, V> {
    fn drop(&mut self) {
        if self.role == Role::Settled {
            return;
        }
        // Locks the map first, so that no caller joins a call that is found deserted.
        let (wakers, _forgotten) = self.shared.with(|calls| {
            let (crew, wakers) = self.call.with(|state| state.quit(self.role));
            (wakers, (crew == Crew::Deserted).then(|| calls.remove(&self.call)))
        });
        wakers.wake_all();
    }
}
