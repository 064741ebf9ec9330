//! The services of a P: when it admits newcomers, and how they share its time with its other
//! goroutines.
//!
//! # The rule
//!
//! 1. After every [`SERVICE_PERIOD`] of polling, roughly, a P checks for newcomers: goroutines that
//!    a due timer, a network event or an external thread has made runnable. They run next, before
//!    `runnext` and the ring.
//! 2. After the newcomers the P's other goroutines run for at least as long as the newcomers did.
//!
//! These other goroutines are called the P's *own* goroutines here. A P without own goroutines
//! admits newcomers at once, by the same rules.
//!
//! # How
//!
//! Reading the clock for each poll would cost a large part of a short poll. So the P counts its
//! polls, and the operations of gmp's own futures within a poll. It reads the clock when one of the
//! two counts has expired.
//! From the time since the last service the P computes how many polls or operations fit into the
//! next [`SERVICE_PERIOD`]. The count is at least one. It is at most twice the previous count,
//! because one short poll says little about the next ones. It is limited to [`SERVICE_POLLS`] and
//! [`SERVICE_OPS`], because a service costs as much as a few of the shortest polls.
//!
//! A service within a poll runs no newcomer. If there is one, it makes the goroutine yield
//! ([`crate::sched::budget`]). So a goroutine that finds every channel and every lock ready does
//! not delay newcomers either. It continues behind them. Newcomers do not interrupt each other. One
//! that still runs at the end of their turn yields, and counts as an own goroutine.
//!
//! # Bounds
//!
//! Let L be the longest time of the P without an operation of gmp's own futures: a poll, or a part
//! of one.
//!
//! - A newcomer is found at most [`SERVICE_PERIOD`] + L after its event if the polls keep their
//!   length. If they become longer, sysmon requests a service after `SYSMON_MAX_NAP`, and the P
//!   makes it at the end of its poll, or at the next operation.
//! - From then on the newcomer waits for the newcomers before it. If those need more than
//!   [`NEWCOMER_TURN`], it also waits while own goroutines run for the same time, because the two
//!   alternate.
//! - A goroutine on the ring waits for one slice of each goroutine before it, and for newcomers no
//!   longer than for these. By the second rule newcomers take at most half of the time, and one
//!   poll.
//!
//! The bound of a newcomer ends where its privilege does. If it still runs at the end of the
//! newcomers' turn, it counts as an own goroutine within the slice that it inherited. When that
//! slice is over, the goroutine goes to the global queue, and waits as all others there do.
//!
//! A service never makes `runnext` or the ring wait without bound: a turn of newcomers ends when
//! none is left, or at the first service after [`NEWCOMER_TURN`]. A P whose polls are longer than
//! [`SERVICE_PERIOD`] makes a service after each poll.
//!
//! # Why not otherwise
//!
//! Go checks the global queue in every 61st slice, and Tokio its driver at every 61st poll. Both
//! count polls of any length: 61 polls of 50 µs take 3 ms. Go does not count `runnext` chains at
//! all. A read of the clock per poll would be exact, but too expensive.

use crate::tuning::{GLOBAL_TICK, NEWCOMER_TURN, SERVICE_OPS, SERVICE_POLLS, SLICE, WAKE_LATENCY};
use crate::util::clock;
use std::cell::Cell;
use std::time::Duration;

/// Time of polling between two services: about as long as an idle P would take to begin.
pub(crate) const SERVICE_PERIOD: Duration = WAKE_LATENCY;

/// Whether newcomers or own goroutines run. See rule 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Own goroutines run. Newcomers are admitted again from the time `until`.
    Own { until: u64 },
    /// The newcomers have run since the time `since`.
    Newcomers { since: u64 },
}

/// Whether a service may admit newcomers.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may admit them.
    Open,
    /// The previous newcomers still run, or own goroutines have not had their time.
    Closed,
}

/// Counts down to the next service.
#[derive(Debug)]
struct Countdown {
    /// Counts left until the next check.
    left: Cell<u32>,
    /// Counts from the next check to the service.
    later: Cell<u32>,
    /// The sum of the two after the last service.
    planned: Cell<u32>,
    /// The estimated number that fits into [`SERVICE_PERIOD`].
    period: Cell<u32>,
    most: u32,
}

impl Countdown {
    fn new(most: u32) -> Self {
        let (left, planned, period) = (Cell::new(1), Cell::new(1), Cell::new(1));
        Self { left, later: Cell::new(0), planned, period, most }
    }

    /// Counts one. Returns whether a check is due.
    #[inline]
    fn count(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left == 0
    }

    /// Returns the number counted since the last service.
    fn counted(&self) -> u32 {
        self.planned.get() - self.left.get() - self.later.get()
    }

