//! The number of CPUs that this process may use, by its affinity and the quota of its control group
//! (Linux).
//!
//! The rule is Go's: the smaller of the affinity and the quota. A quota is rounded up and is at
//! least 2. Unlike in Go, the quotas of all ancestor groups count too.

use std::fs;
use std::path::{Path, PathBuf};

/// The source of the limits: this machine, or a fake one in tests.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The folder that contains `/proc` and the folders of the groups.
    pub(crate) root: PathBuf,
    pub(crate) affinity: fn() -> usize,
}

impl Default for Machine {
    fn default() -> Self {
        Self { root: "/".into(), affinity }
    }
}

impl Machine {
    /// Returns the number of CPUs in the affinity mask of the calling thread.
    pub(crate) fn num_cpu(&self) -> usize {
        (self.affinity)()
    }

    /// Returns the number of CPUs to use by default. It changes with the quota of the group.
    pub(crate) fn cpus(&self) -> usize {
        combine((self.affinity)(), quota(&self.root))
    }
}

fn combine(affinity: usize, quota: Option<f64>) -> usize {
    let limit = quota.map_or(usize::MAX, |quota| (quota.ceil() as usize).max(2));
    affinity.min(limit).max(1)
}

/// Returns the number of CPUs that the process may use by its affinity.
pub(crate) fn affinity() -> usize {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or(1, |set| set.count() as usize)
}

/// Returns the CPU quota in CPUs, or `None` if there is none.
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
    /// Returns the quota that is set in one folder.
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
        // "max" and negative numbers mean no quota.
        let quota: f64 = quota.trim().parse().ok().filter(|quota| *quota > 0.0)?;
        let period: f64 = period.trim().parse().ok().filter(|period| *period > 0.0)?;
        Some(quota / period)
    }

    /// Whether a mount with this type and these options is that of the CPU controller.
    fn is_mount(self, kind: &str, options: &str) -> bool {
        match self {
            Self::V1 => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
            Self::V2 => kind == "cgroup2",
        }
    }
}

/// The control group of this process.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    version: Version,
    path: PathBuf,
}

impl Group {
    /// Parses `/proc/self/cgroup`. A v1 hierarchy with the CPU controller takes precedence over v2.
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

    /// Parses `/proc/self/mountinfo`. Returns the mount point and the folder of this group.
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
