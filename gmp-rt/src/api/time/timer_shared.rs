//! `TimerShared`: what those that set a timer share with those that wait for it.
//!
//! Each waiter has an [`Alarm`] of its own, which wakes it when the timer is due. The state of the
//! timer is behind a lock: when it is due, and the list of waiters. The waiter that polls first
//! after that moment takes it.
//!
//! A new time does not touch the alarms of the waiters. If it is earlier, it wakes them, and they
//! set their alarms again. Otherwise an alarm fires too early, at the old time, and its waiter sets
//! it again. So a timer that is moved back often, such as an idle timeout, costs its waiter one
//! wake-up per period, and not one per reset.

use super::alarm::Alarm;
use crate::g::stored::{StorableWaker, StoredWaker};
use crate::g::waker::note_wait;
use crate::prim::fixed::Mutex;
use crate::sched::budget::poll_proceed;
use crate::util::clock;
use crate::wait_reason::WaitReason;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// See the [module](self).
pub(super) struct TimerShared(Mutex<TimerState>);

struct TimerState {
    setting: TimerSetting,
    /// When it is due; [`clock::FOREVER`] if it is off.
    when: u64,
    waiters: TimerWaiters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerSetting {
    /// Its moment has not been taken.
    Set,
    /// Stopped, or its moment has been taken.
    Off,
}

/// The waiters of a timer. A timer itself, as a future, may be here after its task has lost
/// interest.
#[derive(Default)]
struct TimerWaiters {
    /// Not in the vector, because most timers have one waiter.
    first: Option<TimerWaiter>,
    others: Vec<TimerWaiter>,
    /// How many numbers have been given to waiters.
    numbers: u64,
}

/// A task that waits for a timer.
struct TimerWaiter {
    number: u64,
    waker: StoredWaker,
    /// When its alarm wakes it.
    alarm_at: u64,
}

/// The part of a waiter that its future owns. The other part is its [`TimerWaiter`].
#[derive(Debug, Default)]
pub(super) struct OwnAlarm {
    /// 0 before the first poll that had to wait.
    number: u64,
    /// The alarm, and the time for which it is set.
    alarm: Option<(Alarm, u64)>,
}

impl TimerShared {
    /// Creates the state of a timer that is due at `when`.
    pub(super) fn new(when: u64) -> Self {
        let waiters = TimerWaiters::default();
        Self(Mutex::new(TimerState { setting: TimerSetting::Set, when, waiters }))
    }

    pub(super) fn is_pending(&self) -> bool {
        self.0.lock().setting == TimerSetting::Set
    }

    /// Returns whether it was pending.
    pub(super) fn stop(&self) -> bool {
        self.0.lock().replace(TimerSetting::Off, clock::FOREVER) == TimerSetting::Set
    }

    /// Makes it due at `when`. Returns whether it was pending.
    pub(super) fn set(&self, when: u64) -> bool {
        let mut state = self.0.lock();
        let before = state.replace(TimerSetting::Set, when);
        let (first, others) = state.waiters.take_later(when);
        drop(state);
        first.into_iter().chain(others).for_each(|waiter| waiter.waker.wake());
        before == TimerSetting::Set
    }

    /// Polls for the moment as the waiter `own`.
    pub(super) fn poll_wait(&self, own: &mut OwnAlarm, cx: &Context<'_>) -> Poll<Instant> {
        let is_due = self.0.lock().is_due();
        if is_due {
            ready!(poll_proceed(cx));
        }
        let mut waker = StorableWaker::new(cx.waker());
        let mut state = self.0.lock();
        // Another waiter may have taken the moment.
        if state.is_due() {
            let due = state.when;
            state.replace(TimerSetting::Off, clock::FOREVER);
            let waiter = state.waiters.remove(own.number);
            drop(state);
            drop(waiter);
            own.alarm = None;
            return Poll::Ready(clock::instant(due).unwrap_or_else(Instant::now));
        }
        let when = state.when;
        let replaced = state.waiters.put(own, when, &mut waker);
        drop(state);
        drop(replaced);
        // If the timer has got an earlier time meanwhile, this task has been woken.
        own.set_alarm(when, cx);
        note_wait(cx, WaitReason::Sleep, 0);
        Poll::Pending
    }

    /// Ends the wait of `own`, whose future is dropped.
    pub(super) fn leave(&self, own: &OwnAlarm) {
        let waiter = self.0.lock().waiters.remove(own.number);
        drop(waiter);
    }
}

impl TimerState {
    fn is_due(&self) -> bool {
        self.setting == TimerSetting::Set && self.when <= clock::now()
    }

    /// Returns the previous setting.
    fn replace(&mut self, setting: TimerSetting, when: u64) -> TimerSetting {
        self.when = when;
        std::mem::replace(&mut self.setting, setting)
    }
}

impl TimerWaiters {
    /// Puts the waiter `own` here, whose alarm will be set for `alarm_at`. Returns its previous
    /// waker.
    fn put(
        &mut self,
        own: &mut OwnAlarm,
        alarm_at: u64,
        waker: &mut StorableWaker<'_>,
    ) -> Option<StoredWaker> {
        if own.number == 0 {
            self.numbers += 1;
            own.number = self.numbers;
        }
        let number = own.number;
        let mut all = self.first.iter_mut().chain(&mut self.others);
        let Some(waiter) = all.find(|waiter| waiter.number == number) else {
            let waiter = TimerWaiter { number, waker: waker.store(), alarm_at };
            match self.first {
                None => self.first = Some(waiter),
                Some(_) => self.others.push(waiter),
            }
            return None;
        };
        waiter.alarm_at = alarm_at;
        let is_known = waiter.waker.will_wake(waker.waker());
        (!is_known).then(|| std::mem::replace(&mut waiter.waker, waker.store()))
    }

    fn remove(&mut self, number: u64) -> Option<TimerWaiter> {
        self.first.take_if(|waiter| waiter.number == number).or_else(|| {
            let at = self.others.iter().position(|waiter| waiter.number == number)?;
            Some(self.others.swap_remove(at))
        })
    }

    /// Takes the waiters whose alarms are set for later than `when`.
    fn take_later(&mut self, when: u64) -> (Option<TimerWaiter>, Vec<TimerWaiter>) {
        let first = self.first.take_if(|waiter| waiter.alarm_at > when);
        (first, self.others.extract_if(.., |waiter| waiter.alarm_at > when).collect())
    }
}

impl OwnAlarm {
    /// Sets the alarm for `when`, to wake the task of `cx`.
    fn set_alarm(&mut self, when: u64, cx: &Context<'_>) {
        if when == clock::FOREVER {
            self.alarm = None;
            return;
        }
        if let Some((alarm, at)) = &mut self.alarm
            && alarm.set_waker(cx.waker())
            && (*at == when || alarm.reset(when))
        {
            *at = when;
            return;
        }
        self.alarm = Some((Alarm::set(clock::now(), when, cx.waker()), when));
    }
}
