//! Compiler messages for wrong uses of the macros and types.
//!
//! Every file in `tests/ui/fail` must fail to compile with the messages in the `.stderr` file
//! beside it; every file in `tests/ui/pass` must compile without a warning and run. It must also
//! compile in the edition 2021, under clippy, whose lints are those that the file itself denies.
//!
//! The files in `tests/ui/guess` are the first guesses of users of Go, Tokio and std. The messages
//! for each, errors or warnings, must be those in its `.stderr` file, and none without that file.
//! The first line of a file is its target: what the compiler shall say. Behind it is `Met.`, or the
//! issue that brings it.
//!
//! `GMP_UI_BLESS=1` rewrites the `.stderr` files.
//!
//! `rustc` compiles the files directly, against the library that cargo has just built for this
//! test. A package per file would build all dependencies once more.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::SystemTime;

/// The compiler that wrote the `.stderr` files. The messages of another one may differ.
const BLESSED_BY: &str = "rustc 1.95.";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the libraries that this test was linked with.
fn deps() -> PathBuf {
    let test = std::env::current_exe().expect("own path");
    test.parent().expect("a folder").to_owned()
}

/// Returns the library `gmp`: the newest one in the folder, since cargo builds it before it runs
/// this test.
fn library() -> PathBuf {
    let built = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    let is_gmp = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libgmp-") && name.ends_with(".rlib")
    };
    let files = fs::read_dir(deps()).expect("the folder of this test");
    let libraries = files.filter_map(|file| Some(file.ok()?.path())).filter(is_gmp);
    libraries.max_by_key(|path| built(path).unwrap_or(SystemTime::UNIX_EPOCH)).expect("libgmp")
}

fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    // `.ci/flaky` sets it for the test harness. With it a compiler accepts code that stable Rust
    // rejects.
    command.env_remove("RUSTC_BOOTSTRAP");
    command
}

/// The `.rs` files in a folder of `tests/ui`, as paths from the root.
fn cases(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new("tests/ui").join(folder);
    let files = fs::read_dir(root().join(&folder)).expect("the folder of cases");
    let names = files.map(|file| file.expect("a file").file_name());
    let sources = names.filter(|name| name.to_string_lossy().ends_with(".rs"));
    let mut cases: Vec<PathBuf> = sources.map(|name| folder.join(name)).collect();
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    cases.sort();
    cases
}

/// Whether a warning fails the compilation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Warnings {
    Denied,
    Shown,
}

/// Compiles one case to `output`.
fn compile(case: &Path, library: &Path, warnings: Warnings, output: &Path) -> Output {
    let level = match warnings {
        Warnings::Denied => "-Dwarnings",
        Warnings::Shown => "-Wwarnings",
    };
    rustc()
        .args(["--edition=2024", "--crate-type=bin", "--crate-name=case", "--color=never"])
        .args(["-Cdebuginfo=0", level])
        .arg(format!("--extern=gmp={}", library.display()))
        .arg(format!("-Ldependency={}", deps().display()))
        .arg("-o")
        .arg(output)
        .arg(case)
        .current_dir(root())
        .output()
        .expect("rustc")
}

/// Runs `check` on all cases, one thread per CPU, and fails with all complaints at once.
fn check_all(cases: Vec<PathBuf>, check: impl Fn(&Path, &Path) -> Result<(), String> + Sync) {
    let scratch = std::env::temp_dir().join(format!("gmp-ui-{}-{:p}", std::process::id(), &cases));
    fs::create_dir_all(&scratch).expect("a temporary folder");
    let (queue, complaints) = (Mutex::new(cases), Mutex::new(String::new()));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..cpus {
            let output = scratch.join(worker.to_string());
            let (queue, complaints, check) = (&queue, &complaints, &check);
            scope.spawn(move || {
                loop {
                    let Some(case) = queue.lock().unwrap().pop() else { return };
                    if let Err(complaint) = check(&case, &output) {
                        let mut complaints = complaints.lock().unwrap();
                        let _ = writeln!(complaints, "\n=== {}\n{complaint}", case.display());
                    }
                }
            });
        }
    });
    let _ = fs::remove_dir_all(scratch);
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{complaints}");
}

/// How messages are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Compare with the `.stderr` file.
    Exactly,
    /// Do not compare, because the compiler is another one.
    FailureOnly,
    /// Write the messages to the `.stderr` file.
    Bless,
}

