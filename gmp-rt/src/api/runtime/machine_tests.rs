//! The number of Ps follows the CPU quota: of a fake machine, and of a real control group where the
//! OS allows to make one.

use super::env::Env;
use super::{Builder, Runtime};
use crate::sys::cpu_limit::Machine;
use crate::sys::cpu_limit::tests::{Fake, RealGroup};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The environment variable with the folder of the group, for the child process that enters it.
const GROUP: &str = "GMP_TEST_GROUP";

/// Sysmon reads the quota once a second, as Go does. The rest is a margin for busy machines.
const SOON: Duration = Duration::from_secs(5);

/// Builds a runtime with an affinity of 64 CPUs that reads quotas below `root`.
fn runtime(root: &Path) -> Runtime {
    let mut builder = Builder::new();
    builder.config.machine = Machine { root: root.into(), affinity: || 64 };
    // `GMPMAXPROCS` of the environment would take precedence over the machine.
    builder.build_with(&Env::default()).unwrap()
}

/// Waits until `runtime` has `procs` Ps. A goroutine keeps it busy, because an idle runtime does
/// not read the quota.
fn assert_follows(runtime: &Runtime, procs: usize) {
    let start = Instant::now();
    let handle = runtime.handle().clone();
    let waits = runtime.spawn(async move {
        while handle.max_procs() != procs {
            crate::yield_now().await;
        }
    });
    crate::block_on(waits).unwrap();
    assert!(start.elapsed() < SOON, "{procs} Ps after {:?}", start.elapsed());
}

#[test]
fn max_procs_follow_a_quota_that_changes() {
    const MAX: &str = "sys/fs/cgroup/app/cpu.max";
    let fake = Fake::v2("follows", "/app", &[(MAX, "300000 100000\n")]);
    let runtime = runtime(&fake.0);
    assert_eq!(runtime.max_procs(), 3);
    for (quota, procs) in [("410000 100000", 5), ("150000 100000", 2), ("max 100000", 64)] {
        fake.write(MAX, quota);
        assert_follows(&runtime, procs);
    }
    // The quota of an ancestor. Go has an open bug there.
    fake.write("sys/fs/cgroup/cpu.max", "700000 100000\n");
    assert_follows(&runtime, 7);
    // A file that is half-written or gone is no limit.
    fake.write("sys/fs/cgroup/cpu.max", "");
    assert_follows(&runtime, 64);
}

#[test]
fn an_explicit_number_of_procs_is_kept() {
    const MAX: &str = "sys/fs/cgroup/app/cpu.max";
    let fake = Fake::v2("keeps", "/app", &[(MAX, "300000 100000\n")]);
    let runtime = runtime(&fake.0);
    assert_eq!(runtime.handle().set_max_procs(6), Ok(3));
    fake.write(MAX, "400000 100000\n");
    // Sysmon does this once a second.
    runtime.sched().update_procs();
    assert_eq!(runtime.max_procs(), 6);
}

/// After a number was set by a call, the builder or the environment, `set_default_max_procs` reads
/// the quota at once and follows it again.
#[test]
fn the_way_back_to_automatic_follows_the_quota_again() {
    const MAX: &str = "sys/fs/cgroup/app/cpu.max";
    let fake = Fake::v2("back", "/app", &[(MAX, "300000 100000\n")]);
    let builder = || {
        let mut builder = Builder::new();
        builder.config.machine = Machine { root: fake.0.clone(), affinity: || 64 };
        builder
    };
    let by_call = builder().build_with(&Env::default()).unwrap();
    assert!(by_call.handle().max_procs_is_automatic());
    assert_eq!(by_call.handle().set_max_procs(3), Ok(3));
    let by_builder = builder().max_procs(5).build_with(&Env::default()).unwrap();
    let by_env = builder().build_with(&Env { procs: Some(6), ..Env::default() }).unwrap();
    for (runtime, set) in [(by_call, 3), (by_builder, 5), (by_env, 6)] {
        fake.write(MAX, "400000 100000\n");
        runtime.sched().update_procs();
        assert_eq!((runtime.max_procs(), runtime.handle().max_procs_is_automatic()), (set, false));
        assert_eq!(runtime.handle().set_default_max_procs(), set);
        assert_eq!((runtime.max_procs(), runtime.handle().max_procs_is_automatic()), (4, true));
        fake.write(MAX, "700000 100000\n");
        runtime.sched().update_procs();
        assert_eq!(runtime.max_procs(), 7);
        assert_eq!(runtime.handle().set_default_max_procs(), 7, "automatic already");
    }
}

