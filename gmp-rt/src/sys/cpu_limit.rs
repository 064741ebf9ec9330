//! How many CPUs this process may use: its affinity, and the quota of its control group and of all
//! groups above it (Linux).
//!
//! The rule is Go's: the smaller of the affinity and the quota, where a quota rounds up and counts as
//! two at least. Unlike Go, a tighter limit of an ancestor counts too.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the limits come from: this machine, or one that a test makes up.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// What `/proc` and the groups' folders are below of.
    pub(crate) root: PathBuf,
    pub(crate) affinity: fn() -> usize,
}

impl Default for Machine {
    fn default() -> Self {
        Self { root: "/".into(), affinity }
    }
}

impl Machine {
    /// The number of CPUs to use by default; changes with the group's quota.
    pub(crate) fn cpus(&self) -> usize {
        combine((self.affinity)(), quota(&self.root))
    }
}

fn combine(affinity: usize, quota: Option<f64>) -> usize {
    let limit = quota.map_or(usize::MAX, |quota| (quota.ceil() as usize).max(2));
    affinity.min(limit).max(1)
}

fn affinity() -> usize {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or(1, |set| set.count() as usize)
}

/// The CPU quota in CPUs; `None` without one.
fn quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let group = Group::find(&groups)?;
    let (mount, folder) = group.folder(&mounts)?;
    let (mount, mut folder) = (below(root, &mount), below(root, &folder));
    let mut least: Option<f64> = None;
    loop {
        if let Some(quota) = group.version.quota(&folder) {
            least = Some(least.map_or(quota, |least| least.min(quota)));
        }
        if folder == mount || !folder.pop() {
            return least;
        }
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    /// The quota set in one folder.
    fn quota(self, folder: &Path) -> Option<f64> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let (quota, period) = match self {
            Self::V1 => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
            Self::V2 => {
                let text = read("cpu.max")?;
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
        };
        // "max" and negative numbers mean none.
        let quota: f64 = quota.trim().parse().ok().filter(|quota| *quota > 0.0)?;
        let period: f64 = period.trim().parse().ok().filter(|period| *period > 0.0)?;
        Some(quota / period)
    }

    /// Whether a mount, by its type and options, is the one of the CPU controller.
    fn is_mount(self, kind: &str, options: &str) -> bool {
        match self {
            Self::V1 => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
            Self::V2 => kind == "cgroup2",
        }
    }
}

/// The control group this process is in.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    version: Version,
    path: PathBuf,
}

impl Group {
    /// From `/proc/self/cgroup`: a v1 hierarchy with the CPU controller wins over v2.
    fn find(text: &str) -> Option<Self> {
        fn fields(line: &str) -> Option<[&str; 3]> {
            line.splitn(3, ':').collect::<Vec<_>>().try_into().ok()
        }
        let lines = || text.lines().filter_map(fields);
        let group = |version| move |[_, _, path]: [&str; 3]| Self { version, path: path.into() };
        let v1 = lines().find(|[_, controllers, _]| controllers.split(',').any(|c| c == "cpu"));
        let v2 = lines().find(|[id, controllers, _]| *id == "0" && controllers.is_empty());
        v1.map(group(Version::V1)).or_else(|| v2.map(group(Version::V2)))
    }

    /// From `/proc/self/mountinfo`: where the hierarchy is mounted, and this group's folder there.
    fn folder(&self, text: &str) -> Option<(PathBuf, PathBuf)> {
        text.lines().find_map(|line| {
            let (fields, kind) = line.split_once(" - ")?;
            let fields: Vec<&str> = fields.split(' ').collect();
            let kind: Vec<&str> = kind.split(' ').collect();
            let options = kind.get(2).copied().unwrap_or_default();
            if !self.version.is_mount(kind.first()?, options) {
                return None;
            }
            let mount = PathBuf::from(fields.get(4)?);
            let inside = self.path.strip_prefix(fields.get(3)?).ok()?;
            Some((mount.clone(), mount.join(inside)))
        })
    }
}

#[cfg(test)]
#[path = "cpu_limit_tests.rs"]
pub(crate) mod tests;
