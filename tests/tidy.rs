//! House rules that no compiler checks: layers, file sizes, names, where atomics may be changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum length of a file, without tests and models.
const FILE_CAP: usize = 600;

/// Modules of gmp-rt from the bottom up. A module may use those before it in this list and those
/// beside it in its row. A path below a module precedes the module's own entry.
const LAYERS: &[&[&str]] = &[
    &["prim", "limits", "tuning", "wait_reason"],
    &["util", "sys", "throw"],
    &["tracer"],
    &["g"],
    &["timer"],
    &["p"],
    &["netpoll"],
    &["m"],
    // What the scheduler itself uses of the layers above it.
    &["observe::event", "observe::stall", "observe::heading", "sysmon::deep_sleep"],
    &["sched"],
    &["observe"],
    &["sysmon"],
    &["api"],
    &["testing"],
];

/// The files of `gmp-rt/src/sched` from the bottom up. A file may use those of earlier rows only.
/// `sched/mod.rs` is not listed: it has the struct that all share.
const SCHED_LAYERS: &[&[&str]] = &[
    &["thread_hooks"],
    &[
        "config",
        "gate",
        "globq",
        "goid",
        "guest",
        "hand_off_counts",
        "inbox",
        "join_threads",
        "live",
        "p_slot",
        "pool",
        "progress",
        "ps",
        "quota",
        "registry",
        "thread_budget",
        "thread_count",
    ],
    &["idle", "panics", "pause"],
    &["wake_sysmon"],
    &["wake"],
    &["local"],
    &["traced"],
    &["procs"],
    &["blocking_limit", "budget", "forked", "worker"],
    &["way_back"],
    &["handoff"],
    &["find", "poller", "run", "serve", "shutdown", "steal", "submit"],
    &["spawn", "stopm", "threads"],
];

/// The maximum number of constants in `tuning.rs`.
const MAX_TUNABLES: usize = 40;

/// The manifests of all packages.
const MANIFESTS: [&str; 9] = [
    "Cargo.toml",
    "gmp-rt/Cargo.toml",
    "gmp-macros/Cargo.toml",
    "gmp-net/Cargo.toml",
    "gmp-sync/Cargo.toml",
    "gmp-tokio/Cargo.toml",
    "benches/Cargo.toml",
    "examples/ecosystem/Cargo.toml",
    "examples/ecosystem-tokio/Cargo.toml",
];

/// The maximum width of a comment and of a line in Markdown, tables and links excepted.
const PROSE_WIDTH: usize = 100;

