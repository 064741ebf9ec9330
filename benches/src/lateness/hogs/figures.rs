//! The figures beside hogs, by round, and their limits. All times are in µs.

use super::super::options::ROUNDS;
use super::super::sample::{Percentiles, Reading};
use super::cgroup::Throttled;
use super::work::{WINDOWS, Window};
use crate::entrant::Runtime;
use crate::row::median;
use serde::{Deserialize, Serialize};

/// Limits of the median lateness in µs: in general, and in the first window beside [`MANY`] hogs.
const P50: f64 = 1_000.0;
const P50_OF_MANY: f64 = 10_000.0;
/// The greatest p99.
const P99: f64 = 30_000.0;
/// The least work, relative to plain threads, and the one beside [`MANY`] hogs.
const WORK: f64 = 0.95;
const WORK_OF_MANY: f64 = 0.90;
const MANY: usize = 300;

/// One second in ns.
const SECOND: u64 = 1_000_000_000;

/// All cells, and where they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HogTable {
    pub(crate) about: Vec<String>,
    pub(crate) runtimes: Vec<Runtime>,
    /// The number of windows that were measured.
    pub(crate) windows: usize,
    pub(crate) cells: Vec<HogCell>,
}

/// One runtime beside one number of hogs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HogCell {
    pub(crate) hogs: usize,
    pub(crate) runtime: Runtime,
    pub(crate) rounds: Vec<HogRound>,
}

/// One round of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HogRound {
    pub(crate) windows: Vec<WindowFigures>,
    /// `None` without a CPU quota.
    pub(crate) throttled: Option<Throttled>,
}

/// One window of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WindowFigures {
    /// `None` if no sleep ended in the window.
    pub(crate) lateness: Option<Lateness>,
    /// The threads of the process at the end of the window.
    pub(crate) threads: usize,
    /// The work of the hogs relative to plain threads.
    pub(crate) work: Option<f64>,
}

/// Percentiles of the lateness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lateness {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// The medians of a cell and window over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Medians {
    pub(crate) lateness: Option<Lateness>,
    pub(crate) threads: usize,
    pub(crate) work: Option<f64>,
}

impl HogRound {
    /// The round of a process that printed `reading`. `plain` is the work of plain threads in units
    /// per second, and `threads` the number of threads, each with its time in seconds.
    pub(crate) fn new(
        reading: &Reading,
        windows: usize,
        plain: f64,
        threads: &[(f64, usize)],
    ) -> Self {
        let windows = WINDOWS.iter().take(windows).enumerate().map(|(n, window)| WindowFigures {
            lateness: lateness(reading, *window),
            threads: threads_at(threads, window.to as f64),
            work: rate(&reading.work, n * 2).map(|rate| rate / plain),
        });
        Self { windows: windows.collect(), throttled: None }
    }

    /// The round of a process that was killed.
    pub(crate) fn killed(windows: usize) -> Self {
        let none = WindowFigures { lateness: None, threads: 0, work: None };
        Self { windows: vec![none; windows], throttled: None }
    }
}

fn lateness(reading: &Reading, window: Window) -> Option<Lateness> {
    let span = window.from * SECOND..window.to * SECOND;
    let samples = reading.samples.iter().filter(|sample| span.contains(&sample.at));
    let Percentiles { p50, p99, max } = Percentiles::of(samples)?;
    Some(Lateness { p50, p99, max })
}

/// The last number of threads that was read until `end`.
fn threads_at(threads: &[(f64, usize)], end: f64) -> usize {
    threads.iter().take_while(|(at, _)| *at <= end).last().map_or(0, |(_, threads)| *threads)
}

/// Units of work per second between the readings `first` and `first + 1`.
pub(crate) fn rate(work: &[(u64, u64)], first: usize) -> Option<f64> {
    let (from, to) = (work.get(first)?, work.get(first + 1)?);
    let seconds = to.0.checked_sub(from.0)? as f64 / 1e9;
    Some((to.1 - from.1) as f64 / seconds).filter(|rate| rate.is_finite())
}

