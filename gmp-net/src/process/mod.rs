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
//! ```
//! use gmp_net::process::{Command, Stdio};
//!
//! # gmp_rt::block_on(async {
//! let mut sort = Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let input = sort.stdin.take().expect("it is piped");
//! gmp_rt::spawn(async move { input.write_all(b"b\na\n").await });
//! let output = sort.wait_with_output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"a\nb\n");
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```

mod child;
#[expect(unsafe_code, reason = "a closure that runs in the child before exec")]
mod command;
mod exit;
#[expect(unsafe_code, reason = "a signal with any number, I1 of the module")]
mod kill;
mod orphan;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a signal with any number, I1 of the module")]
#[path = "pidfd_linux.rs"]
mod pidfd;
#[cfg(not(target_os = "linux"))]
#[path = "pidfd_none.rs"]
mod pidfd;
mod stdio;
mod waited;

pub use self::child::Child;
pub use self::command::Command;
pub use self::stdio::{ChildStderr, ChildStdin, ChildStdout};
#[doc(no_inline)]
pub use std::process::{ExitStatus, Output, Stdio};
