//! The result of one run, or of several runs that were split by rows.

use crate::entrant::{Allocator, Entrant, Runtime};
use crate::row::Row;
use crate::verdict::{self, Verdict};
use crate::workload;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// All rows, and their origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The machine, the versions and the date, one line for each run.
    pub(crate) about: Vec<String>,
    /// The entrants that were measured together.
    pub(crate) entrants: Vec<Entrant>,
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// A report without rows.
    pub(crate) fn new(about: String, entrants: Vec<Entrant>) -> Self {
        Self { about: vec![about], entrants, rows: Vec::new() }
    }

    /// Reads a file that `--json` has written.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        serde_json::from_str(&text).map_err(|error| named(&error))
    }

    /// The JSON of this report.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has no map with odd keys") + "\n"
    }

    /// Puts the rows of several runs into one report.
    ///
    /// A run may be split by rows, never by contestants. So all runs have the same entrants, and no
    /// row occurs twice.
    pub(crate) fn merge(reports: Vec<Self>) -> Result<Self, String> {
        let mut reports = reports.into_iter();
        let mut all = reports.next().ok_or("nothing to merge")?;
        for report in reports {
            if report.entrants != all.entrants {
                return Err(format!(
                    "the runs have different contestants: {} and {}; split a run by rows only",
                    names(&all.entrants),
                    names(&report.entrants),
                ));
            }
            for row in report.rows {
                if all.rows.iter().any(|other| other.name == row.name) {
                    return Err(format!("row {} is in more than one file", row.name));
                }
                all.rows.push(row);
            }
            for about in report.about {
                if !all.about.contains(&about) {
                    all.about.push(about);
                }
            }
        }
        let order = |row: &Row| workload::position(&row.name).unwrap_or(usize::MAX);
        all.rows.sort_by_key(order);
        Ok(all)
    }

    /// The rows of the whole table that this report lacks.
    pub(crate) fn missing(&self) -> Vec<String> {
        let has = |name: &String| self.rows.iter().any(|row| row.name == *name);
        workload::row_names().filter(|name| !has(name)).collect()
    }

    /// Describes the geometric mean of the ratios. A part of the table has none.
    pub(crate) fn mean(&self) -> String {
        let missing = self.missing();
        if !missing.is_empty() {
            let all = workload::row_names().count();
            return format!(
                "No mean: {} of {all} rows are missing, and a mean over a part is not shown.",
                missing.len()
            );
        }
        let ratios: Vec<f64> = self.rows.iter().filter_map(Row::ratio).map(|r| r.value).collect();
        let mean = geometric_mean(&ratios);
        format!("Geometric mean of the ratios over all {} rows: {mean:.2}×.", ratios.len())
    }

    /// The reasons why these figures are not fit for publication.
    pub(crate) fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let has = |entrant: Entrant| self.entrants.contains(&entrant);
        let rounds = self.rows.iter().map(Row::rounds).min().unwrap_or(0);
        if rounds < verdict::ROUNDS {
            caveats.push(format!("{} rounds are needed, the least is {rounds}", verdict::ROUNDS));
        }
        if !has(Entrant::rust(Runtime::Gmp, Allocator::Mimalloc)) {
            caveats.push("without mimalloc".to_owned());
        }
        if !has(Entrant::GO) {
            caveats.push("without Go".to_owned());
        }
        caveats
    }

    /// Whether a baseline took part.
    pub(crate) fn has_base(&self) -> bool {
        self.entrants.iter().any(|entrant| entrant.runtime == Runtime::Base)
    }

    /// The rows with this verdict, each with the allocator.
    pub(crate) fn judged(&self, verdict: Verdict) -> Vec<(&Row, Allocator)> {
        let pairs = self.rows.iter().flat_map(|row| Allocator::ALL.map(|one| (row, one)));
        pairs.filter(|(row, allocator)| row.verdict(*allocator) == Some(verdict)).collect()
    }
}

/// The names of the entrants, for a message.
fn names(entrants: &[Entrant]) -> String {
    entrants.iter().map(Entrant::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the geometric mean, or NaN for no values.
fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Confirmation, Method};

    fn entrants() -> Vec<Entrant> {
        vec![
            Entrant::rust(Runtime::Gmp, Allocator::Malloc),
            Entrant::rust(Runtime::Tokio, Allocator::Malloc),
            Entrant::GO,
        ]
    }

    /// Returns a report in which Tokio and Go need `times` as much as gmp.
    fn report(about: &str, names: &[&str], times: f64) -> Report {
        let mut report = Report::new(about.to_owned(), entrants());
        for name in names {
            let mut row = Row::new(*name, "ns");
            row.push(report.entrants[0], 10.0);
            row.push(report.entrants[1], 10.0 * times);
            row.push(report.entrants[2], 10.0 * times);
            report.rows.push(row);
        }
        report
    }

    #[test]
    fn json_keeps_everything() {
        let mut report = report("here", &["yield"], 2.0);
        report.rows[0].confirmations.push(Confirmation {
            allocator: Allocator::Mimalloc,
            by: Method::Instructions,
            gmp: vec![1.5],
            base: vec![0.1],
        });
        let read: Report = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(read, report);
    }

    #[test]
    fn merged_rows_stand_in_the_order_of_the_table() {
        let parts = vec![report("a", &["mutex"], 2.0), report("b", &["yield", "chain"], 2.0)];
        let all = Report::merge(parts).unwrap();
        let names: Vec<&str> = all.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["yield", "chain", "mutex"]);
        assert_eq!(all.about, ["a", "b"]);
    }

    #[test]
    fn a_row_in_two_files_is_refused() {
        let parts = vec![report("a", &["yield"], 2.0), report("b", &["yield"], 2.0)];
        assert!(Report::merge(parts).unwrap_err().contains("yield"));
    }

    #[test]
    fn runs_with_different_contestants_are_refused() {
        let mut other = report("b", &["chain"], 2.0);
        other.entrants.pop();
        let error = Report::merge(vec![report("a", &["yield"], 2.0), other]).unwrap_err();
        assert!(error.contains("different contestants"), "{error}");
    }

    #[test]
    fn a_mean_is_shown_over_all_rows_only() {
        let names: Vec<String> = workload::row_names().collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (first, rest) = names.split_at(1);
        let part = report("a", first, 2.0);
        assert!(part.mean().starts_with("No mean"), "{}", part.mean());
        let all = Report::merge(vec![part, report("a", rest, 2.0)]).unwrap();
        assert!(all.mean().contains("2.00×"), "{}", all.mean());
        assert_eq!(all.about, ["a"]);
    }

    #[test]
    fn the_mean_is_geometric() {
        assert!((geometric_mean(&[0.5, 8.0]) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn caveats_name_what_is_missing() {
        let caveats = report("a", &["yield"], 2.0).caveats().join("; ");
        assert!(caveats.contains("9 rounds are needed") && caveats.contains("without mimalloc"));
        assert!(!caveats.contains("Go"), "{caveats}");
    }
}