fn mode() -> Mode {
    if std::env::var_os("GMP_UI_BLESS").is_some() {
        return Mode::Bless;
    }
    let version = rustc().arg("--version").output().expect("rustc").stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    if version.starts_with(BLESSED_BY) {
        return Mode::Exactly;
    }
    eprintln!("\n*** NOT CHECKED: the words of {} (known: {BLESSED_BY})", version.trim());
    Mode::FailureOnly
}

/// Compiles one case in the edition 2021, and no further than to its types. Clippy does it if it is
/// installed.
fn check_in_2021(case: &Path, library: &Path, output: &Path) -> Output {
    let check = |mut compiler: Command| {
        compiler
            .args(["--edition=2021", "--crate-type=bin", "--crate-name=case", "--color=never"])
            .args(["--emit=metadata", "-Dwarnings", "-Aclippy::all"])
            .arg(format!("--extern=gmp={}", library.display()))
            .arg(format!("-Ldependency={}", deps().display()))
            .arg("-o")
            .arg(output)
            .arg(case)
            .current_dir(root())
            .output()
    };
    let mut clippy = Command::new("clippy-driver");
    clippy.env_remove("RUSTC_BOOTSTRAP");
    check(clippy).or_else(|_| check(rustc())).expect("rustc")
}

/// Compares messages with the `.stderr` file of their case. No file means no messages.
fn compare(case: &Path, messages: &str, mode: Mode) -> Result<(), String> {
    let file = root().join(case).with_extension("stderr");
    match mode {
        Mode::FailureOnly => {}
        Mode::Bless if messages.is_empty() => {
            let _ = fs::remove_file(file);
        }
        Mode::Bless => fs::write(file, messages).expect("write the messages"),
        Mode::Exactly => {
            let known = fs::read_to_string(file).unwrap_or_default();
            if known != messages {
                return Err(format!("--- known\n{known}--- now\n{messages}"));
            }
        }
    }
    Ok(())
}

#[test]
fn wrong_programs_fail_with_the_messages_we_know() {
    let (library, mode) = (library(), mode());
    check_all(cases("fail"), |case, output| {
        let compiled = compile(case, &library, Warnings::Denied, output);
        if compiled.status.success() {
            return Err("compiles, and should not".into());
        }
        compare(case, &normalized(&String::from_utf8_lossy(&compiled.stderr), case), mode)
    });
}

#[test]
fn first_guesses_get_the_answers_we_know() {
    let (library, mode) = (library(), mode());
    check_all(cases("guess"), |case, output| {
        let source = fs::read_to_string(root().join(case)).expect("the case");
        let target = source.lines().next().and_then(|line| line.strip_prefix("// target: "));
        let Some(target) = target else {
            return Err("the first line does not name the target".into());
        };
        if !target.ends_with(" Met.") && !target.contains(" Issue: ") {
            return Err("the first line says neither `Met.` nor which issue brings it".into());
        }
        let compiled = compile(case, &library, Warnings::Shown, output);
        let known = fs::read_to_string(root().join(case).with_extension("stderr"));
        let fails = known.is_ok_and(|known| known.lines().any(|line| line.starts_with("error")));
        if mode != Mode::Bless && fails == compiled.status.success() {
            return Err(format!("ends with {}", compiled.status));
        }
        compare(case, &normalized(&String::from_utf8_lossy(&compiled.stderr), case), mode)
    });
}

#[test]
fn there_is_one_file_for_each_first_guess() {
    let cases = cases("guess");
    let numbers: Vec<u32> = cases
        .iter()
        .map(|case| {
            let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let (number, _) = name.split_once('_').expect("a number and a name");
            number.parse().expect("a number")
        })
        .collect();
    assert_eq!(numbers, (1..=25).collect::<Vec<_>>());
}

#[test]
fn right_programs_compile_without_warnings_and_run() {
    let library = library();
    check_all(cases("pass"), |case, output| {
        let compiled = compile(case, &library, Warnings::Denied, output);
        if !compiled.status.success() {
            return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
        }
        let ran = Command::new(output).output().expect("run the case");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        ran.status.success().then_some(()).ok_or(format!("{}: {stderr}", ran.status))?;
        let checked = check_in_2021(case, &library, output);
        let stderr = String::from_utf8_lossy(&checked.stderr);
        checked.status.success().then_some(()).ok_or(format!("in the edition 2021: {stderr}"))
    });
}