/// Private types with the same name in several modules of a crate, with the reason.
const SHARED_NAMES: &[(&str, &str, &str)] = &[
    ("gmp-rt", "Culprit", "one for each kind of system"),
    ("gmp-rt", "Find", "one for each kind of system"),
    ("gmp-rt", "Heavy", "one for each kind of system"),
    ("gmp-rt", "Machine", "one for each kind of system"),
    ("gmp-rt", "Seat", "one for each kind of system"),
    ("gmp-rt", "ThreadSleep", "one for each kind of system"),
    ("gmp-rt", "TimerFd", "one for each kind of system"),
    ("gmp-rt", "TraceFile", "one for each kind of system"),
    ("gmp-net", "Bell", "one for each kind of system"),
    ("gmp-net", "Direct", "one for each kind of system"),
    ("gmp-net", "Os", "one for each kind of system"),
    ("gmp-net", "Outcome", "one for each kind of system"),
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
    "gmp-rt/src/m/idle_word.rs",
    "gmp-rt/src/sched/pause/gate.rs",
    "gmp-net/src/poll/desc.rs",
    "gmp-sync/src/wait/claim.rs",
    "gmp-sync/src/lock/raw_mutex.rs",
    "gmp-sync/src/lock/raw_rw_lock.rs",
    "gmp-sync/src/lock/semaphore.rs",
    "gmp-sync/src/oneshot/cell.rs",
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
    ("gmp-rt/src/util/tally.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/timer/mod.rs", "gmp-rt/src/timer/loom.rs"),
    ("gmp-rt/src/p/mod.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/p/ring.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/runq.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/status.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/p/blocking_calls.rs", "gmp-rt/src/p/loom.rs"),
    ("gmp-rt/src/m/note.rs", "gmp-rt/src/m/loom.rs"),
    ("gmp-rt/src/sched/ps.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/pause/gate.rs", "gmp-rt/src/sched/pause/gate_loom.rs"),
    ("gmp-rt/src/sched/globq.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/m/idle_word.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sysmon/deep_sleep.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/live.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/shutdown.rs", "gmp-rt/src/sched/loom.rs"),
    ("gmp-rt/src/sched/poller.rs", "gmp-rt/src/sched/poller_loom.rs"),
    ("gmp-net/src/poll/desc.rs", "gmp-net/src/poll/desc_loom.rs"),
    ("gmp-sync/src/chan/lock.rs", "gmp-sync/src/select/loom.rs"),
    ("gmp-sync/src/wait/claim.rs", "gmp-sync/src/select/loom.rs"),
    ("gmp-sync/src/wait/reports.rs", "gmp-sync/src/wait/reports_loom.rs"),
    ("gmp-sync/src/context/scope.rs", "gmp-sync/src/context/loom.rs"),
    ("gmp-sync/src/once/init.rs", "gmp-sync/src/once/init_loom.rs"),
    ("gmp-sync/src/lock/notify.rs", "gmp-sync/src/lock/notify_loom.rs"),
    ("gmp-sync/src/oneshot/cell.rs", "gmp-sync/src/oneshot/loom.rs"),
    ("gmp-sync/src/pool/aging.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/mod.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/shard.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/pool/try_cell.rs", "gmp-sync/src/pool/loom.rs"),
    ("gmp-sync/src/lock/raw_mutex.rs", "gmp-sync/src/lock/raw_mutex_loom.rs"),
    ("gmp-sync/src/lock/raw_rw_lock.rs", "gmp-sync/src/lock/raw_rw_lock_loom.rs"),
    ("gmp-sync/src/lock/semaphore.rs", "gmp-sync/src/lock/semaphore_loom.rs"),
    ("gmp-sync/src/wait/queue.rs", "gmp-sync/src/lock/cond_loom.rs"),
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

    /// Returns its code before the tests in it, without comments.
    fn shipped_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let starts_tests = |line: &str| line.starts_with("mod tests {");
        self.code().take_while(move |(_, line)| !starts_tests(line))
    }

    /// Returns the path of its module in its crate.
    fn module(&self) -> Vec<&str> {
        let (_, inside) = self.path.split_once("src/").expect("a source file is below `src`");
        let inside = inside.strip_suffix(".rs").expect("it is a Rust file");
        inside.split('/').filter(|part| !["mod", "lib"].contains(part)).collect()
    }

    /// Returns the paths that its code uses, from the root of its crate, with line numbers.
    fn uses(&self) -> Vec<(usize, Vec<String>)> {
        let mut uses = Vec::new();
        let mut statement: Option<(usize, String)> = None;
        for (n, line) in self.shipped_code() {
            let line = line.trim();
            let is_use = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            match (&mut statement, is_use) {
                (Some((_, text)), _) => text.push_str(line),
                (None, Some(tree)) => statement = Some((n, tree.to_owned())),
                (None, None) => {
                    let paths = inline_paths(line).map(|path| (n, self.absolute(&path)));
                    uses.extend(paths);
                }
            }
            if let Some((n, text)) = statement.take_if(|(_, text)| text.ends_with(';')) {
                let mut paths = Vec::new();
                expand_use_tree("", text.trim_end_matches(';'), &mut paths);
                uses.extend(paths.iter().map(|path| (n, self.absolute(path))));
            }
        }
        uses.retain(|(_, path)| !path.is_empty());
        uses
    }

    /// Resolves a path that begins with `crate`, `super` or `self`. Any other one is empty.
    fn absolute(&self, path: &str) -> Vec<String> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut from: Vec<&str> = match parts.next() {
            Some("crate" | "$crate") => Vec::new(),
            Some("self") => self.module(),
            Some("super") => {
                let mut module = self.module();
                module.pop();
                module
            }
            _ => return Vec::new(),
        };
        while parts.next_if_eq(&"super").is_some() {
            from.pop();
        }
        from.into_iter().chain(parts).map(str::to_owned).collect()
    }
}

/// Returns the paths in a line that begin with `crate`, `super` or `self`.
fn inline_paths(line: &str) -> impl Iterator<Item = String> {
    let is_path = |c: char| c.is_alphanumeric() || "_:$".contains(c);
    let words = line.split(move |c: char| !is_path(c));
    let starts = ["crate::", "$crate::", "super::", "self::"];
    words.filter(move |word| starts.iter().any(|start| word.starts_with(start))).map(str::to_owned)
}