impl HogCell {
    /// The medians of a window. A round without a sample counts as later than all others.
    pub(crate) fn medians(&self, window: usize) -> Option<Medians> {
        let rounds: Vec<&WindowFigures> =
            self.rounds.iter().filter_map(|round| round.windows.get(window)).collect();
        let late = |pick: fn(&Lateness) -> f64| {
            let values: Vec<f64> = rounds
                .iter()
                .map(|round| round.lateness.as_ref().map_or(f64::INFINITY, pick))
                .collect();
            median(&values).filter(|value| value.is_finite())
        };
        let lateness = late(|late| late.p50).and_then(|p50| {
            Some(Lateness { p50, p99: late(|late| late.p99)?, max: late(|late| late.max)? })
        });
        let threads: Vec<f64> = rounds.iter().map(|round| round.threads as f64).collect();
        let work: Vec<f64> = rounds.iter().filter_map(|round| round.work).collect();
        Some(Medians { lateness, threads: median(&threads)? as usize, work: median(&work) })
    }

    /// The throttled periods of all rounds. Returns `None` without a CPU quota.
    pub(crate) fn throttled(&self) -> Option<Throttled> {
        self.rounds.iter().filter_map(|round| round.throttled).reduce(Throttled::plus)
    }
}

/// Whether gmp stays within the limits beside hogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    /// The limits that it exceeds.
    Exceeds(Vec<String>),
    /// It has no figure.
    NotDone,
}

/// The situation that decides which limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) hogs: usize,
    pub(crate) window: usize,
    pub(crate) quota: Quota,
}

/// Whether the control group has a CPU quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quota {
    Limited,
    Unlimited,
}

/// Judges the medians of gmp. `go` are Go's in the same run.
pub(crate) fn judge(place: Place, gmp: Medians, go: Option<Lateness>) -> Verdict {
    let Some(late) = gmp.lateness else { return Verdict::NotDone };
    let mut over = Vec::new();
    let mut check = |is_over: bool, text: &str| {
        if is_over {
            over.push(text.to_owned());
        }
    };
    if let Some(go) = go {
        check(late.p50 > go.p50, "p50 above Go's");
        check(late.p99 > go.p99, "p99 above Go's");
    }
    if place.quota == Quota::Unlimited {
        let is_start_of_many = place.hogs >= MANY && place.window == 0;
        let p50 = if is_start_of_many { P50_OF_MANY } else { P50 };
        check(late.p50 > p50, &format!("p50 above {} ms", p50 / 1e3));
        check(late.p99 > P99, &format!("p99 above {} ms", P99 / 1e3));
        let least = if place.hogs >= MANY { WORK_OF_MANY } else { WORK };
        check(gmp.work.is_some_and(|work| work < least), &format!("work below {least:.2}"));
    }
    if over.is_empty() { Verdict::Holds } else { Verdict::Exceeds(over) }
}

