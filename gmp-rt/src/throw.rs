//! `throw!`, for broken invariants of the runtime, and `say!`, for messages on stderr.
//!
//! As in Go, `panic` is for mistakes of the user and can be caught. `throw` is for bugs of the
//! runtime and cannot be caught, because a runtime with a broken invariant must not continue to
//! schedule.

/// Reports a broken runtime invariant and aborts the process.
///
/// The message starts with the function that detected it: `throw!("park: no P")`.
macro_rules! throw {
    ($($arg:tt)*) => {
        $crate::throw::fatal(format_args!($($arg)*))
    };
}
pub(crate) use throw;

/// Prints a line to stderr. Ignores errors, because a closed pipe is no reason to panic.
macro_rules! say {
    ($($arg:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}
pub(crate) use say;

/// Prints `message` as a fatal runtime error and aborts.
#[cold]
#[inline(never)]
pub(crate) fn fatal(message: std::fmt::Arguments<'_>) -> ! {
    // Not `eprintln!`, which panics if stderr is closed: the caller would unwind.
    say!("gmp: fatal runtime error: {message}");
    say!("gmp: this is a bug in gmp, not in your program; please report it");
    std::process::abort()
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