#[test]
fn the_current_runtime_becomes_automatic() {
    let fake = Fake::v2("current", "/app", &[("sys/fs/cgroup/app/cpu.max", "300000 100000\n")]);
    let runtime = runtime(&fake.0);
    runtime.block_on(async {
        crate::set_max_procs(9).unwrap();
        assert_eq!(crate::runtime::set_default_max_procs(), 9);
    });
    assert_eq!(runtime.max_procs(), 3);
}

#[test]
fn the_number_of_cpus_ignores_the_quota() {
    let fake = Fake::v2("cpus", "/app", &[("sys/fs/cgroup/app/cpu.max", "200000 100000\n")]);
    let machine = Machine { root: fake.0.clone(), affinity: || 64 };
    assert_eq!((machine.num_cpu(), machine.cpus()), (64, 2));
    assert_eq!(runtime(&fake.0).max_procs(), 2);
}

/// The number is read when the first runtime is built.
#[test]
fn the_number_of_cpus_does_not_change_with_the_affinity() {
    let _runtime = Builder::new().build().unwrap();
    let before = super::num_cpu();
    let within = std::thread::spawn(|| {
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..).find(|cpu| all.is_set(*cpu)).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set(first);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        (super::num_cpu(), Machine::default().num_cpu())
    });
    assert_eq!(within.join().unwrap(), (before, 1));
}

/// Each call of `update_procs` is a reading, which sysmon makes once a second.
#[test]
fn each_reading_of_the_quota_sets_the_number() {
    const MAX: &str = "sys/fs/cgroup/app/cpu.max";
    let fake = Fake::v2("reads", "/app", &[(MAX, "50000 100000\n")]);
    let runtime = runtime(&fake.0);
    assert_eq!(runtime.max_procs(), 2);
    let table = [("100000", 2), ("150000", 2), ("250000", 3), ("max", 64), ("9900000", 64)];
    for (quota, procs) in table {
        fake.write(MAX, &format!("{quota} 100000\n"));
        runtime.sched().update_procs();
        assert_eq!(runtime.max_procs(), procs, "{quota}");
    }
}

#[test]
fn a_number_in_the_environment_precedes_the_quota() {
    const MAX: &str = "sys/fs/cgroup/app/cpu.max";
    let fake = Fake::v2("precedes", "/app", &[(MAX, "300000 100000\n")]);
    let mut builder = Builder::new();
    builder.config.machine = Machine { root: fake.0.clone(), affinity: || 64 };
    let runtime = builder.build_with(&Env { procs: Some(5), ..Env::default() }).unwrap();
    assert_eq!(runtime.max_procs(), 5);
    fake.write(MAX, "400000 100000\n");
    runtime.sched().update_procs();
    assert_eq!(runtime.max_procs(), 5);
}

#[test]
fn max_procs_follow_the_quota_of_a_real_control_group() {
    if let Some(group) = std::env::var_os(GROUP) {
        return inside_the_group(&RealGroup::at(group.into()));
    }
    let group = match RealGroup::new() {
        Ok(group) => group,
        Err(why) => {
            // Not by a macro: the test harness would capture the output.
            let text = format!("NOT TESTED: no control group can be made here: {why}\n");
            let _ = io::stderr().write_all(text.as_bytes());
            return;
        }
    };
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = "api::runtime::machine_tests::max_procs_follow_the_quota_of_a_real_control_group";
    child.args([name, "--exact", "--nocapture"]).env(GROUP, group.path());
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("was in the group"), "{text}");
}

/// Runs in the child process.
fn inside_the_group(group: &RealGroup) {
    group.set_quota(2.5);
    group.enter();
    eprintln!("was in the group");
    let runtime = runtime(Path::new("/"));
    assert_eq!(runtime.max_procs(), 3);
    for (quota, procs) in [(4.5, 5), (1.5, 2), (3.0, 3)] {
        group.set_quota(quota);
        assert_follows(&runtime, procs);
    }
}