#[test]
fn every_messages_file_has_a_case() {
    for folder in ["tests/ui/fail", "tests/ui/guess"] {
        let files = fs::read_dir(root().join(folder)).expect("the folder of cases");
        for file in files.map(|file| file.expect("a file").path()) {
            assert!(file.with_extension("rs").exists(), "{} has no case", file.display());
        }
    }
}

/// Removes the parts of messages that change when other files do: line numbers, folders, and the
/// width of the margin, which depends on the longest line number.
fn normalized(messages: &str, case: &Path) -> String {
    let mut text = String::new();
    let mut in_case = true;
    for line in messages.lines() {
        let line = if let Some(place) = place(line) {
            in_case = Path::new(place.path) == case;
            place.without_foreign_numbers(in_case)
        } else if let Some((number, source)) = margin(line) {
            let number = if in_case { number } else { "" };
            format!("{number:>4} |{source}")
        } else if let Some(note) = line.trim_start().strip_prefix("= ") {
            format!("     = {note}")
        } else {
            line.to_owned()
        };
        let line = without_our_numbers(&line.replace(&*root().to_string_lossy(), "$ROOT"));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Removes the line numbers of our crates from the text of a line, as in `{async
/// block@gmp-rt/src/api/macros.rs:40:9: 40:47}`.
fn without_our_numbers(line: &str) -> String {
    let Some(at) = line.find("gmp-") else { return line.to_owned() };
    let Some(end) = line[at..].find(".rs:").map(|end| at + end + ".rs".len()) else {
        return line.to_owned();
    };
    let numbers = |c: char| c.is_ascii_digit() || c == ':' || c == ' ';
    format!("{}{}", &line[..end], without_our_numbers(line[end..].trim_start_matches(numbers)))
}

/// A line such as `  --> src/lib.rs:12:5`.
struct Place<'a> {
    arrow: &'a str,
    path: &'a str,
    numbers: &'a str,
}

fn place(line: &str) -> Option<Place<'_>> {
    let (arrow, rest) = line.trim_start().split_once(' ')?;
    if arrow != "-->" && arrow != ":::" {
        return None;
    }
    let at = rest.find(".rs:").map(|at| at + ".rs".len())?;
    Some(Place { arrow, path: &rest[..at], numbers: &rest[at..] })
}

impl Place<'_> {
    fn without_foreign_numbers(&self, in_case: bool) -> String {
        let numbers = if in_case { self.numbers } else { "" };
        // Folders of the toolchain and of downloaded packages differ from machine to machine.
        let path = match self.path.split_once("/library/") {
            Some((_, inside)) => format!("$RUST/{inside}"),
            None if Path::new(self.path).is_absolute() => {
                let name = Path::new(self.path).file_name().unwrap_or_default().to_string_lossy();
                format!("$DEPENDENCY/{name}")
            }
            None => self.path.to_owned(),
        };
        format!("    {} {path}{numbers}", self.arrow)
    }
}

/// Splits `12 | source` into number and source.
fn margin(line: &str) -> Option<(&str, &str)> {
    let (number, source) = line.split_once('|')?;
    let number = number.trim();
    number.chars().all(|c| c.is_ascii_digit()).then_some((number, source))
}

#[test]
fn numbers_of_other_files_are_left_out() {
    let messages = "error: no
   --> tests/ui/fail/a.rs:5:9
    |
  5 |     go!();
    |     ^^^^^
note: required by this
   --> gmp-rt/src/api/spawn.rs:1234:5
    |
1234 | pub fn spawn<F>(f: F)
    |        ----- here
    = note: more in `{async block@gmp-rt/src/api/macros.rs:40:9: 40:47}`, and more
   ::: /rustc/0123abcd/library/core/src/a.rs:7:1
";
    let expected = "error: no
    --> tests/ui/fail/a.rs:5:9
     |
   5 |     go!();
     |     ^^^^^
note: required by this
    --> gmp-rt/src/api/spawn.rs
     |
     | pub fn spawn<F>(f: F)
     |        ----- here
     = note: more in `{async block@gmp-rt/src/api/macros.rs}`, and more
    ::: $RUST/core/src/a.rs
";
    assert_eq!(normalized(messages, Path::new("tests/ui/fail/a.rs")), expected);
}