/// Adds the paths of a use tree, such as `a::{b, c::d as e}`.
fn expand_use_tree(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        if !path.is_empty() {
            paths.push(format!("{prefix}{path}"));
        }
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let inner = rest.trim_end().strip_suffix('}').expect("a use tree ends with a brace");
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand_use_tree(&prefix, &inner[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand_use_tree(&prefix, &inner[start..], paths);
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    for folder in
        ["src", "gmp-rt/src", "gmp-macros/src", "gmp-net/src", "gmp-sync/src", "gmp-tokio/src"]
    {
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

/// Adds all files of these kinds, with tests and models, but nothing below a `target` folder.
fn collect_all(folder: &Path, kinds: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            collect_all(&path, kinds, files);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|listed| kind == *listed)) {
            files.push(path);
        }
    }
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

/// Each constant that tunes the scheduler has to be justified, so there are few.
#[test]
fn the_scheduler_has_at_most_40_tunables() {
    let text = fs::read_to_string(root().join("gmp-rt/src/tuning.rs")).unwrap();
    let name = |line: &str| {
        let (name, _) = line.strip_prefix("pub(crate) const ")?.split_once(':')?;
        Some(name.to_owned())
    };
    // A constant with another value in the models is one.
    let names: BTreeSet<String> = text.lines().filter_map(name).collect();
    assert!(names.contains("RUNQ_CAP"), "no constant is found: {names:?}");
    assert!(names.len() <= MAX_TUNABLES, "{} constants: {names:?}", names.len());
}

#[test]
fn files_are_short_and_have_a_header() {
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

/// Returns the layer of a module: that of its longest listed prefix.
fn layer_of(module: &[impl AsRef<str>]) -> Option<usize> {
    let parts: Vec<&str> = module.iter().map(AsRef::as_ref).collect();
    (1..=parts.len()).rev().find_map(|n| {
        let prefix = parts[..n].join("::");
        LAYERS.iter().position(|layer| layer.contains(&prefix.as_str()))
    })
}

#[test]
fn uses_point_downward() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with("gmp-rt/src/")) {
        let module = source.module();
        // The crate's root joins all layers.
        if module.is_empty() {
            continue;
        }
        let Some(own_layer) = layer_of(&module) else {
            complaints.push(format!("{}: has no layer", source.path));
            continue;
        };
        for (n, used) in source.uses() {
            // `None`: a macro or a re-export at the crate's root.
            if layer_of(&used).is_some_and(|layer| layer > own_layer) {
                let used = used.join("::");
                complaints.push(format!("{}:{n}: uses {used}, above it", source.path));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn uses_inside_the_scheduler_point_downward() {
    let row_of = |name: &str| SCHED_LAYERS.iter().position(|row| row.contains(&name));
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with("gmp-rt/src/sched/")) {
        let module = source.module();
        let Some(own) = module.get(1) else { continue };
        // The gate is beside its only user, and a module of its own.
        let own = if source.path.ends_with("pause/gate.rs") { "gate" } else { own };
        let Some(own_row) = row_of(own) else {
            complaints.push(format!("{}: has no row", source.path));
            continue;
        };
        for (n, used) in source.uses() {
            let [sched, file, ..] = used.as_slice() else { continue };
            if sched != "sched" || file == own {
                continue;
            }
            // Not a file: the scheduler's struct, or a re-export beside it.
            if row_of(file).is_some_and(|row| row >= own_row) {
                complaints.push(format!("{}:{n}: uses {file}, not below it", source.path));
            }
        }
    }
    assert_none(&complaints);
}

/// Returns whether a line of code has a comment, alone or behind code.
fn has_comment(line: &str) -> bool {
    // An even number of quotes before it: it is not inside a string.
    line.trim_start().starts_with("//")
        || line
            .match_indices(" // ")
            .any(|(at, _)| line[..at].matches('"').count().is_multiple_of(2))
}

/// Returns whether a line is part of a table, in Markdown or in a comment.
fn is_row(line: &str) -> bool {
    line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|')
}

#[test]
fn comments_and_markdown_are_at_most_100_columns_wide() {
    let folders = [
        ".ci/canary",
        "benches",
        "examples",
        "gmp-macros",
        "gmp-net",
        "gmp-rt",
        "gmp-sync",
        "gmp-tokio",
        "src",
        "tests",
    ];
    let mut files: Vec<PathBuf> =
        ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"]
            .map(|file| root().join(file))
            .into();
    for folder in folders {
        collect_all(&root().join(folder), &["rs", "go", "md"], &mut files);
    }
    let (mut complaints, mut found) = (Vec::new(), BTreeSet::new());
    for file in files {
        let kind = file.extension().unwrap().to_owned();
        let text = fs::read_to_string(&file).unwrap();
        for (n, line) in text.lines().enumerate() {
            let is_prose = if kind == "md" { !line.contains("](") } else { has_comment(line) };
            if is_prose && !is_row(line) && line.chars().count() > PROSE_WIDTH {
                let path = file.strip_prefix(root()).unwrap().display();
                complaints.push(format!("{path}:{}: wider than {PROSE_WIDTH} columns", n + 1));
            }
        }
        found.insert(kind);
    }
    assert_eq!(found.len(), 3, "kinds of files: {found:?}");
    assert_none(&complaints);
}

/// A comment that names a file that was renamed leads its reader nowhere.
#[test]
fn source_files_named_in_comments_exist() {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in
        ["src", "gmp-rt", "gmp-macros", "gmp-net", "gmp-sync", "gmp-tokio", "tests", "benches/src"]
    {
        collect_all(&root().join(folder), &["rs"], &mut files);
    }
    collect_all(&root().join("examples"), &["rs"], &mut files);
    let paths: Vec<String> = files.iter().map(|file| format!("/{}", file.display())).collect();
    let is_part = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let mut complaints = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        for (n, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            for name in comment.split(|c| !is_part(c)).filter(|name| name.ends_with(".rs")) {
                let name = name.trim_start_matches(['.', '/']);
                // `rs` alone is the suffix.
                if name != "rs" && !paths.iter().any(|path| path.ends_with(&format!("/{name}"))) {
                    let path = file.strip_prefix(root()).unwrap().display();
                    complaints.push(format!("{path}:{}: there is no {name}", n + 1));
                }
            }
        }
    }
    assert_none(&complaints);
}

/// Returns the name and whether it is `pub`, if the line declares a type.
fn declared_type(line: &str) -> Option<(&str, bool)> {
    let item = line.trim_start();
    let (is_public, item) = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (false, rest.split_once(") ")?.1),
        Some(rest) => (true, rest.trim_start()),
        None => (false, item),
    };
    // An associated type is indented.
    let alias = if line.starts_with(' ') { None } else { item.strip_prefix("type ") };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let name = kinds.iter().find_map(|kind| item.strip_prefix(kind)).or(alias)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some((&name[..end], is_public)).filter(|(name, _)| !name.is_empty())
}

/// A name that means one thing can be searched for. Public types are named through their module.
#[test]
fn private_types_have_names_of_their_own() {
    let mut declared: BTreeMap<(String, String), BTreeMap<String, bool>> = BTreeMap::new();
    for source in sources() {
        if source.path.contains("/testing/") {
            continue;
        }
        let (package, _) = source.path.split_once("src/").unwrap();
        let package = package.trim_end_matches('/').to_owned();
        for (_, line) in source.shipped_code() {
            if let Some((name, is_public)) = declared_type(line) {
                let modules = declared.entry((package.clone(), name.to_owned())).or_default();
                *modules.entry(source.path.clone()).or_insert(true) &= is_public;
            }
        }
    }
    let (mut complaints, mut used) = (Vec::new(), vec![false; SHARED_NAMES.len()]);
    for ((package, name), modules) in &declared {
        if modules.len() < 2 || modules.values().all(|is_public| *is_public) {
            continue;
        }
        match SHARED_NAMES.iter().position(|(p, n, _)| p == package && n == name) {
            Some(at) => used[at] = true,
            None => {
                let files: Vec<_> = modules.keys().cloned().collect();
                complaints.push(format!("{name}: {}", files.join(", ")));
            }
        }
    }
    for ((package, name, _), used) in SHARED_NAMES.iter().zip(used) {
        if !used {
            complaints.push(format!("{package}: {name} is listed, but has one meaning"));
        }
    }
    assert!(declared.len() > 300, "only {} types found", declared.len());
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
    for manifest in MANIFESTS {
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

/// Returns the names of the direct dependencies in a manifest, without gmp's own crates.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut is_list = false;
    manifest.lines().filter_map(move |line| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            is_list = section.ends_with("dependencies") && section != "workspace.dependencies";
            return None;
        }
        let (name, _) = line.split_once(['.', ' ', '=']).filter(|_| is_list)?;
        let is_own = name == "gmp" || name.starts_with("gmp-");
        (!name.is_empty() && !name.starts_with('#') && !is_own).then_some(name)
    })
}

/// The tables of `CONTRIBUTING.md` say why each dependency is there.
#[test]
fn each_dependency_has_a_row_with_its_reason() {
    let manifests = MANIFESTS.map(|path| fs::read_to_string(root().join(path)).unwrap());
    let used: BTreeSet<&str> = manifests.iter().flat_map(|text| dependencies(text)).collect();
    assert!(used.len() > 30, "only {} dependencies found", used.len());
    let guide = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, section) = guide.split_once("\n## Dependencies\n").expect("a section Dependencies");
    let section = section.split("\n## ").next().unwrap();
    let mut listed = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
        for name in cells[0].split('`').skip(1).step_by(2) {
            assert!(listed.insert(name), "{name} is listed twice");
        }
    }
    assert_eq!(used, listed, "left: the manifests, right: CONTRIBUTING.md");
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

