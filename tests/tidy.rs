//! House rules that no compiler checks: layers, file sizes, where atomics may be changed.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of a file, without tests and models.
const FILE_CAP: usize = 600;

/// Modules of gmp-rt from the bottom up. A module may use earlier ones and the modules of its own
/// folder.
const LAYERS: &[&[&str]] = &[
    &["prim", "limits", "tuning", "wait_reason"],
    &["util", "sys", "throw"],
    &["tracer"],
    &["g"],
    &["timer"],
    &["p"],
    &["netpoll"],
    &["m"],
    &["sched"],
    &[
        "runtime",
        "time",
        "park",
        "trace",
        "ambient",
        "yielding",
        "preempt",
        "blocking",
        "entry",
        "macros",
        "dev_hooks",
        "lib",
    ],
];

/// The files that contain read-modify-write operations on atomics. Each has loom models or is a
/// separate counter.
const PROOF_FILES: &[&str] = &[
    "gmp-rt/src/prim/raw_lock.rs",
    "gmp-rt/src/g/status.rs",
    "gmp-rt/src/p/ring.rs",
    "gmp-rt/src/p/runq.rs",
    "gmp-rt/src/p/status.rs",
    "gmp-rt/src/m/note.rs",
    "gmp-rt/src/sched/idle.rs",
    "gmp-rt/src/sched/gate.rs",
    "gmp-net/src/poll_desc.rs",
    "gmp-sync/src/claim.rs",
    "gmp-sync/src/raw_mutex.rs",
    "gmp-sync/src/raw_rw_lock.rs",
    "gmp-sync/src/semaphore.rs",
    "gmp-sync/src/pool/try_cell.rs",
    // Counters: no other memory depends on them.
    "gmp-rt/src/sched/goid.rs",
    "gmp-rt/src/sched/live.rs",
    "gmp-net/src/signal/handler.rs",
];

/// Ways to make a raw pointer from a reference.
const POINTERS_FROM_REFERENCES: &[&str] =
    &["NonNull::from(", "from_ref", "from_mut", "as *const", "as *mut", "&raw const *", "addr_of"];

/// The lines of `gmp-rt/src/g` that may use them, by a part of the line. None points to a cell.
const POINTERS_TO_OTHER_THINGS: &[(&str, &str)] = &[
    // A `'static` location that is only read.
    ("gmp-rt/src/g/origin.rs", "Self(NonNull::from(site).cast())"),
    // A leaked box: the pointer covers all of it.
    ("gmp-rt/src/g/origin.rs", "NonNull::from(Box::leak("),
    // A cache that is used through shared references only.
    ("gmp-rt/src/g/heap.rs", "current.set(cache.map_or(ptr::null(), ptr::from_ref))"),
];

/// The files whose atomics are loom's in the models, and the models that run them.
const MODELS: &[(&str, &str)] = &[
    ("gmp-rt/src/prim/raw_lock.rs", "gmp-rt/src/prim/raw_lock_loom.rs"),
    ("gmp-rt/src/prim/futex_queue.rs", "gmp-rt/src/prim/raw_lock_loom.rs"),
    ("gmp-rt/src/g/status.rs", "gmp-rt/src/g/loom.rs"),
    ("gmp-rt/src/g/cell.rs", "gmp-rt/src/g/loom.rs"),
    ("gmp-rt/src/g/mod.rs", "gmp-rt/src/g/loom.rs"),
    ("gmp-rt/src/g/join_slot.rs", "gmp-rt/src/g/loom.rs"),
    ("gmp-rt/src/timer/mod.rs", "gmp-rt/src/timer/loom.rs"),
    ("gmp-rt/src/p/mod.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/p/ring.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/runq.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/status.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/call.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/m/note.rs", "gmp-rt/src/m/loom.rs"),
    ("gmp-rt/src/sched/ps.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/gate.rs", "gmp-rt/src/sched/gate_loom.rs"),
    ("gmp-rt/src/sched/globq.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/idle.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/live.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/shutdown.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/net.rs", "gmp-rt/src/sched/net_loom.rs"),
    ("gmp-net/src/poll_desc.rs", "gmp-net/src/poll_desc_loom.rs"),
    ("gmp-sync/src/chan/shared.rs", "gmp-sync/src/select/loom.rs"),
    ("gmp-sync/src/claim.rs", "gmp-sync/src/select/loom.rs"),
    ("gmp-sync/src/context/scope.rs", "gmp-sync/src/context/loom.rs"),
    ("gmp-sync/src/init.rs", "gmp-sync/src/init_loom.rs"),
    ("gmp-sync/src/pool/aging.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/mod.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/shard.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/try_cell.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/raw_mutex.rs", "gmp-sync/src/raw_mutex_loom.rs"),
    ("gmp-sync/src/raw_rw_lock.rs", "gmp-sync/src/raw_rw_lock_loom.rs"),
    ("gmp-sync/src/semaphore.rs", "gmp-sync/src/semaphore_loom.rs"),
    ("gmp-sync/src/waitq.rs", "gmp-sync/src/cond_loom.rs"),
];

