//! The deadlines of a socket (Go: `setDeadline`).
//!
//! A deadline is a moment for each direction, and an alarm that goes off then or before. Programs move
//! it with every message, nearly always to later; so an alarm that is set too early is left alone, and
//! sets itself anew when it goes off. Moving a deadline is then a store.
//!
//! An alarm that goes off does not say which deadline it was set for: the one that holds now decides, under
//! the lock. So one that goes off while the deadline is being moved can do no harm, and Go's sequence
//! numbers against such are not needed.
//!
//! This file has no loom model: an alarm needs a runtime, which this crate cannot make without its
//! threads. All state here is behind one lock. The races of a deadline with an edge and with a
//! waiter are on the word of the descriptor, and have models in `poll_desc_loom.rs`. The races of
//! an alarm with sleeping Ms have models in `sched/loom.rs` of `gmp-rt`.

use crate::fd::Direction;
use crate::poll_cache::Index;
use crate::poll_desc::{Fault, Side};
use crate::poller::Poller;
use gmp_rt::park::{Alarm, StoredWaker, wake_all};
use gmp_rt::prim::fixed::Mutex;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

/// Whether the socket is still there.
#[derive(Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Alive,
    /// Its descriptor may be another's by now.
    Gone,
}

#[derive(Debug, Default)]
struct Timer {
    deadline: Option<Instant>,
    /// The alarm, and when it goes off: not after the deadline.
    alarm: Option<(Instant, Alarm)>,
}

#[derive(Debug, Default)]
struct State {
    life: Life,
    read: Timer,
    write: Timer,
}

/// The deadlines of one socket; made when the first is set.
#[derive(Debug)]
pub(crate) struct Deadlines {
    poller: Arc<Poller>,
    index: Index,
    state: Mutex<State>,
}

impl Deadlines {
    pub(crate) fn new(poller: Arc<Poller>, index: Index) -> Self {
        Self { poller, index, state: Mutex::default() }
    }

    fn side(&self, direction: Direction) -> &Side {
        direction.side(self.poller.desc(self.index))
    }

    /// Sets the deadline of a direction; `None` is none. Who waits is woken if it has passed.
    pub(crate) fn set(self: &Arc<Self>, direction: Direction, deadline: Option<Instant>) {
        let mut wakers = Vec::new();
        let mut state = self.state.lock();
        state.timer(direction).deadline = deadline;
        let old = self.apply(&mut state, direction, Instant::now(), &mut wakers);
        // A waker is dropped and woken without the lock: it may run any code.
        drop(state);
        drop(old);
        wake_all(wakers);
    }

    /// Makes the descriptor and the alarm agree with the deadline. Returns an alarm that is not needed
    /// any more.
    fn apply(
        self: &Arc<Self>,
        state: &mut State,
        direction: Direction,
        now: Instant,
        wakers: &mut Vec<StoredWaker>,
    ) -> Option<Alarm> {
        let side = self.side(direction);
        let timer = state.timer(direction);
        let Some(deadline) = timer.deadline else {
            side.revive();
            return None;
        };
        if deadline <= now {
            side.fail(Fault::Expired, |waker| wakers.push(waker));
            return None;
        }
        side.revive();
        match &mut timer.alarm {
            Some((at, _)) if *at <= deadline => None,
            Some((at, alarm)) if alarm.reset_to(deadline) => {
                *at = deadline;
                None
            }
            _ => {
                let alarm = Alarm::at(deadline, &Waker::from(self.clone()));
                timer.alarm.replace((deadline, alarm)).map(|(_, old)| old)
            }
        }
    }

    /// The socket goes away: nothing goes off any more.
    pub(crate) fn end(&self) {
        let state = std::mem::replace(
            &mut *self.state.lock(),
            State { life: Life::Gone, ..State::default() },
        );
        drop(state);
    }
}

impl State {
    fn timer(&mut self, direction: Direction) -> &mut Timer {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }
}

/// An alarm went off.
impl Wake for Deadlines {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = Instant::now();
        let (mut wakers, mut old) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        if state.life == Life::Gone {
            return;
        }
        for direction in [Direction::Read, Direction::Write] {
            let timer = state.timer(direction);
            // Which of the two it was does not matter: one that is due has gone off.
            if timer.alarm.as_ref().is_some_and(|(at, _)| *at <= now) {
                old.extend(timer.alarm.take().map(|(_, alarm)| alarm));
            }
            old.extend(self.apply(&mut state, direction, now, &mut wakers));
        }
        drop(state);
        drop(old);
        wake_all(wakers);
    }
}
