//! Requests with curl.

use std::io::{self, Write};
use std::process::Command;

/// The output and exit code of curl.
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
    /// The output of `--verbose`: the traffic.
    pub(crate) log: String,
    pub(crate) code: i32,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether this line of a header or trailer was received.
    pub(crate) fn received(&self, line: &str) -> bool {
        self.log.lines().any(|got| got.trim_end() == format!("< {line}"))
    }
}

/// Runs curl. Returns `None` if curl cannot start.
pub(crate) fn curl(args: &[&str]) -> Option<Answer> {
    let common = ["--silent", "--show-error", "--verbose", "--max-time", "60", "--noproxy", "*"];
    let output = match Command::new("curl").args(common).args(args).output() {
        Ok(output) => output,
        Err(error) => {
            // Not `eprintln!`: the test harness shows its output only for failed tests.
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