impl HogTable {
    /// The JSON of this table.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a table of cells has no odd keys") + "\n"
    }

    /// The cell of a runtime.
    pub(crate) fn find(&self, hogs: usize, runtime: Runtime) -> Option<&HogCell> {
        self.cells.iter().find(|cell| (cell.hogs, cell.runtime) == (hogs, runtime))
    }

    /// The lines of the table: each number of hogs with each window.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, usize)> {
        let gmp = self.cells.iter().filter(|cell| cell.runtime == Runtime::Gmp);
        gmp.flat_map(|cell| (0..self.windows).map(|window| (cell.hogs, window)))
    }

    /// The verdict on gmp.
    pub(crate) fn verdict(&self, hogs: usize, window: usize) -> Verdict {
        let medians = |runtime| self.find(hogs, runtime).and_then(|cell| cell.medians(window));
        let Some(gmp) = medians(Runtime::Gmp) else { return Verdict::NotDone };
        let go = medians(Runtime::Go).and_then(|go| go.lateness);
        let throttled = self.find(hogs, Runtime::Gmp).and_then(HogCell::throttled);
        let quota = if throttled.is_some() { Quota::Limited } else { Quota::Unlimited };
        judge(Place { hogs, window, quota }, gmp, go)
    }

    /// The reasons why these figures are not fit for publication.
    pub(crate) fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let rounds = self.cells.iter().map(|cell| cell.rounds.len()).min().unwrap_or(0);
        if rounds < ROUNDS {
            caveats.push(format!("{ROUNDS} rounds are needed, the least is {rounds}"));
        }
        if self.windows < WINDOWS.len() {
            caveats.push("the first window only".to_owned());
        }
        if !self.runtimes.contains(&Runtime::Go) {
            caveats.push("without Go".to_owned());
        }
        caveats
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::super::sample::Sample;
    use super::*;

    const PLACE: Place = Place { hogs: 50, window: 0, quota: Quota::Unlimited };

    fn medians(p50: f64, p99: f64, work: f64) -> Medians {
        let lateness = Some(Lateness { p50, p99, max: p99 });
        Medians { lateness, threads: 5, work: Some(work) }
    }

    fn over(place: Place, gmp: Medians, go: Option<Lateness>) -> Vec<String> {
        match judge(place, gmp, go) {
            Verdict::Holds => Vec::new(),
            Verdict::Exceeds(over) => over,
            Verdict::NotDone => vec!["not done".to_owned()],
        }
    }

    #[test]
    fn samples_work_and_threads_belong_to_their_window() {
        let sample = |at, late| Sample { at, late };
        let samples = vec![
            sample(SECOND, 5_000),
            sample(3 * SECOND, 9_000_000),
            sample(21 * SECOND, 7_000),
            sample(23 * SECOND, 9_000_000),
        ];
        let work = vec![(0, 0), (3 * SECOND, 300), (20 * SECOND, 400), (23 * SECOND, 1_000)];
        let reading = Reading { samples, work, ..Reading::default() };
        let threads = [(1.0, 4), (2.9, 8), (3.1, 9), (22.9, 50)];
        let round = HogRound::new(&reading, 2, 200.0, &threads);
        let parts: Vec<_> = round
            .windows
            .iter()
            .map(|window| (window.lateness.unwrap().max, window.threads, window.work.unwrap()))
            .collect();
        assert_eq!(parts, [(5.0, 8, 0.5), (7.0, 50, 1.0)]);
    }

    #[test]
    fn a_window_without_a_sample_has_no_lateness() {
        let round = HogRound::new(&Reading::default(), 2, 1.0, &[]);
        assert_eq!(round, HogRound { windows: HogRound::killed(2).windows, throttled: None });
        let cell = HogCell { hogs: 2, runtime: Runtime::Gmp, rounds: vec![round] };
        let medians = cell.medians(0).unwrap();
        assert_eq!(judge(PLACE, medians, None), Verdict::NotDone);
    }

    #[test]
    fn the_limits_are_those_of_the_number_of_hogs_and_the_window() {
        assert_eq!(over(PLACE, medians(1_000.0, 30_000.0, 0.95), None), [""; 0]);
        let all = over(PLACE, medians(1_001.0, 30_001.0, 0.94), None);
        assert_eq!(all, ["p50 above 1 ms", "p99 above 30 ms", "work below 0.95"]);
        let many = Place { hogs: 300, ..PLACE };
        assert_eq!(over(many, medians(9_000.0, 30_000.0, 0.90), None), [""; 0]);
        assert_eq!(over(many, medians(9_000.0, 1.0, 0.89), None), ["work below 0.90"]);
        let later = Place { window: 1, ..many };
        assert_eq!(over(later, medians(9_000.0, 30_000.0, 0.90), None), ["p50 above 1 ms"]);
    }

    #[test]
    fn gmp_is_never_later_than_go() {
        let go = Some(Lateness { p50: 500.0, p99: 900.0, max: 900.0 });
        let both = over(PLACE, medians(501.0, 901.0, 1.0), go);
        assert_eq!(both, ["p50 above Go's", "p99 above Go's"]);
    }

    #[test]
    fn under_a_quota_only_go_counts() {
        let place = Place { quota: Quota::Limited, ..PLACE };
        let go = Some(Lateness { p50: 60_000.0, p99: 90_000.0, max: 90_000.0 });
        assert_eq!(over(place, medians(50_000.0, 80_000.0, 0.5), go), [""; 0]);
        assert_eq!(over(place, medians(50_000.0, 91_000.0, 0.5), go), ["p99 above Go's"]);
    }

    #[test]
    fn a_figure_is_the_median_over_the_rounds() {
        let round = |p50: f64, threads, work| HogRound {
            windows: vec![WindowFigures {
                lateness: Some(Lateness { p50, p99: p50, max: p50 }),
                threads,
                work: Some(work),
            }],
            throttled: Some(Throttled { periods: 10, throttled: 5, seconds: 0.5 }),
        };
        let rounds = vec![round(9.0, 4, 0.9), round(5.0, 6, 1.1), round(7.0, 5, 1.0)];
        let cell = HogCell { hogs: 2, runtime: Runtime::Gmp, rounds };
        let medians = cell.medians(0).unwrap();
        assert_eq!(medians.lateness.unwrap().p50, 7.0);
        assert_eq!((medians.threads, medians.work), (5, Some(1.0)));
        assert_eq!(cell.throttled().unwrap().periods, 30);
    }
}
