//! `ARCHITECTURE.md` names files and functions. They exist, and its counts are right.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// Returns the links of a line: what they show, and the paths to which they lead.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('[').skip(1).filter_map(|rest| {
        let (shown, rest) = rest.split_once("](")?;
        Some((shown, rest.split_once(')')?.0))
    })
}

/// Returns the number and the link of a row that stands for a call.
fn call(line: &str) -> Option<(usize, &str, &str)> {
    let (number, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
    let (shown, path) = links(rest).next()?;
    Some((number.parse().ok()?, shown.trim_matches('`'), path))
}

#[test]
fn its_links_lead_to_files_and_folders() {
    let text = text();
    let paths: BTreeSet<&str> = text.lines().flat_map(links).map(|(_, path)| path).collect();
    assert!(paths.len() > 40, "only {} links found", paths.len());
    for path in paths {
        assert!(root().join(path).exists(), "{path} does not exist");
    }
}

#[test]
fn its_calls_are_functions_of_their_files() {
    let text = text();
    let mut calls = 0;
    for (_, name, path) in text.lines().filter_map(call) {
        calls += 1;
        let function = name.rsplit("::").next().unwrap();
        let file = fs::read_to_string(root().join(path)).expect(path);
        let declares = |kind: &str| {
            let start = format!("{kind} {function}");
            let ends = |rest: &str| rest.starts_with(['(', '<', ' ']);
            file.match_indices(&start).any(|(at, found)| ends(&file[at + found.len()..]))
        };
        assert!(declares("fn") || declares("macro_rules!"), "{path} has no function {name}");
        // The type of a method, or the module of a function, is in the file too.
        if let Some((owner, _)) = name.split_once("::") {
            let is_type = owner.starts_with(char::is_uppercase);
            let module = PathBuf::from(path).with_extension("");
            assert!(
                if is_type { file.contains(owner) } else { module.ends_with(owner) },
                "{path} has nothing called {owner}, which {name} needs"
            );
        }
    }
    assert!(calls > 100, "only {calls} calls found");
}

/// A section says how many calls and files its path has.
#[test]
fn it_counts_the_calls_and_files_of_each_path() {
    let text = text();
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 3);
    for section in sections {
        let calls: Vec<_> = section.lines().filter_map(call).collect();
        for (at, (number, name, _)) in calls.iter().enumerate() {
            assert_eq!(*number, at + 1, "the number of {name}");
        }
        let files: BTreeSet<&str> = calls.iter().map(|(_, _, path)| *path).collect();
        let prose = section.replace('\n', " ");
        let (calls, files) = (calls.len(), files.len());
        let said = [format!("{calls} calls in {files} files"), format!("{calls} in {files} to")];
        assert!(said.iter().any(|said| prose.contains(said)), "{} in {}", said[0], &section[..40]);
    }
}
