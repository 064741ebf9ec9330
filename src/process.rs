//! Child processes (Go: `os/exec`).
//!
//! A goroutine that waits for the end of a child, or for its pipes, holds no thread. On Linux the
//! netpoller waits for a *pidfd*, a descriptor that becomes readable when the child ends. On other
//! systems, and where the kernel refuses a pidfd, it waits for SIGCHLD and asks for the status of
//! this child only: other parts of the program keep theirs.
//!
//! A child that is dropped continues to run, unless [`kill_on_drop`](Command::kill_on_drop) is set.
//! When it ends, the event in the netpoller *reaps* it: no zombie stays, also if the program never
//! starts another child.
//!
//! # Examples
//!
//! ```no_run
//! use gmp::process::Command;
//!
//! #[gmp::main]
//! async fn main() -> gmp::io::Result<()> {
//!     let output = Command::new("git").args(["log", "--oneline"]).output().await?;
//!     println!("{} commits", output.stdout.split(|&byte| byte == b'\n').count() - 1);
//!     Ok(())
//! }
//! ```

pub use gmp_net::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
#[doc(no_inline)]
pub use gmp_net::process::{ExitStatus, Output, Stdio};
