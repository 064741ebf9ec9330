//! A child process that a test talks to.

use super::child_command;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};

/// A child with pipes, and the lines that it writes to stderr. Its stdout also has the lines of the
/// test harness.
pub(crate) struct Talk {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) said: Lines<BufReader<ChildStderr>>,
}

impl Talk {
    pub(crate) fn new(name: &str, env: &[(&str, &str)]) -> Self {
        let mut command = child_command(name, env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { input: child.stdin.take().unwrap(), said, child }
    }

    /// Returns the next line.
    pub(crate) fn hear(&mut self) -> String {
        self.said.next().expect("it ended").unwrap()
    }

    /// Waits for a line that contains `text`.
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !self.hear().contains(text) {}
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// Closes the input of the child and waits for the child. Returns its last lines, which a
    /// failure shows.
    pub(crate) fn end(mut self) -> Vec<String> {
        drop(self.input);
        let rest: Vec<String> = self.said.map_while(Result::ok).collect();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", rest.join("\n"));
        rest
    }
}
