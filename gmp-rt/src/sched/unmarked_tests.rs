//! When sysmon hands off the P of a poll that does not end, by numbers and without threads. The
//! test sets the clock, and what the OS says of the thread.

use super::{Bench, MS};
use crate::p::PStatus;
use crate::sched::Config;
use crate::sched::local::Place;
use crate::sys::thread_state::ThreadSleep;
use crate::sys::thread_state::fake::{self, FakeThread};
use crate::sysmon::Sysmon;
use crate::tuning::{COMPUTING_AFTER, SLICE, SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock;
use std::time::Duration;

/// The time between two rounds of sysmon.
const STEP: u64 = 10_000;

/// Whether goroutines wait for the P, and for what they were woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// A goroutine on the ring.
    Goroutine,
    /// A goroutine on the ring, and one that an event woke.
    Event,
}

/// Makes rounds of sysmon, from the begin of a poll until a time `limit` later. Returns after how
/// long the P was handed off. `thread` says what the thread does that long after the begin.
fn handed_off_after(
    waiting: Waiting,
    limit: Duration,
    thread: impl Fn(u64) -> FakeThread,
) -> Option<Duration> {
    // No thread is paused: the test would be.
    let bench = Bench::with(Config { procs: 1, pause: false, ..Config::default() });
    let p = bench.local.p();
    let mut sysmon = Sysmon::new(bench.sched().clone());
    let start = clock::after(Duration::from_secs(1));
    fake::set(Some(thread(0)));
    let _ = sysmon.round(start - MS);
    if waiting != Waiting::Nothing {
        bench.put(1, Place::Tail);
    }
    if waiting == Waiting::Event {
        bench.put(1, Place::Newcomer);
    }
    p.counters.polls.add(1);
    p.set_goid(7);
    let mut round = |after| {
        fake::set(Some(thread(after)));
        let _ = sysmon.round(start + after);
        p.status() == PStatus::HandedOff
    };
    let handed_off = (0..=clock::nanos(limit)).step_by(STEP as usize).find(|after| round(*after));
    fake::set(None);
    handed_off.map(Duration::from_nanos)
}

fn asleep(sleep: ThreadSleep) -> impl Fn(u64) -> FakeThread {
    move |_| FakeThread { cpu: 1000, sleep }
}

/// A thread that has the CPU for one `share`th of the time.
fn computes(share: u64) -> impl Fn(u64) -> FakeThread {
    move |after| FakeThread { cpu: 1000 + after / share, sleep: ThreadSleep::No }
}

const LIMIT: Duration = Duration::from_millis(100);

#[test]
fn a_poll_asleep_in_a_call_loses_its_p_after_100_us_if_a_goroutine_waits() {
    assert_eq!(SYSMON_NAP, Duration::from_micros(100));
    for waiting in [Waiting::Goroutine, Waiting::Event] {
        let after = handed_off_after(waiting, LIMIT, asleep(ThreadSleep::Call));
        assert_eq!(after, Some(SYSMON_NAP));
    }
}

/// The sleep for a lock is noticed after 100 µs, and counts from then.
#[test]
fn a_poll_asleep_for_a_lock_loses_its_p_after_another_millisecond() {
    assert_eq!(SYSMON_MAX_NAP, Duration::from_millis(1));
    for waiting in [Waiting::Goroutine, Waiting::Event] {
        let after = handed_off_after(waiting, LIMIT, asleep(ThreadSleep::Lock));
        assert_eq!(after, Some(SYSMON_NAP + SYSMON_MAX_NAP));
    }
}

/// Only the CPU time of the thread counts, and not the time.
#[test]
fn a_poll_that_computes_loses_its_p_after_5_ms_of_cpu_time() {
    assert_eq!(COMPUTING_AFTER, Duration::from_millis(5));
    for share in [1, 2, 4] {
        let after = handed_off_after(Waiting::Goroutine, LIMIT, computes(share));
        assert_eq!(after, Some(share as u32 * COMPUTING_AFTER));
    }
}

#[test]
fn a_poll_that_computes_loses_its_p_after_1_ms_of_cpu_time_if_an_event_waits() {
    for share in [1, 2, 4] {
        let after = handed_off_after(Waiting::Event, LIMIT, computes(share));
        assert_eq!(after, Some(share as u32 * SYSMON_MAX_NAP));
    }
}

#[test]
fn a_poll_whose_thread_waits_for_a_cpu_keeps_its_p() {
    for waiting in [Waiting::Nothing, Waiting::Goroutine, Waiting::Event] {
        assert_eq!(handed_off_after(waiting, LIMIT, asleep(ThreadSleep::No)), None);
    }
}

#[test]
fn a_poll_that_no_goroutine_waits_for_loses_its_p_after_a_slice_if_it_sleeps() {
    let after = |thread| handed_off_after(Waiting::Nothing, LIMIT, thread);
    assert_eq!(after(asleep(ThreadSleep::Call)), Some(SLICE));
    assert_eq!(after(asleep(ThreadSleep::Lock)), Some(SLICE));
    assert_eq!(handed_off_after(Waiting::Nothing, LIMIT, computes(1)), None);
}
