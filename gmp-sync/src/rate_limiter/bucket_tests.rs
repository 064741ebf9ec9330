//! Tests of the token bucket at chosen times, after Go's `rate_test.go`.

use super::{Bucket, Limit, RateError, Refused, Reserved};
use std::time::{Duration, Instant};

/// A bucket and its time zero. Times are in tenths of a second.
struct Clocked(Bucket, Instant);

fn bucket(per_second: f64, burst: usize) -> Clocked {
    let start = Instant::now();
    Clocked(Bucket::new(Limit::per_second(per_second), burst, start), start)
}

impl Clocked {
    fn at(&self, tenths: u32) -> Instant {
        self.1 + Duration::from_millis(100) * tenths
    }

    fn allow(&mut self, tenths: u32, n: usize) -> bool {
        let now = self.at(tenths);
        self.0.reserve(now, n, Some(now)).is_ok()
    }

    fn reserve(&mut self, tenths: u32, n: usize) -> Reserved {
        self.0.reserve(self.at(tenths), n, None).unwrap()
    }

    fn tokens(&self, tenths: u32) -> f64 {
        self.0.tokens(self.at(tenths))
    }

    fn cancel(&mut self, tenths: u32, reserved: &Reserved) {
        self.0.cancel(self.at(tenths), reserved);
    }
}

/// Whether the two times differ by less than a microsecond: tokens are floating-point numbers.
fn is_near(one: Instant, other: Instant) -> bool {
    one.max(other) - one.min(other) < Duration::from_micros(1)
}

#[test]
fn a_full_bucket_admits_its_burst_and_then_the_rate() {
    let mut b = bucket(10.0, 3);
    let admitted: Vec<bool> =
        [0, 0, 0, 0, 1, 1, 2, 9, 9, 9, 9].into_iter().map(|tenths| b.allow(tenths, 1)).collect();
    let expected = "yyynynyyyyn".chars().map(|c| c == 'y').collect::<Vec<_>>();
    // At 0.9 s the bucket is full again, and not fuller.
    assert_eq!(admitted[..10], expected[..10]);
    assert!(!admitted[10]);
}

#[test]
fn an_earlier_time_gives_no_tokens() {
    let mut b = bucket(10.0, 2);
    assert!(b.allow(5, 2));
    assert!(!b.allow(0, 1), "the clock went back");
    assert!(is_near(b.reserve(0, 0).at, b.at(5)));
    assert!(!b.allow(6, 2), "half a second counted twice");
    assert!(b.allow(6, 1));
}

#[test]
fn reservations_are_granted_one_after_the_other() {
    let mut b = bucket(10.0, 2);
    for (n, at) in [(2, 0), (1, 1), (2, 3), (1, 4)] {
        let reserved = b.reserve(0, n);
        assert!(is_near(reserved.at, b.at(at)), "{n} at {at}");
    }
}

#[test]
fn a_refused_reservation_changes_nothing() {
    let mut b = bucket(10.0, 2);
    let _ = b.reserve(0, 2);
    let now = b.at(0);
    assert_eq!(
        b.0.reserve(now, 3, None).unwrap_err(),
        Refused::Error(RateError::ExceedsBurst { n: 3, burst: 2 })
    );
    let deadline = Some(now + Duration::from_millis(99));
    let late = b.0.reserve(now, 1, deadline).unwrap_err();
    assert_eq!(late, Refused::Error(RateError::DeadlineExceeded));
    assert!(is_near(b.reserve(0, 1).at, b.at(1)));
}

/// Go: `TestCancelLast`, `TestCancelTooLate`, `TestCancel0Tokens`.
#[test]
fn a_cancel_of_the_last_reservation_gives_all_tokens_back() {
    let mut b = bucket(10.0, 2);
    let _ = b.reserve(0, 2);
    let last = b.reserve(0, 2);
    b.cancel(1, &last);
    assert!(is_near(b.reserve(1, 2).at, b.at(2)));
    let mut b = bucket(10.0, 2);
    let _ = b.reserve(0, 2);
    let late = b.reserve(0, 2);
    b.cancel(3, &late);
    assert!(is_near(b.reserve(3, 2).at, b.at(4)));
    let none = b.reserve(3, 0);
    let before = b.tokens(3);
    b.cancel(3, &none);
    assert_eq!(b.tokens(3).to_bits(), before.to_bits());
}

