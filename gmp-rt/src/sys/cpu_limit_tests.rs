//! Tests of the limits, with fake and real control groups.

use super::*;

/// A fake `/proc` and `/sys` in a temporary folder, which the drop removes.
pub(crate) struct Fake(pub(crate) PathBuf);

impl Fake {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("gmp-{name}-{}", std::process::id()));
        let fake = Self(root);
        files.iter().for_each(|(path, text)| fake.write(path, text));
        fake
    }

    /// Fakes a process in the group `group` of a v2 hierarchy.
    pub(crate) fn v2(name: &str, group: &str, files: &[(&str, &str)]) -> Self {
        let fake = Self::new(name, files);
        fake.write("proc/self/cgroup", &format!("0::{group}\n"));
        fake.write(V2_MOUNT.0, V2_MOUNT.1);
        fake
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A control group with a quota below that of this process. It contains an inner group without a
/// quota, for a process.
pub(crate) struct RealGroup {
    version: Version,
    folder: PathBuf,
    /// Whether this value made the folders, and removes them.
    made: bool,
}

impl RealGroup {
    /// Makes both groups, or returns why that is impossible.
    pub(crate) fn new() -> Result<Self, String> {
        let (version, own) = Self::own().ok_or("this process is in none with a CPU controller")?;
        let folder = own.join(format!("gmp-test-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let group = Self { version, folder, made: true };
        fs::create_dir(group.inner()).map_err(|error| error.to_string())?;
        if !group.quota_file().exists() {
            return Err(format!("{} does not exist", group.quota_file().display()));
        }
        Ok(group)
    }

    /// Refers to the group that another process has made.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { version: Self::own().unwrap().0, folder, made: false }
    }

    fn own() -> Option<(Version, PathBuf)> {
        let group = Group::find(&fs::read_to_string("/proc/self/cgroup").ok()?)?;
        let (_, folder) = group.folder(&fs::read_to_string("/proc/self/mountinfo").ok()?)?;
        Some((group.version, folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    fn inner(&self) -> PathBuf {
        self.folder.join("inner")
    }

    fn quota_file(&self) -> PathBuf {
        self.folder.join(match self.version {
            Version::V1 => "cpu.cfs_quota_us",
            Version::V2 => "cpu.max",
        })
    }

    pub(crate) fn set_quota(&self, cpus: f64) {
        let micros = (cpus * 100_000.0).round();
        let text = match self.version {
            Version::V1 => format!("{micros}"),
            Version::V2 => format!("{micros} 100000"),
        };
        fs::write(self.quota_file(), text).unwrap();
    }

    /// Moves this process into the inner group. The quota is then that of an ancestor.
    pub(crate) fn enter(&self) {
        fs::write(self.inner().join("cgroup.procs"), "0").unwrap();
        assert_eq!(Self::own().unwrap().1, self.inner());
    }
}

impl Drop for RealGroup {
    fn drop(&mut self) {
        if self.made {
            let _ = fs::remove_dir(self.inner());
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

const V2_MOUNT: (&str, &str) =
    ("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");

#[test]
fn a_quota_is_rounded_up_as_in_go() {
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
fn the_tightest_limit_of_the_ancestors_counts_in_version_2() {
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
fn missing_limits_and_files_are_no_quota() {
    let fake = Fake::new("none", &[("proc/self/cgroup", "0::/x\n"), V2_MOUNT]);
    assert_eq!(quota(&fake.0), None);
    assert_eq!(quota(Path::new("/nowhere")), None);
}

#[test]
fn version_1_precedes_version_2_also_on_a_partial_mount() {
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
    let cpus = Machine::default().cpus();
    assert!(cpus >= 1 && cpus <= affinity().max(1));
}