    /// Restarts the count. `elapsed` is the time since the last service, if it is known.
    fn restart(&self, elapsed: Option<u64>) {
        let counted = u64::from(self.counted());
        if let Some(elapsed) = elapsed
            && counted > 0
        {
            let fit = counted * clock::nanos(SERVICE_PERIOD) / elapsed.max(1);
            let most = (2 * self.period.get()).min(self.most);
            self.period.set(fit.clamp(1, u64::from(most)) as u32);
        }
        let period = self.period.get();
        self.left.set(period);
        self.later.set(0);
        self.planned.set(period);
    }

    /// Makes the next check after at most `n` counts.
    fn look_after(&self, n: u32) {
        let all = self.left.get() + self.later.get();
        let left = all.min(n).max(1);
        self.left.set(left);
        self.later.set(all.max(1) - left);
    }
}

/// The services of a P. See the [module](self).
#[derive(Debug)]
pub(crate) struct Service {
    polls: Countdown,
    ops: Countdown,
    /// The time of the last service; `None` if the P was idle since.
    last: Cell<Option<u64>>,
    turn: Cell<Turn>,
}

impl Default for Service {
    fn default() -> Self {
        let (polls, ops) = (Countdown::new(SERVICE_POLLS), Countdown::new(SERVICE_OPS));
        Self { polls, ops, last: Cell::new(None), turn: Turn::Own { until: 0 }.into() }
    }
}

impl Service {
    /// Counts a search for a goroutine, which leads to a poll. Returns whether a check is due. At a
    /// check a service is due if [`is_due`](Self::is_due).
    #[inline]
    pub(crate) fn count_poll(&self) -> bool {
        self.polls.count()
    }

    /// Counts an operation of gmp's own futures. Returns whether a service is due.
    #[inline]
    pub(crate) fn count_op(&self) -> bool {
        self.ops.count()
    }

    /// Whether a service is due.
    pub(crate) fn is_due(&self) -> bool {
        let over = |countdown: &Countdown| countdown.left.get() + countdown.later.get() == 0;
        over(&self.polls) || over(&self.ops)
    }

    /// Returns the number of operations since the last service.
    pub(crate) fn ops(&self) -> u64 {
        self.ops.counted().into()
    }

    /// Begins a service at the time `now`, and plans the next one.
    pub(crate) fn begin(&self, now: u64) -> Admission {
        self.plan(now);
        match self.turn.get() {
            Turn::Newcomers { since } if now - since >= clock::nanos(NEWCOMER_TURN) => {
                self.begin_own_turn(now, since);
                Admission::Closed
            }
            Turn::Own { until } if until <= now => Admission::Open,
            Turn::Newcomers { .. } | Turn::Own { .. } => Admission::Closed,
        }
    }

    /// Plans the next service from the time since the last one.
    fn plan(&self, now: u64) {
        let elapsed = self.last.replace(Some(now)).map(|last| now - last);
        self.polls.restart(elapsed);
        self.look_after(GLOBAL_TICK as u32);
        self.ops.restart(elapsed);
    }

    /// Makes the next check after at most `polls` polls.
    pub(crate) fn look_after(&self, polls: u32) {
        self.polls.look_after(polls);
    }

    /// Records that the P has no own work at the time `now` and searches everywhere. That counts as
    /// a service, and newcomers are admitted at once.
    pub(crate) fn out_of_work(&self, now: u64) {
        self.plan(now);
        self.turn.set(Turn::Own { until: 0 });
    }

    /// Excludes the time since the last service from the estimate: the P did not poll.
    pub(crate) fn forget_time(&self) {
        self.last.set(None);
    }

    /// Begins the turn of newcomers that were admitted at the time `now`.
    pub(crate) fn begin_newcomers(&self, now: u64) {
        self.turn.set(Turn::Newcomers { since: now });
    }

    /// Whether newcomers run before own goroutines now.
    #[inline]
    pub(crate) fn is_newcomers_turn(&self) -> bool {
        matches!(self.turn.get(), Turn::Newcomers { .. })
    }

    /// Whether a newcomer runs and the turn of newcomers has not lasted for a slice. Then a request
    /// to yield concerns the goroutines that the newcomer has interrupted.
    pub(crate) fn is_guest(&self, now: u64) -> bool {
        matches!(self.turn.get(), Turn::Newcomers { since } if now - since < clock::nanos(SLICE))
    }

    /// Ends the turn of the newcomers at the time `now`: none is left.
    pub(crate) fn end_newcomers(&self, now: u64) {
        if let Turn::Newcomers { since } = self.turn.get() {
            self.begin_own_turn(now, since);
        }
    }

