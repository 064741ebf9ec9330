//! The child of a fork.
//!
//! The child has only the thread that called `fork`. The threads of the parent's runtimes do not
//! exist there. A goroutine that is started there would never run, and a timer would never fire. So
//! calls that need a runtime of the parent panic in the child. The checks are on slow paths: no
//! spawn by a goroutine and no poll pays for them.
//!
//! If a goroutine calls `fork`, its worker thread is the one that the child has. If the poll
//! returns in the child, that thread would run other goroutines a second time. So the handler in
//! the child requests a service of its P, and the thread ends the child before the next poll.
//!
//! Until then the rest of the poll runs in the child. At the fork, other threads may have held any
//! lock, and will never release it in the child. So what a poll may do without an error takes no
//! lock of the scheduler there: no M is woken, the P is not reactivated, and what a handed-off P
//! queues stays on its ring.
//!
//! `std::process` and `posix_spawn` are not affected: `exec` follows.

use super::Sched;
use super::local;
use crate::prim::fixed::OnceLock;
use crate::sys::{fork, stderr};
use crate::throw::LAST_WORDS;
use crate::tracer::hook;
use std::io;

/// Why a call fails in the child.
pub(crate) const FORKED: &str = "this process is a fork of the process that started the gmp \
    runtime, so the runtime's threads do not exist here; call exec in the child, or build a new \
    runtime after the fork";

/// Makes this process notice that it is a fork. The first call does the work.
///
/// # Errors
///
/// If the C library has no memory.
pub(super) fn watch() -> io::Result<()> {
    static WATCHED: OnceLock<()> = OnceLock::new();
    if WATCHED.get().is_none() {
        fork::in_child(begin_child)?;
        // Two threads may both have come here. Then the child counts two forks.
        let _ = WATCHED.set(());
    }
    Ok(())
}

/// Runs first in the child. It may do only what a signal handler may do: it writes atomics, and
/// reads a thread-local without a destructor.
extern "C" fn begin_child() {
    fork::count();
    // The thread of the tracer does not exist here.
    hook::switch(false);
    local::with(|local| {
        if let Some(local) = local {
            local.request_service();
        }
    });
}

impl Sched {
    /// Whether this process is a fork of the one that started this runtime.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.forks != fork::forks()
    }

    /// Panics if this process is a fork of the one that started this runtime.
    #[inline]
    #[track_caller]
    pub(crate) fn assert_not_forked(&self) {
        if self.is_forked() {
            refuse();
        }
    }

    /// Ends the process if it is a fork: its only thread is about to run goroutines of the parent.
    pub(super) fn exit_if_forked(&self) {
        if self.is_forked() {
            // Not by `write_line`: another thread may have held one of its locks at the fork.
            stderr::write_raw(
                "gmp: fatal error: a goroutine called fork, and its poll returned in the child; \
                 call exec or _exit in the child\n",
                LAST_WORDS,
            );
            fork::exit_child();
        }
    }
}

#[cold]
#[track_caller]
fn refuse() -> ! {
    panic!("gmp: {FORKED}");
}
