//! Detection of forks (Unix).
//!
//! The child of a fork has a copy of the memory, but only the thread that called `fork`. `std` and
//! `posix_spawn` start programs without the handler here, or call `exec` soon after it.
//!
//! # Invariants
//!
//! - I1: `pthread_atfork` keeps the address of a function, which exists as long as the process.
//! - I2: a handler may do only what a signal handler may do. The one here calls [`count`] and
//!   what the handler in `sched::forked` does.

use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicU32;
use std::io;

/// How many forks lie between the first process of gmp and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Returns how many forks lie between the first process of gmp and this one. It is the same as
/// before unless this process is the child of a fork.
#[inline]
pub(crate) fn forks() -> u32 {
    // Relaxed: written when the process has one thread.
    FORKS.load(Relaxed)
}

/// Counts a fork. Called in the child.
pub(crate) fn count() {
    FORKS.store(forks() + 1, Relaxed); // Relaxed: see `forks`
}

/// Makes each child of a fork call `handler`, which may do what a signal handler may do.
pub(crate) fn in_child(handler: extern "C" fn()) -> io::Result<()> {
    // SAFETY: I1.
    match unsafe { libc::pthread_atfork(None, None, Some(handler)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Ends the child of a fork at once. The code of an orderly exit may wait for a thread that does
/// not exist here.
pub(crate) fn exit_child() -> ! {
    // SAFETY: takes no memory.
    unsafe { libc::_exit(2) }
}
