//! The result of `gmp-bench lateness`: all cells of one run, or of runs that were split by cells.

use super::figures::Cell;
use super::limits::{Best, Limits, Verdict};
use super::names::{Load, Source};
use super::options::ROUNDS;
use crate::entrant::Runtime;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// All cells, and where they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeatMap {
    /// The machine, the versions and the date, one line for each run.
    pub(crate) about: Vec<String>,
    /// The runtimes that were measured together.
    pub(crate) runtimes: Vec<Runtime>,
    pub(crate) cpus: usize,
    /// The seconds after which a cell ends.
    pub(crate) limit: u64,
    pub(crate) polls: Vec<LongestPoll>,
    pub(crate) cells: Vec<Cell>,
}

/// The longest poll of a load in gmp, in µs.
///
/// Interrupts can only make a poll longer. So the least over the rounds counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LongestPoll {
    pub(crate) load: Load,
    pub(crate) micros: f64,
}

impl HeatMap {
    /// Reads a file that `--json` has written.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        serde_json::from_str(&text).map_err(|error| named(&error))
    }

    /// The JSON of this map.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a map of cells has no odd keys") + "\n"
    }

    /// Puts the cells of several runs into one map.
    ///
    /// A run may be split by cells, never by contestants.
    pub(crate) fn merge(maps: Vec<Self>) -> Result<Self, String> {
        let mut maps = maps.into_iter();
        let mut all = maps.next().ok_or("nothing to merge")?;
        for map in maps {
            if (&map.runtimes, map.cpus, map.limit) != (&all.runtimes, all.cpus, all.limit) {
                return Err("the runs differ in their contestants, CPUs or limits; \
                            split a run by cells only"
                    .to_owned());
            }
            for cell in map.cells {
                if all.find(cell.load, cell.source, cell.runtime).is_some() {
                    let (source, load) = (cell.source.name(), cell.load.name());
                    return Err(format!("{source} beside {load} is in more than one file"));
                }
                all.cells.push(cell);
            }
            map.polls.into_iter().for_each(|poll| all.add_poll(poll));
            all.about.extend(map.about);
        }
        all.about.dedup();
        all.sort();
        Ok(all)
    }

    /// Puts the cells in the order of the tables.
    pub(crate) fn sort(&mut self) {
        self.cells.sort_by_key(|cell| (cell.load, cell.source, cell.runtime));
    }

    /// Adds the longest poll of one more round.
    pub(crate) fn add_poll(&mut self, poll: LongestPoll) {
        match self.polls.iter_mut().find(|other| other.load == poll.load) {
            Some(other) => other.micros = other.micros.min(poll.micros),
            None => self.polls.push(poll),
        }
    }

    /// The longest poll of a load.
    pub(crate) fn poll(&self, load: Load) -> Option<f64> {
        self.polls.iter().find(|poll| poll.load == load).map(|poll| poll.micros)
    }

    /// The cell of a runtime.
    pub(crate) fn find(&self, load: Load, source: Source, runtime: Runtime) -> Option<&Cell> {
        let is_it =
            |cell: &&Cell| (cell.load, cell.source, cell.runtime) == (load, source, runtime);
        self.cells.iter().find(is_it)
    }

    /// The loads that were measured, in the order of the table.
    pub(crate) fn loads(&self) -> impl Iterator<Item = Load> {
        Load::ALL.into_iter().filter(|load| self.cells.iter().any(|cell| cell.load == *load))
    }

    /// The sources that were measured, in the order of the table.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        let has = |source: &Source| self.cells.iter().any(|cell| cell.source == *source);
        Source::ALL.into_iter().filter(has)
    }

    /// The limits of a source beside a load.
    pub(crate) fn limits(&self, load: Load, source: Source) -> Limits {
        let peers = Runtime::PEERS.into_iter();
        let peers = peers.filter_map(|peer| self.find(load, source, peer)?.figures());
        Limits::new(load, self.poll(load), Best::of(peers))
    }

    /// The verdict on a cell of gmp or of the baseline.
    pub(crate) fn verdict(&self, cell: &Cell) -> Verdict {
        self.limits(cell.load, cell.source).judge(cell.figures())
    }

    /// The cells of gmp that exceed a limit or were not done, and the number of all.
    pub(crate) fn failures(&self) -> (Vec<&Cell>, usize) {
        let gmp: Vec<&Cell> =
            self.cells.iter().filter(|cell| cell.runtime == Runtime::Gmp).collect();
        let all = gmp.len();
        let fails = |cell: &&Cell| self.verdict(cell) != Verdict::Holds;
        (gmp.into_iter().filter(fails).collect(), all)
    }

    /// Whether the load delays the control thread of this cell by itself.
    pub(crate) fn is_crowded(&self, cell: &Cell) -> bool {
        cell.load.crowds(cell.runtime, self.cpus)
    }

    /// The reasons why these figures are not fit for publication.
    pub(crate) fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let rounds = self.cells.iter().map(|cell| cell.rounds.len()).min().unwrap_or(0);
        if rounds < ROUNDS {
            caveats.push(format!("{ROUNDS} rounds are needed, the least is {rounds}"));
        }
        if !self.runtimes.contains(&Runtime::Go) {
            caveats.push("without Go".to_owned());
        }
        let missing = Load::ALL.len() * Source::ALL.len()
            - self.cells.iter().filter(|cell| cell.runtime == Runtime::Gmp).count();
        if missing > 0 {
            caveats.push(format!("{missing} cells are missing"));
        }
        caveats
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::figures::tests::cell;
    use super::*;

    /// A map of gmp, Tokio and Go with these p50 and p99 for one source and load.
    pub(crate) fn map(load: Load, source: Source, figures: [[f64; 2]; 3]) -> HeatMap {
        let runtimes = vec![Runtime::Gmp, Runtime::Tokio, Runtime::Go];
        let cells = runtimes.iter().zip(figures);
        let cells = cells.map(|(runtime, figures)| cell(load, source, *runtime, figures)).collect();
        let about = vec!["here".to_owned()];
        HeatMap { about, runtimes, cpus: 2, limit: 10, polls: Vec::new(), cells }
    }

    const FIGURES: [[f64; 2]; 3] = [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]];

    #[test]
    fn a_map_survives_its_json() {
        let mut map = map(Load::FanOut, Source::Send, FIGURES);
        map.add_poll(LongestPoll { load: Load::FanOut, micros: 90.0 });
        map.cells[0].rounds.push(super::super::figures::Round::killed(5.0));
        assert_eq!(serde_json::from_str::<HeatMap>(&map.json()).unwrap(), map);
    }

    #[test]
    fn runs_that_were_split_by_cells_are_merged_in_the_order_of_the_table() {
        let later = map(Load::Mutex, Source::Send, FIGURES);
        let earlier = map(Load::None, Source::Timer, FIGURES);
        let all = HeatMap::merge(vec![later, earlier]).unwrap();
        assert_eq!(all.loads().collect::<Vec<_>>(), [Load::None, Load::Mutex]);
        assert_eq!(all.sources().collect::<Vec<_>>(), [Source::Timer, Source::Send]);
        assert_eq!(all.cells[0].load, Load::None);
        assert_eq!(all.about, ["here"]);
    }

    #[test]
    fn runs_that_overlap_or_differ_are_not_merged() {
        let one = map(Load::Mutex, Source::Send, FIGURES);
        let error = HeatMap::merge(vec![one.clone(), one.clone()]).unwrap_err();
        assert!(error.contains("send beside mutex"), "{error}");
        let mut other = map(Load::None, Source::Send, FIGURES);
        other.runtimes.pop();
        assert!(HeatMap::merge(vec![one.clone(), other]).unwrap_err().contains("contestants"));
        let other = HeatMap { limit: 20, ..map(Load::None, Source::Send, FIGURES) };
        assert!(HeatMap::merge(vec![one, other]).unwrap_err().contains("limits"));
        assert!(HeatMap::merge(Vec::new()).is_err());
    }

    #[test]
    fn the_shortest_of_the_longest_polls_counts() {
        let mut map = map(Load::FanOut, Source::Send, FIGURES);
        for micros in [90.0, 4_000.0, 70.0] {
            map.add_poll(LongestPoll { load: Load::FanOut, micros });
        }
        assert_eq!(map.poll(Load::FanOut), Some(70.0));
        assert_eq!(map.poll(Load::Echo), None);
    }

    #[test]
    fn only_cells_of_gmp_fail() {
        let peers_fail = map(Load::None, Source::Timer, [[9.0, 9.0], [9e3, 9e3], [9e3, 9e3]]);
        assert_eq!(peers_fail.failures(), (Vec::new(), 1));
        let gmp_fails = map(Load::None, Source::Timer, [[90.0, 9.0], [9.0, 9.0], [9.0, 9.0]]);
        assert_eq!(gmp_fails.failures().0.len(), 1);
    }

    #[test]
    fn the_baseline_is_no_peer() {
        let mut map = map(Load::FanOut, Source::Timer, FIGURES);
        map.cells.push(cell(Load::FanOut, Source::Timer, Runtime::Base, [1.0, 1.0]));
        let limits = map.limits(Load::FanOut, Source::Timer);
        assert_eq!((limits.p50.round(), limits.p99), (33.0, 50.0));
    }

    #[test]
    fn a_part_of_the_map_and_few_rounds_are_caveats() {
        let caveats = map(Load::None, Source::Timer, FIGURES).caveats();
        assert_eq!(caveats, ["5 rounds are needed, the least is 1", "64 cells are missing"]);
    }
}
