//! The progress line of a long run, with the remaining time.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Seconds of completed and remaining work, as estimated by the workload table.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    done: f64,
    total: f64,
    /// Whether the line can be overwritten.
    terminal: bool,
}

impl Progress {
    /// Starts the clock of a run with `total` estimated seconds of work.
    pub(crate) fn new(total: f64) -> Self {
        Self { start: Instant::now(), done: 0.0, total, terminal: std::io::stderr().is_terminal() }
    }

    /// Shows the cell that is measured next.
    pub(crate) fn show(&self, cell: &str) {
        if self.terminal {
            let left = remaining(self.start.elapsed(), self.done, self.total);
            let left = left.map_or(String::new(), |left| format!(", {} left", rough(left)));
            eprint!("\r{:78}\r{cell}{left}", "");
        }
    }

    /// Records a cell that took `seconds` by the estimate.
    pub(crate) fn advance(&mut self, seconds: f64) {
        self.done += seconds;
    }

    /// Removes the line, so that a row can be printed.
    pub(crate) fn clear(&self) {
        if self.terminal {
            eprint!("\r{:78}\r", "");
        }
    }

    /// Writes a line about a finished workload, where there is no terminal to overwrite.
    pub(crate) fn milestone(&self, workload: &str) {
        if !self.terminal {
            let left = remaining(self.start.elapsed(), self.done, self.total);
            eprintln!("{workload} is done, {} left", left.map_or("?".to_owned(), rough));
        }
    }
}

/// Returns the time for the remaining work at the same speed. `None` at the start.
fn remaining(elapsed: Duration, done: f64, total: f64) -> Option<Duration> {
    (done > 0.0).then(|| elapsed.mul_f64(((total - done) / done).max(0.0)))
}

/// A duration in minutes, or in seconds below two minutes.
pub(crate) fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_follows_the_present_speed() {
        let elapsed = Duration::from_secs(30);
        assert_eq!(remaining(elapsed, 10.0, 30.0), Some(Duration::from_secs(60)));
        assert_eq!(remaining(elapsed, 10.0, 9.0), Some(Duration::ZERO));
        assert_eq!(remaining(elapsed, 0.0, 30.0), None);
    }

    #[test]
    fn times_are_shown_in_seconds_then_in_minutes() {
        assert_eq!(rough(Duration::from_secs(119)), "119 s");
        assert_eq!(rough(Duration::from_secs(3590)), "60 min");
    }
}
