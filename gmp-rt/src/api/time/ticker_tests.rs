//! When the next tick is due, for each rule.

use super::*;

/// Returns when the tick after that of 100 is due, if the period is 10 and the tick is taken at
/// `now`.
fn after_100(how: MissedTicks, now: u64) -> u64 {
    let mut ticker = Ticker::new(Duration::from_nanos(10));
    ticker.set_missed_ticks(how);
    ticker.after_tick(100, now)
}

#[test]
fn a_tick_that_was_taken_before_the_next_one_was_due_misses_none() {
    for how in [MissedTicks::Skip, MissedTicks::Delay, MissedTicks::Burst] {
        assert_eq!(after_100(how, 100), 110, "{how:?}");
        assert_eq!(after_100(how, 109), 110, "{how:?}");
    }
}

#[test]
fn each_rule_has_its_own_tick_after_missed_ones() {
    for (now, skip, delay) in [(110, 120, 120), (111, 120, 121), (137, 140, 147)] {
        assert_eq!(after_100(MissedTicks::Skip, now), skip);
        assert_eq!(after_100(MissedTicks::Delay, now), delay);
        assert_eq!(after_100(MissedTicks::Burst, now), 110);
    }
}

#[test]
fn the_end_of_time_is_the_last_tick() {
    for how in [MissedTicks::Skip, MissedTicks::Delay, MissedTicks::Burst] {
        let mut ticker = Ticker::new(Duration::MAX);
        ticker.set_missed_ticks(how);
        assert_eq!(ticker.after_tick(100, 100), u64::MAX, "{how:?}");
    }
}
