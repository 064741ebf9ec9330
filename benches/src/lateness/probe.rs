//! The state that a source, the sampled goroutine and the control thread share.

use super::sample::Sample;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// No event is in flight.
const NONE: u64 = 0;

/// The greatest number of samples that has memory in advance.
const CAPACITY: usize = 1 << 15;

/// The samples of this process. At most one event is in flight.
///
/// All times are nanoseconds of one monotonic clock after the start of the program.
#[derive(Debug)]
pub(crate) struct Probe {
    start: Instant,
    wanted: usize,
    samples: Mutex<Vec<Sample>>,
    /// The number of samples. The control thread reads it without the lock.
    taken: AtomicUsize,
    /// The time of the event in flight, or [`NONE`].
    in_flight: AtomicU64,
}

impl Probe {
    /// A probe for `wanted` samples. `usize::MAX` means that the time alone is limited.
    pub(crate) fn new(start: Instant, wanted: usize) -> Arc<Self> {
        let samples = Mutex::new(Vec::with_capacity(wanted.min(CAPACITY)));
        let (taken, in_flight) = (AtomicUsize::new(0), AtomicU64::new(NONE));
        Arc::new(Self { start, wanted, samples, taken, in_flight })
    }

    /// The time now. It is never [`NONE`].
    pub(crate) fn now(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).max(1)
    }

    /// Takes the time of an event that the caller is about to cause.
    pub(crate) fn begin(&self) -> u64 {
        let event = self.now();
        self.expect(event);
        event
    }

    /// Announces an event at a known time: a timer that becomes due.
    pub(crate) fn expect(&self, event: u64) {
        self.in_flight.store(event, Ordering::Release);
    }

    /// Records the lateness. The woken goroutine calls this first.
    pub(crate) fn end(&self, event: u64) {
        let now = self.now();
        self.push(Sample { at: event, late: now.saturating_sub(event) });
        self.in_flight.store(NONE, Ordering::Release);
    }

    /// Whether no event is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == NONE
    }

    /// Whether all samples are there.
    pub(crate) fn is_done(&self) -> bool {
        self.taken.load(Ordering::Acquire) >= self.wanted
    }

    /// Takes all samples. An event that is still in flight counts with its lateness up to now.
    pub(crate) fn take(&self) -> Vec<Sample> {
        let now = self.now();
        let event = self.in_flight.load(Ordering::Acquire);
        if event != NONE && event < now && !self.is_done() {
            self.push(Sample { at: event, late: now - event });
        }
        std::mem::take(&mut *self.samples())
    }

    /// The time from now to the first whole millisecond after the start that is at least `least`
    /// away, and the time of that millisecond.
    ///
    /// Tokio rounds timers up to whole milliseconds after its start. Due times between them would
    /// add up to a millisecond to its lateness.
    pub(crate) fn next_due(&self, least: Duration) -> (Duration, u64) {
        const MILLI: u64 = 1_000_000;
        let now = self.now();
        let due = (now + least.as_nanos() as u64).next_multiple_of(MILLI);
        (Duration::from_nanos(due - now), due)
    }

    fn push(&self, sample: Sample) {
        self.samples().push(sample);
        self.taken.fetch_add(1, Ordering::Release);
    }

    fn samples(&self) -> std::sync::MutexGuard<'_, Vec<Sample>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_in_flight_counts_with_its_present_lateness() {
        let probe = Probe::new(Instant::now() - Duration::from_secs(1), 5);
        probe.end(probe.begin());
        assert!(probe.is_idle() && !probe.is_done());
        probe.expect(1_000);
        let samples = probe.take();
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[1].at, 1_000);
        assert!(samples[1].late >= 999_000_000, "{:?}", samples[1]);
    }

    #[test]
    fn a_timer_that_is_not_due_is_no_sample() {
        let probe = Probe::new(Instant::now(), 5);
        probe.expect(probe.now() + 60_000_000_000);
        assert!(!probe.is_idle());
        assert_eq!(probe.take(), []);
    }

    #[test]
    fn the_next_due_time_is_a_whole_millisecond_and_far_enough_away() {
        let probe = Probe::new(Instant::now() - Duration::from_micros(1_700), 5);
        let (wait, due) = probe.next_due(Duration::from_millis(1));
        assert_eq!(due % 1_000_000, 0);
        assert!(wait >= Duration::from_millis(1) && wait < Duration::from_millis(2), "{wait:?}");
    }
}
