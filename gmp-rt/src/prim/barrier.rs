//! A pair of memory barriers, one of which is only a compiler fence: Linux's `membarrier`.
//!
//! Thread A writes x, calls [`heavy`] and reads y. Thread B writes y, calls [`light`] and reads x.
//! Then A reads B's write, or B reads A's. With two fences both threads would pay. Here [`light`]
//! only orders the accesses in the compiled code. [`heavy`] makes the kernel run a fence on every
//! CPU that runs a thread of this process. A thread that does not run has passed a fence in the
//! kernel.

use super::Ordering::SeqCst;
use super::fixed::Lazy;
use crate::tuning::WAKE_LATENCY;
use rustix::io;
use rustix::thread::{MembarrierCommand, membarrier};
use std::sync::atomic::compiler_fence;

/// Whether the kernel accepted this process. Kernels before 4.14 and some sandboxes do not.
///
/// While other threads exist, the kernel takes about 10 ms to accept it. A runtime calls
/// [`prepare`] before it starts threads, so that its first hand-off does not wait.
static REGISTERED: Lazy<bool> = Lazy::new(|| register().is_ok());

/// The result of [`try_heavy`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heavy {
    Done,
    /// The kernel has no `membarrier`. B may miss the write of A.
    Refused,
}

/// Registers this process with the kernel, which otherwise happens in the first [`heavy`].
pub(crate) fn prepare() {
    // Without `membarrier`, `heavy` waits instead.
    let _ = *REGISTERED;
}

/// Runs the half of the pair that is frequent and free.
#[inline(always)]
pub(crate) fn light() {
    compiler_fence(SeqCst);
}

/// Runs the half of the pair that is rare and a system call.
///
/// Where the kernel has no `membarrier`, it waits instead: for longer than a CPU keeps a write to
/// itself.
pub(crate) fn heavy() {
    try_heavy().or_wait();
}

impl Heavy {
    /// Waits if the kernel has no `membarrier`, as [`heavy`] does.
    pub(crate) fn or_wait(self) {
        if self == Self::Refused {
            std::thread::sleep(WAKE_LATENCY);
        }
    }
}

/// Runs the barrier, as [`heavy`], for a caller that has its own way to proceed without
/// `membarrier`.
pub(crate) fn try_heavy() -> Heavy {
    // The child of a `fork` may have to register again.
    let is_done = *REGISTERED && (run().is_ok() || register().and_then(|()| run()).is_ok());
    if is_done { Heavy::Done } else { Heavy::Refused }
}

fn register() -> io::Result<()> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited)
}

fn run() -> io::Result<()> {
    membarrier(MembarrierCommand::PrivateExpedited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::Ordering::Relaxed;
    use crate::prim::fixed::AtomicUsize;
    use std::sync::Barrier;

    /// Dekker's protocol: at least one of two threads sees the write of the other.
    #[test]
    fn one_of_two_threads_sees_the_write_of_the_other() {
        const ROUNDS: usize = 2_000;
        let [x, y, saw_x, saw_y] = [const { AtomicUsize::new(0) }; 4];
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    start.wait();
                    y.store(round, Relaxed);
                    light();
                    saw_x.store(x.load(Relaxed), Relaxed);
                    start.wait();
                }
            });
            for round in 1..=ROUNDS {
                start.wait();
                x.store(round, Relaxed);
                let barrier = try_heavy();
                saw_y.store(y.load(Relaxed), Relaxed);
                start.wait();
                let is_seen = [&saw_x, &saw_y].iter().any(|saw| saw.load(Relaxed) == round);
                assert!(is_seen || barrier == Heavy::Refused, "round {round}");
            }
        });
    }
}
