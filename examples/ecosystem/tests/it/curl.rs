//! Asking with curl.

use std::io::{self, Write};
use std::process::Command;

/// What curl printed and how it ended.
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
    /// What it prints with `--verbose`: what went over the wire.
    pub(crate) log: String,
    pub(crate) code: i32,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether a line of a header or of a trailer was received.
    pub(crate) fn received(&self, line: &str) -> bool {
        self.log.lines().any(|got| got.trim_end() == format!("< {line}"))
    }
}

/// Runs curl; `None` if there is none.
pub(crate) fn curl(args: &[&str]) -> Option<Answer> {
    let common = ["--silent", "--show-error", "--verbose", "--max-time", "60", "--noproxy", "*"];
    let output = match Command::new("curl").args(common).args(args).output() {
        Ok(output) => output,
        Err(error) => {
            // Not by a macro: what those print is shown for tests that fail only.
            let _ = writeln!(io::stderr(), "NOT TESTED with curl, which cannot start: {error}");
            return None;
        }
    };
    Some(Answer {
        body: output.stdout,
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().expect("curl ends by itself"),
    })
}