/// A source file of one of the crates, without tests and models.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Returns its lines with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(n, line)| (n + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    for folder in ["src", "gmp-rt/src", "gmp-macros/src", "gmp-net/src", "gmp-sync/src"] {
        collect(&root().join(folder), &mut files);
    }
    assert!(files.len() > 40, "only {} files found", files.len());
    files.sort();
    files
        .into_iter()
        .map(|file| Source {
            path: file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"),
            text: fs::read_to_string(file).unwrap(),
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, files);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.ends_with("loom.rs")
        {
            files.push(path);
        }
    }
}

fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn files_have_one_noun_and_a_header() {
    let mut complaints = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_CAP {
            complaints.push(format!("{}: {lines} lines, more than {FILE_CAP}", source.path));
        }
        let first = source.text.lines().next().unwrap_or_default();
        if !first.starts_with("//!") && !first.starts_with("#![doc") {
            complaints.push(format!("{}: no header that says what it is", source.path));
        }
    }
    assert_none(&complaints);
}

#[test]
fn uses_point_downward() {
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut complaints = Vec::new();
    for source in sources() {
        let Some(inside) = source.path.strip_prefix("gmp-rt/src/") else { continue };
        let own = inside.split(['/', '.']).next().unwrap();
        let Some(own_layer) = layer_of(own) else {
            complaints.push(format!("{}: module {own} has no layer", source.path));
            continue;
        };
        for (n, line) in source.code() {
            for used in line.split("crate::").skip(1) {
                let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                // A macro or a re-export at the crate's root.
                let Some(layer) = layer_of(used) else { continue };
                if layer > own_layer {
                    complaints.push(format!("{}:{n}: {own} uses {used}, above it", source.path));
                }
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn atomics_are_modified_in_proof_files_only() {
    let operations = [
        "compare_exchange",
        "fetch_add",
        "fetch_sub",
        "fetch_or",
        "fetch_and",
        "fetch_max",
        "fetch_min",
        "fetch_update",
        "fetch_xor",
        ".swap(",
    ];
    let mut complaints = Vec::new();
    let mut used = Vec::new();
    for source in sources() {
        for (n, line) in source.code() {
            if operations.iter().any(|operation| line.contains(operation)) {
                if PROOF_FILES.contains(&source.path.as_str()) {
                    used.push(source.path.clone());
                } else {
                    complaints.push(format!("{}:{n}: {}", source.path, line.trim()));
                }
            }
            if line.contains("sync::atomic") && !source.path.starts_with("gmp-rt/src/prim/") {
                complaints.push(format!("{}:{n}: atomics come from prim", source.path));
            }
        }
    }
    for file in PROOF_FILES {
        if !used.iter().any(|path| path == file) {
            complaints.push(format!("{file}: listed as a proof file, but modifies no atomic"));
        }
    }
    assert_none(&complaints);
}

/// A pointer made from a `&G` covers the header only, not the future behind it.
#[test]
fn pointers_to_cells_are_never_made_from_references() {
    let mut complaints = Vec::new();
    let mut used = vec![false; POINTERS_TO_OTHER_THINGS.len()];
    for source in sources().iter().filter(|source| source.path.starts_with("gmp-rt/src/g/")) {
        for (n, line) in source.code() {
            if !POINTERS_FROM_REFERENCES.iter().any(|way| line.contains(way)) {
                continue;
            }
            let listed = |(path, part): &(&str, &str)| source.path == *path && line.contains(part);
            match POINTERS_TO_OTHER_THINGS.iter().position(listed) {
                Some(at) => used[at] = true,
                None => complaints.push(format!("{}:{n}: {}", source.path, line.trim())),
            }
        }
    }
    for ((path, part), used) in POINTERS_TO_OTHER_THINGS.iter().zip(used) {
        if !used {
            complaints.push(format!("{path}: listed, but has no line with `{part}`"));
        }
    }
    assert_none(&complaints);
}

#[test]
fn files_with_atomics_have_models() {
    let mut complaints = Vec::new();
    for source in sources() {
        let imports_atomics = source.code().any(|(_, line)| {
            let line = line.trim_start();
            let from_prim = line.contains("prim::") || source.path.contains("prim/raw_lock");
            line.starts_with("use ")
                && line.contains("Atomic")
                && from_prim
                && !line.contains("fixed::")
        });
        let listed = MODELS.iter().any(|(file, _)| *file == source.path);
        if imports_atomics != listed {
            complaints.push(format!("{}: atomics {imports_atomics}, models {listed}", source.path));
        }
    }
    for (file, models) in MODELS {
        let text = fs::read_to_string(root().join(models)).unwrap_or_default();
        if !text.contains("fn loom_") && !text.contains("loom::model(") {
            complaints.push(format!("{file}: no models in {models}"));
        }
    }
    assert_none(&complaints);
}

#[test]
fn cfgs_are_on_items_of_the_outline_only() {
    let mut complaints = Vec::new();
    for source in sources() {
        let lines: Vec<&str> = source.text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let cfg = line.trim_start().starts_with("#[cfg(");
            // Further attributes may stand between a cfg and its item.
            let item = lines[n + 1..].iter().find(|line| !line.trim_start().starts_with("#["));
            let outline = [
                "mod ",
                "pub mod ",
                "pub(crate) mod ",
                "use ",
                "pub use ",
                "pub(crate) use ",
                "pub(crate) const ",
            ];
            let allowed = |item: &&&str| {
                outline.iter().any(|start| item.trim_start().starts_with(start))
                    || item.trim_start().starts_with("///")
            };
            if cfg && item.filter(allowed).is_none() {
                complaints.push(format!("{}:{}: a cfg inside of code", source.path, n + 1));
            }
            if line.contains("cfg!(") && !line.starts_with("const _: () = assert!") {
                complaints.push(format!("{}:{}: a cfg inside of code", source.path, n + 1));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn every_crate_takes_the_common_lints() {
    for manifest in [
        "Cargo.toml",
        "gmp-rt/Cargo.toml",
        "gmp-macros/Cargo.toml",
        "gmp-net/Cargo.toml",
        "gmp-sync/Cargo.toml",
        "benches/Cargo.toml",
        "examples/ecosystem/Cargo.toml",
    ] {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{manifest}");
    }
}

#[test]
fn the_gate_runs_the_command_of_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo ")).collect();
    let gate = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert_eq!(commands.len(), 2);
    for command in commands {
        // `step LIMIT COMMAND`.
        let runs = |line: &str| {
            let (_limit, step) = line.strip_prefix("step ")?.split_once(' ')?;
            (step == command).then_some(())
        };
        assert!(gate.lines().any(|line| runs(line).is_some()), "{command}");
    }
}

/// Tests that measure run one at a time: the first statement of each takes the lock.
#[test]
fn every_timing_test_runs_alone() {
    let mut files = Vec::new();
    collect(&root().join("tests/timing"), &mut files);
    let mut tests = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for body in text.split("#[test]").skip(1) {
            tests += 1;
            let body = body.split("#[test]").next().unwrap();
            let taken = body.find("let _alone = alone();");
            let end = body.find("\n}\n").unwrap_or(body.len());
            let name = body.lines().nth(1).unwrap_or_default();
            assert!(taken.is_some_and(|at| at < end), "{}: {name}", file.display());
        }
        assert!(!text.contains("#[gmp::test"), "{}: takes no lock", file.display());
    }
    assert!(tests > 10, "only {tests} timing tests found");
}

/// Each row of `tests/rules.md` names the tests of a rule behind their file: `FILE`: `TEST`, ….
#[test]
fn the_tests_of_the_rules_exist() {
    let rules = fs::read_to_string(root().join("tests/rules.md")).unwrap();
    let (mut complaints, mut rows) = (Vec::new(), 0);
    for row in rules.lines().filter(|line| line.starts_with("| R")) {
        rows += 1;
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, _, tests] = cells[..] else { panic!("{row}") };
        assert_eq!(rule, format!("R{rows}"));
        let mut text = None;
        for name in tests.split('`').skip(1).step_by(2) {
            if name.contains('/') {
                text = Some(fs::read_to_string(root().join(name)).expect(name));
                continue;
            }
            let text = text.as_ref().unwrap_or_else(|| panic!("{rule}: {name} has no file"));
            if !text.contains(&format!("fn {name}(")) {
                complaints.push(format!("{rule}: there is no test {name}"));
            }
        }
    }
    assert_eq!(rows, 24);
    assert_none(&complaints);
}
