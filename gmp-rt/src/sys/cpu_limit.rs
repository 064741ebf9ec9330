//! How many CPUs this process may use: its affinity, and the quota of its control group and of all
//! groups above it (Linux).
//!
//! The rule is Go's: the smaller of the affinity and the quota, where a quota rounds up and counts as
//! two at least. Unlike Go, a tighter limit of an ancestor counts too.

use std::fs;
use std::path::{Path, PathBuf};

/// The number of CPUs to use by default; changes with the group's quota.
pub(crate) fn cpus() -> usize {
    combine(affinity(), quota(Path::new("/")))
}

fn combine(affinity: usize, quota: Option<f64>) -> usize {
    let limit = quota.map_or(usize::MAX, |quota| (quota.ceil() as usize).max(2));
    affinity.min(limit).max(1)
}

fn affinity() -> usize {
    let set = rustix::thread::sched_getaffinity(None);
    set.map_or(1, |set| set.count() as usize)
}

/// The CPU quota in CPUs; `None` without one. All paths are below `root`, for tests.
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
enum Version {
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
mod tests {
    use super::*;

    /// A fake `/proc` and `/sys` in a folder of its own, removed at the end.
    struct Fake(PathBuf);

    impl Fake {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("gmp-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const V2_MOUNT: (&str, &str) =
        ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");

    #[test]
    fn gos_table_of_roundings() {
        let procs = |quota: f64| combine(64, Some(quota / 100_000.0));
        let table = [(50_000., 2), (100_000., 2), (150_000., 2), (200_001., 3), (299_999., 3)];
        for (quota, expected) in table {
            assert_eq!(procs(quota), expected, "{quota}");
        }
        assert_eq!(combine(1, Some(0.5)), 1, "the affinity is lower");
        assert_eq!(combine(4, Some(9.0)), 4);
        assert_eq!(combine(4, None), 4);
    }

    #[test]
    fn v2_with_the_tightest_limit_above() {
        let fake = Fake::new(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b/c\n"),
                V2_MOUNT,
                ("sys/fs/cgroup/a/cpu.max", "250000 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"),
            ],
        );
        assert_eq!(quota(&fake.0), Some(2.5));
    }

    #[test]
    fn v2_without_a_limit_and_without_files() {
        let fake = Fake::new("none", &[("proc/self/cgroup", "0::/x\n"), V2_MOUNT]);
        assert_eq!(quota(&fake.0), None);
        assert_eq!(quota(Path::new("/nowhere")), None);
    }

    #[test]
    fn v1_wins_and_the_mount_may_show_a_part() {
        let fake = Fake::new(
            "v1",
            &[
                ("proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/docker/id\n0::/ignored\n"),
                (
                    "proc/self/mountinfo",
                    "1 2 0:1 / / rw - ext4 x rw\n\
                 9 2 0:9 /docker/id /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
                ),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(quota(&fake.0), Some(1.5));
        fs::write(fake.0.join("sys/fs/cgroup/cpu/cpu.cfs_quota_us"), "-1\n").unwrap();
        assert_eq!(quota(&fake.0), None);
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(cpus() >= 1 && cpus() <= affinity().max(1));
    }
}
