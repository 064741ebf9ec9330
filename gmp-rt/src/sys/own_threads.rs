//! The threads that gmp has started, and those that run `#[gmp::main]`.
//!
//! If a process has no other thread, nothing but its goroutines can wake a goroutine. The list is
//! read only in a program that seems to be dead, and written when a thread starts or ends.

use super::thread_state;
use crate::prim::fixed::Mutex;
use std::collections::BTreeSet;

/// A set, because there may be thousands, which end at the same time.
static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The calling thread is one of gmp's until this is dropped.
#[derive(Debug)]
pub(crate) struct OwnThread(u32);

impl OwnThread {
    /// Registers the calling thread.
    pub(crate) fn enter() -> Self {
        let thread = thread_state::this_thread();
        OWN.lock().insert(thread);
        Self(thread)
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        OWN.lock().remove(&self.0);
    }
}

/// Whether all threads of the process are gmp's. A thread that is starting or ending does not count
/// as one.
///
/// Returns `false` if the threads are unknown: another thread may be among them. The OS lists them
/// only on Linux, with `/proc` and a free descriptor.
pub(crate) fn are_alone() -> bool {
    all_own(thread_state::threads())
}

fn all_own(threads: Option<Vec<u32>>) -> bool {
    let own = OWN.lock();
    threads.is_some_and(|threads| threads.iter().all(|thread| own.contains(thread)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_program_is_no_own_thread() {
        let registered = || OWN.lock().contains(&thread_state::this_thread());
        std::thread::spawn(move || {
            assert!(!are_alone() && !registered());
            let own = OwnThread::enter();
            assert!(registered());
            assert!(all_own(Some(vec![thread_state::this_thread()])));
            drop(own);
            assert!(!registered());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn unknown_threads_are_not_own_threads() {
        assert!(!all_own(None));
    }
}
