//! How a dump, and the message of a panic, name a goroutine.

use crate::g::G;
use std::fmt;

/// The lines of a goroutine in Go's format, such as
/// `goroutine 7 [chan receive, 3 minutes] {name: worker}:`, then the place where it was spawned.
#[derive(Debug)]
pub(crate) struct Heading<'a> {
    pub(crate) g: &'a G,
    pub(crate) state: &'a str,
    /// How long it has been in this state. Not shown if it is 0.
    pub(crate) minutes: u64,
}

impl Heading<'_> {
    /// Returns the text with a line after the first one, where Go has the frames of the stack.
    pub(super) fn with_line(&self, line: &str) -> String {
        self.to_string().replacen('\n', &format!("\n{line}\n"), 1)
    }
}

impl fmt::Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "goroutine {} [{}", self.g.goid(), self.state)?;
        if self.minutes > 0 {
            write!(f, ", {} minutes", self.minutes)?;
        }
        f.write_str("]")?;
        if let Some(name) = self.g.name() {
            write!(f, " {{name: {name}}}")?;
        }
        writeln!(f, ":\ncreated by goroutine {}\n\t{}", self.g.parent(), self.g.site())
    }
}
