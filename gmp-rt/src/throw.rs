//! `throw!`, for broken invariants of the runtime.
//!
//! [`fatal_misuse`] is for what the program did to the process, so that the runtime cannot
//! continue.
//!
//! As in Go, `panic` is for mistakes of the user and can be caught. `throw` is for bugs of the
//! runtime and cannot be caught, because a runtime with a broken invariant must not continue to
//! schedule.

use crate::sys::stderr;
use std::time::Duration;

/// How long a process that is about to end waits until stderr has room for its last message.
/// Chosen: long enough for a reader that is not awake.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// Reports a broken runtime invariant and aborts the process.
///
/// The message starts with the function that detected it: `throw!("park: no P")`.
macro_rules! throw {
    ($($arg:tt)*) => {
        $crate::throw::fatal(format_args!($($arg)*))
    };
}
pub(crate) use throw;

/// Prints `message` as a fatal runtime error and aborts.
#[cold]
#[inline(never)]
pub(crate) fn fatal(message: std::fmt::Arguments<'_>) -> ! {
    // Not `eprintln!`, which panics if stderr is closed: the caller would unwind.
    stderr::write_line(
        &format!(
            "gmp: fatal runtime error: {message}\n\
             gmp: this is a bug in gmp, not in your program; please report it"
        ),
        LAST_WORDS,
    );
    std::process::abort()
}

/// Prints `message` as a fatal error that the program has caused, and aborts.
#[cold]
#[inline(never)]
pub(crate) fn fatal_misuse(message: std::fmt::Arguments<'_>) -> ! {
    stderr::write_line(&format!("gmp: fatal error: {message}"), LAST_WORDS);
    std::process::abort()
}

/// Prints that a descriptor of gmp is gone, and aborts. `call` is the system call that failed.
///
/// The runtime cannot continue: its threads wait for events of a descriptor that is closed, or that
/// belongs to another file now. A new descriptor in its place would not help, because the drop of
/// the old one would close that file.
#[cold]
pub(crate) fn lost_descriptor(call: &str, error: &std::io::Error) -> ! {
    fatal_misuse(format_args!(
        "a descriptor of the runtime is lost ({call}: {error}): the program has closed descriptors \
         that it did not open; start the runtime after the program has become a daemon"
    ))
}

/// Aborts the process if it is dropped during a panic. For code in which unwinding would leave a
/// goroutine without an owner.
#[derive(Debug)]
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            throw!("panic while {}", self.0);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    /// Set in the child process of the test below.
    const CHILD: &str = "GMP_THROW_CHILD";

    #[test]
    fn throw_aborts_although_stderr_is_closed() {
        if std::env::var_os(CHILD).is_some() {
            // Writes fail once the parent has closed its end.
            while std::io::Write::write_all(&mut std::io::stderr(), b".").is_ok() {}
            let unwound = std::panic::catch_unwind(|| throw!("a test"));
            unreachable!("throw returned {unwound:?}");
        }
        let name = "throw::tests::throw_aborts_although_stderr_is_closed";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        let status = child.wait().unwrap();
        const SIGABRT: i32 = 6;
        assert_eq!(status.signal(), Some(SIGABRT), "{status}");
    }
}
