//! What happens when the runtime itself is wrong.
//!
//! Go's three words: `panic` is for the user's mistakes and can be caught, `throw` is for ours
//! and cannot. A runtime whose invariant is broken must not go on scheduling.

/// Reports a broken runtime invariant and aborts the process.
///
/// The message starts with the function that noticed: `throw!("park: no P")`.
macro_rules! throw {
    ($($arg:tt)*) => {
        $crate::throw::fatal(format_args!($($arg)*))
    };
}
pub(crate) use throw;

/// Prints a line to stderr, if there is one: a closed pipe is no reason to panic.
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
    eprintln!("gmp: fatal runtime error: {message}");
    eprintln!("gmp: this is a bug in gmp, not in your program; please report it");
    std::process::abort()
}

/// Aborts the process if dropped during a panic: stands where unwinding would leave a goroutine
/// that nobody owns.
#[derive(Debug)]
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        if std::thread::panicking() {
            throw!("panic while {}", self.0);
        }
    }
}