/// An item with a documentation alias: its name, the type that it is a method of, its aliases.
struct Aliased {
    name: String,
    owner: Option<String>,
    aliases: Vec<String>,
}

/// Returns the parts of `text` between double quotes.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned)
}

/// Returns the name that a line declares, if it declares a public item or a macro.
fn declared(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("macro_rules! ").or_else(|| {
        let words = line.strip_prefix("pub ")?.split_inclusive(' ');
        let before: usize =
            words.take_while(|word| ["const ", "async "].contains(word)).map(str::len).sum();
        let item = &line["pub ".len() + before..];
        ["fn ", "struct ", "enum ", "trait "].iter().find_map(|kind| item.strip_prefix(kind))
    })?;
    Some(line.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
}

/// Returns the public items of `source` and their documentation aliases.
fn aliased(source: &Source) -> Vec<Aliased> {
    let (mut items, mut owner, mut aliases) = (Vec::new(), None, Vec::new());
    let mut lines = source.code().map(|(_, line)| line);
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        if text.starts_with("impl") {
            let of = text.split(" for ").last().unwrap_or(text).trim_end_matches(['{', ' ']);
            owner = Some(of.to_owned());
        } else if text.starts_with("#[doc(alias") {
            let mut attribute = text.to_owned();
            while !attribute.ends_with(")]") {
                attribute.push_str(lines.next().expect("the end of an attribute"));
            }
            aliases.extend(quoted(&attribute));
        } else if let Some(name) = declared(text) {
            let owner = owner.clone().filter(|_| line.starts_with(' '));
            items.push(Aliased { name, owner, aliases: std::mem::take(&mut aliases) });
        } else if !text.starts_with("#[") {
            assert!(aliases.is_empty(), "{}: an alias of no item: {line}", source.path);
        }
    }
    items
}

