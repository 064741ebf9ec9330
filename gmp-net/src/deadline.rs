//! The deadlines of a socket (Go: `setDeadline`).
//!
//! Each direction has a deadline and an alarm that fires no later than the deadline. Programs move
//! the deadline with every message, nearly always to a later instant. So an alarm that is set too
//! early stays as it is, and sets itself again when it fires. Moving a deadline then costs an
//! uncontended lock, a clock reading and a CAS, but no change of a timer.
//!
//! An alarm that fires does not say which deadline it was set for, and it fires early if its
//! runtime ends. The current deadline decides, under the lock. So an alarm that fires while the
//! deadline is being moved is harmless, and Go's sequence numbers are not needed.
//!
//! This file has no loom model: an alarm needs a runtime, which this crate cannot make without its
//! threads. All state here is behind one lock. The races of a deadline with an edge and with a
//! waiter are on the word of the descriptor and have models in `poll/desc_loom.rs`. The races of an
//! alarm with sleeping Ms have models in `sched/loom.rs` of `gmp-rt`.

use crate::fd::Direction;
use crate::poll::cache::Index;
use crate::poll::desc::{Fault, Side};
use crate::poll::poller::Poller;
use gmp_rt::prim::fixed::Mutex;
use gmp_rt::task::park::{Alarm, StoredWaker, wake_all};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

/// Whether the socket still exists.
#[derive(Debug, Default, PartialEq, Eq)]
enum AlarmLife {
    #[default]
    Alive,
    /// The descriptor may belong to another socket by now.
    Gone,
}

#[derive(Debug, Default)]
struct DeadlineTimer {
    deadline: Option<Instant>,
    /// The alarm and the instant at which it fires, which is not after the deadline that it was set
    /// for.
    alarm: Option<(Instant, Alarm)>,
}

#[derive(Debug, Default)]
struct DeadlineState {
    life: AlarmLife,
    read: DeadlineTimer,
    write: DeadlineTimer,
}

/// The deadlines of one socket, created when the first one is set.
#[derive(Debug)]
pub(crate) struct Deadlines {
    poller: Arc<Poller>,
    index: Index,
    state: Mutex<DeadlineState>,
}

impl Deadlines {
    pub(crate) fn new(poller: Arc<Poller>, index: Index) -> Self {
        Self { poller, index, state: Mutex::default() }
    }

    fn side(&self, direction: Direction) -> &Side {
        direction.side(self.poller.desc(self.index))
    }

    /// Sets or clears the deadline of a direction. Wakes the waiters if the deadline has passed.
    pub(crate) fn set(self: &Arc<Self>, direction: Direction, deadline: Option<Instant>) {
        let mut wakers = Vec::new();
        let mut state = self.state.lock();
        state.timer(direction).deadline = deadline;
        let old = self.apply(&mut state, direction, Instant::now(), &mut wakers);
        // Without the lock: a waker that is dropped or woken may run any code.
        drop(state);
        drop(old);
        wake_all(wakers);
    }

    /// Makes the descriptor and the alarm agree with the deadline. Returns an alarm that is no
    /// longer needed.
    fn apply(
        self: &Arc<Self>,
        state: &mut DeadlineState,
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

    /// Drops both alarms, because the socket is about to be dropped.
    pub(crate) fn end(&self) {
        let state = std::mem::replace(
            &mut *self.state.lock(),
            DeadlineState { life: AlarmLife::Gone, ..DeadlineState::default() },
        );
        drop(state);
    }
}

impl DeadlineState {
    fn timer(&mut self, direction: Direction) -> &mut DeadlineTimer {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }
}

/// Called when an alarm fires.
impl Wake for Deadlines {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = Instant::now();
        let (mut wakers, mut old) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        if state.life == AlarmLife::Gone {
            return;
        }
        for direction in [Direction::Read, Direction::Write] {
            let timer = state.timer(direction);
            // An alarm that is due has fired. The end of its runtime fires an alarm early.
            if timer.alarm.as_ref().is_some_and(|(at, alarm)| *at <= now || !alarm.is_pending()) {
                old.extend(timer.alarm.take().map(|(_, alarm)| alarm));
            }
            old.extend(self.apply(&mut state, direction, now, &mut wakers));
        }
        drop(state);
        drop(old);
        wake_all(wakers);
    }
}
