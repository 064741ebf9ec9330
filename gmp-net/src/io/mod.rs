//! Input and output apart from sockets: copying, files, standard input and output.

mod blocking;
mod buffered;
mod copy;
#[cfg(target_os = "linux")]
mod direct;
#[cfg(not(target_os = "linux"))]
#[path = "direct_none.rs"]
mod direct;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a type found to be another, I1 of the module")]
mod probe;
mod stdin;
mod stdio;
mod stdout;
mod tally;

pub use self::blocking::Blocking;
pub use self::copy::{copy, copy_bidirectional};
pub use self::stdin::{Stdin, StdinLines, stdin};
pub use self::stdout::{Stderr, Stdout, stderr, stdout};