/// `tests/aliases.md` lists the aliases of each item.
#[test]
fn documentation_aliases_are_those_of_the_table() {
    let table = fs::read_to_string(root().join("tests/aliases.md")).unwrap();
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `")?.split_once("` | "));
    let rows: Vec<(&str, Vec<&str>)> = rows
        .map(|(item, aliases)| (item, aliases.split('`').skip(1).step_by(2).collect()))
        .collect();
    assert!(rows.len() > 60, "only {} rows found", rows.len());
    let sources = sources();
    let items: Vec<Aliased> = sources.iter().flat_map(aliased).collect();
    // In a macro that defines several types, the owner is a variable.
    let is_of = |item: &Aliased, owner: &str| {
        item.owner.as_ref().is_some_and(|of| of.contains(owner) || of.contains('$'))
    };
    let mut complaints = Vec::new();
    let mut listed: usize = 0;
    for (path, aliases) in &rows {
        let mut segments = path.trim_end_matches('!').rsplit("::");
        let name = segments.next().unwrap();
        let owner = segments.next().filter(|owner| owner.starts_with(char::is_uppercase));
        let found = items.iter().any(|item| {
            let is_owner = owner.map_or(item.owner.is_none(), |owner| is_of(item, owner));
            let has = |alias: &&str| item.aliases.iter().any(|known| known == alias);
            item.name == name && is_owner && aliases.iter().all(has)
        });
        listed += aliases.len();
        if !found {
            complaints.push(format!("{path}: no such item with all of {aliases:?}"));
        }
    }
    let mut present = 0;
    for item in &items {
        let by_rule = match item.name.strip_suffix("_blocking") {
            Some(verb) if item.name != "spawn_blocking" => Some(format!("blocking_{verb}")),
            _ => None,
        };
        if let Some(alias) = by_rule.as_ref().filter(|alias| !item.aliases.contains(alias)) {
            complaints.push(format!("{}: has no alias {alias}", item.name));
        }
        if item.aliases.contains(&item.name) {
            complaints.push(format!("{}: is an alias of itself", item.name));
        }
        present += item.aliases.iter().filter(|alias| by_rule.as_ref() != Some(alias)).count();
    }
    if present != listed {
        complaints.push(format!("{present} aliases in the sources, {listed} in the table"));
    }
    assert_none(&complaints);
}