/// Go: `TestCancel1Token`, `TestCancelMulti`: tokens that a later reservation waits for stay taken.
#[test]
fn a_cancel_of_an_earlier_reservation_gives_back_what_no_later_one_uses() {
    let mut b = bucket(10.0, 2);
    let _ = b.reserve(0, 2);
    let earlier = b.reserve(0, 2);
    let _ = b.reserve(0, 1);
    b.cancel(2, &earlier);
    assert!(is_near(b.reserve(2, 2).at, b.at(4)));
    let mut b = bucket(10.0, 4);
    let _ = b.reserve(0, 4);
    let (first, second) = (b.reserve(0, 3), b.reserve(0, 1));
    b.cancel(0, &first);
    b.cancel(0, &second);
    // Two of the first, and all of the second.
    assert!((b.tokens(0) + 1.0).abs() < 1e-9, "{}", b.tokens(0));
}

/// After the last reservation is cancelled, the one before it is the last.
#[test]
fn reservations_that_are_cancelled_in_reverse_order_give_all_back() {
    let mut b = bucket(10.0, 2);
    let _ = b.reserve(0, 2);
    let (first, second) = (b.reserve(0, 1), b.reserve(0, 1));
    b.cancel(0, &second);
    b.cancel(0, &first);
    assert!(b.tokens(0).abs() < 1e-9, "{}", b.tokens(0));
}

#[test]
fn without_a_rate_only_the_burst_is_given() {
    let mut b = bucket(0.0, 3);
    assert!(b.allow(0, 2) && b.allow(9, 1) && !b.allow(9, 1));
    let far = b.at(u32::MAX / 2);
    assert_eq!(b.0.reserve(far, 1, None).unwrap_err(), Refused::Never);
    assert_eq!(b.tokens(9).to_bits(), 0f64.to_bits());
    // A rate so small that the time is out of range.
    let mut b = bucket(f64::MIN_POSITIVE, 1);
    assert!(b.allow(0, 1));
    assert_eq!(b.0.reserve(b.1, 1, None).unwrap_err(), Refused::Never);
}

#[test]
fn without_a_limit_the_burst_is_ignored() {
    let start = Instant::now();
    let mut b = Clocked(Bucket::new(Limit::INF, 0, start), start);
    assert!(b.allow(0, 1_000_000));
    let reserved = b.reserve(0, 5);
    b.cancel(0, &reserved);
    // A limit that is set later begins with the tokens of the burst.
    let start = b.at(0);
    b.0.set_burst(start, 2);
    b.0.set_limit(start, Limit::per_second(10.0));
    assert!(b.allow(0, 2) && !b.allow(0, 1) && b.allow(1, 1));
}

#[test]
fn a_new_limit_and_burst_hold_from_then_on() {
    let mut b = bucket(10.0, 10);
    assert!(b.allow(0, 10));
    b.0.set_limit(b.at(5), Limit::per_second(20.0));
    assert!((b.tokens(6) - 7.0).abs() < 1e-9);
    b.0.set_burst(b.at(6), 2);
    assert!((b.tokens(6) - 2.0).abs() < 1e-9);
}

/// In any window no more is admitted than the burst and what comes in the window. Nothing that
/// could be admitted at once is delayed.
#[test]
fn random_reservations_keep_the_rate() {
    let mut seed = 7_u64;
    let mut below = |bound: u64| {
        // SplitMix64.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    };
    for _ in 0..300 {
        let (rate, burst) = (1 + below(20), 1 + below(5) as usize);
        let mut b = bucket(rate as f64, burst);
        let (mut now, mut kept, mut open) = (0, Vec::<Reserved>::new(), Vec::new());
        for _ in 0..40 {
            now += below(4) as u32;
            match below(4) {
                0 if !open.is_empty() => {
                    let cancelled: Reserved = open.swap_remove(below(open.len() as u64) as usize);
                    b.cancel(now, &cancelled);
                    if cancelled.at < b.at(now) {
                        kept.push(cancelled);
                    }
                }
                1 => {
                    let free = b.tokens(now);
                    let admitted = b.allow(now, 1);
                    if (free - 1.0).abs() > 1e-6 {
                        assert_eq!(admitted, free >= 1.0);
                    }
                    if admitted {
                        kept.push(Reserved { tokens: 1, at: b.at(now), limit: b.0.limit() });
                    }
                }
                _ => open.push(b.reserve(now, 1 + below(burst as u64) as usize)),
            }
        }
        kept.append(&mut open);
        kept.sort_by_key(|reserved| reserved.at);
        for first in 0..kept.len() {
            let mut sum = 0;
            for reserved in &kept[first..] {
                sum += reserved.tokens;
                let window = (reserved.at - kept[first].at).as_secs_f64();
                let most = burst as f64 + rate as f64 * window + 1e-3;
                assert!(sum as f64 <= most, "{sum} in {window} s at {rate}/s, burst {burst}");
            }
        }
    }
}
