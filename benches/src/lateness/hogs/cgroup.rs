//! The CPU statistics of this process's control group.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The quota periods of a control group, and how many of them were throttled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Throttled {
    pub(crate) periods: u64,
    pub(crate) throttled: u64,
    /// The throttled time in seconds. The kernel adds it up over the CPUs.
    pub(crate) seconds: f64,
}

impl Throttled {
    /// The statistics now. Returns `None` if the group has no quota.
    pub(crate) fn now() -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let files = files(&groups, Path::new("/sys/fs/cgroup"));
        let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
        texts.filter_map(|text| Self::parse(&text)).find(|stat| stat.periods > 0)
    }

    /// Reads a `cpu.stat` of version 1 or 2. Returns `None` if it does not count periods.
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| -> Option<u64> {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(name, _)| *name == key)?.1.parse().ok()
        };
        let seconds = match (value("throttled_usec"), value("throttled_time")) {
            (Some(micros), _) => micros as f64 / 1e6,
            (None, nanos) => nanos? as f64 / 1e9,
        };
        Some(Self { periods: value("nr_periods")?, throttled: value("nr_throttled")?, seconds })
    }

    /// The difference to an earlier reading.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            seconds: self.seconds - earlier.seconds,
        }
    }

    /// The sum of two readings.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            periods: self.periods + other.periods,
            throttled: self.throttled + other.throttled,
            seconds: self.seconds + other.seconds,
        }
    }
}

/// The files that may have the statistics, by the text of `/proc/self/cgroup`.
fn files(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let group = group.trim_start_matches('/');
        if controllers.is_empty() {
            files.push(root.join(group).join("cpu.stat"));
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            files.push(root.join(controllers).join(group).join("cpu.stat"));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_the_statistics_are_read() {
        let two = "usage_usec 5\nnr_periods 10\nnr_throttled 7\nthrottled_usec 500000\n";
        let one = "nr_periods 10\nnr_throttled 7\nthrottled_time 500000000\n";
        let stat = Throttled { periods: 10, throttled: 7, seconds: 0.5 };
        assert_eq!(Throttled::parse(two), Some(stat));
        assert_eq!(Throttled::parse(one), Some(stat));
        assert_eq!(Throttled::parse("usage_usec 5\n"), None);
    }

    #[test]
    fn the_file_is_found_by_the_group_of_the_process() {
        let root = Path::new("/groups");
        assert_eq!(files("0::/a/b\n", root), [PathBuf::from("/groups/a/b/cpu.stat")]);
        let one = "4:memory:/m\n3:cpuset:/s\n2:cpu,cpuacct:/quota\n0::/\n";
        let expected =
            ["/groups/cpu,cpuacct/quota/cpu.stat", "/groups/cpu.stat"].map(PathBuf::from);
        assert_eq!(files(one, root), expected);
    }

    #[test]
    fn readings_are_subtracted_and_added() {
        let early = Throttled { periods: 10, throttled: 2, seconds: 0.5 };
        let late = Throttled { periods: 30, throttled: 12, seconds: 1.5 };
        let between = late.since(early);
        assert_eq!(between, Throttled { periods: 20, throttled: 10, seconds: 1.0 });
        assert_eq!(between.plus(early), late);
    }
}
