//! Calls at the end of the process (Unix).
//!
//! # Invariants
//!
//! - I1: `atexit` keeps the address of a function, which exists as long as the process.

/// Makes the orderly end of the process call `f`. Returns `false` if the C library has no memory.
pub(crate) fn at_exit(f: extern "C" fn()) -> bool {
    // SAFETY: I1.
    unsafe { libc::atexit(f) == 0 }
}