    /// Begins the turn of own goroutines after newcomers ran since `since`. The turn is at most
    /// a slice, because the thread may have been descheduled meanwhile.
    fn begin_own_turn(&self, now: u64, since: u64) {
        let time = now.saturating_sub(since).min(clock::nanos(SLICE));
        self.turn.set(Turn::Own { until: now + time });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = SERVICE_PERIOD.as_nanos() as u64;

    /// Makes polls of `poll` ns until a service is due. Returns the number of polls.
    fn polls_until_service(service: &Service, now: &mut u64, poll: u64) -> u64 {
        for polls in 1.. {
            let is_look = service.count_poll();
            *now += poll;
            if is_look && service.is_due() {
                return polls;
            }
            if is_look {
                service.look_after(GLOBAL_TICK as u32);
            }
        }
        unreachable!("a service is due at some time")
    }

    /// Makes services between polls of `poll` ns until the period is stable. Returns the period.
    fn settle(service: &Service, now: &mut u64, poll: u64) -> u64 {
        for _ in 0..20 {
            polls_until_service(service, now, poll);
            let _ = service.begin(*now);
        }
        polls_until_service(service, now, poll)
    }

    #[test]
    fn a_service_comes_every_50_us_whatever_a_poll_takes() {
        for poll in [900, 2_000, 10_000, 49_000] {
            let (service, mut now) = (Service::default(), 1);
            let polls = settle(&service, &mut now, poll);
            assert!((PERIOD / 2..=PERIOD).contains(&(polls * poll)), "{poll} ns: {polls} polls");
        }
    }

    #[test]
    fn a_service_comes_after_244_polls_at_the_latest() {
        let (service, mut now) = (Service::default(), 1);
        assert_eq!(settle(&service, &mut now, 50), u64::from(SERVICE_POLLS));
    }

    #[test]
    fn long_polls_are_followed_by_a_service_each() {
        let (service, mut now) = (Service::default(), 1);
        assert_eq!(settle(&service, &mut now, 10_000_000), 1);
    }

    #[test]
    fn one_short_poll_does_not_put_off_services_for_long() {
        let (service, mut now) = (Service::default(), 1);
        settle(&service, &mut now, 50_000);
        let _ = service.begin(now);
        polls_until_service(&service, &mut now, 100);
        let _ = service.begin(now);
        assert_eq!(polls_until_service(&service, &mut now, 50_000), 2);
    }

    #[test]
    fn operations_within_a_poll_are_counted_too() {
        let (service, mut now) = (Service::default(), 1);
        for _ in 0..20 {
            while !service.count_op() {
                now += 1_000;
            }
            now += 1_000;
            let _ = service.begin(now);
        }
        let ops = (1..).find(|_| service.count_op()).unwrap();
        assert!((PERIOD / 2..=PERIOD).contains(&(ops * 1_000)), "{ops} operations");
        assert_eq!(service.ops(), ops);
    }

    #[test]
    fn a_check_comes_after_61_polls_at_the_latest() {
        let (service, mut now) = (Service::default(), 1);
        settle(&service, &mut now, 50);
        let _ = service.begin(now);
        assert_eq!((1..).find(|_| service.count_poll()), Some(GLOBAL_TICK));
        assert!(!service.is_due());
        service.out_of_work(now);
        assert_eq!((1..).find(|_| service.count_poll()), Some(GLOBAL_TICK));
    }

    #[test]
    fn time_without_work_brings_no_service() {
        let (service, mut now) = (Service::default(), 1);
        settle(&service, &mut now, 100);
        let _ = service.begin(now);
        service.forget_time();
        now += 1_000_000_000;
        let _ = service.begin(now);
        assert_eq!(polls_until_service(&service, &mut now, 100), u64::from(SERVICE_POLLS));
    }

    #[test]
    fn own_goroutines_get_as_much_time_as_the_newcomers_took() {
        let service = Service::default();
        assert_eq!(service.begin(1_000), Admission::Open);
        service.begin_newcomers(1_000);
        assert!(service.is_newcomers_turn());
        assert_eq!(service.begin(1_100), Admission::Closed, "the last ones still run");
        service.end_newcomers(4_000);
        assert!(!service.is_newcomers_turn());
        assert_eq!(service.begin(6_999), Admission::Closed);
        assert_eq!(service.begin(7_000), Admission::Open);
    }

    #[test]
    fn a_long_turn_of_newcomers_is_interrupted() {
        let (service, turn) = (Service::default(), clock::nanos(NEWCOMER_TURN));
        assert_eq!(service.begin(1_000), Admission::Open);
        service.begin_newcomers(1_000);
        assert_eq!(service.begin(999 + turn), Admission::Closed);
        assert!(service.is_newcomers_turn());
        assert_eq!(service.begin(1_000 + turn), Admission::Closed);
        assert!(!service.is_newcomers_turn());
        assert_eq!(service.begin(999 + 2 * turn), Admission::Closed);
        assert_eq!(service.begin(1_000 + 2 * turn), Admission::Open);
    }
}
