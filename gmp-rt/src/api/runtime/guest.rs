//! Guests: for crates of the gmp family that run another runtime beside this one. Not for
//! programs.
//!
//! [`Builder::guest`](super::Builder::guest) takes a function that starts the guest. `build` calls
//! it before the first worker thread starts. The module `sched::guest` says which threads enter the
//! context of the guest, and when it ends.

use super::context;
use crate::sched::Sched;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};

pub use crate::sched::guest::{Entered, Guest};

/// Starts the guest of a runtime.
#[derive(Clone)]
pub(super) struct StartGuest(pub(super) Arc<StartFn>);

type StartFn = dyn Fn(Host) -> io::Result<Arc<dyn Guest>> + Send + Sync;

impl fmt::Debug for StartGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartGuest")
    }
}

/// The runtime that has a guest. It does not keep the runtime alive.
#[derive(Clone, Debug)]
pub struct Host {
    sched: Weak<Sched>,
    name: String,
    stack_size: Option<usize>,
}

impl Host {
    pub(super) fn new(sched: &Arc<Sched>) -> Self {
        let config = &sched.config;
        let (name, stack_size) = (config.name.clone(), config.stack_size);
        Self { sched: Arc::downgrade(sched), name, stack_size }
    }

    /// Returns the prefix of the names of the threads.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stack size of each thread, if it is not that of std.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Makes the host the current runtime of the calling thread, one of the guest's, until
    /// [`leave_thread`](Self::leave_thread). So `spawn` there spawns on the host.
    pub fn enter_thread(&self) {
        if let Some(sched) = self.sched.upgrade() {
            context::enter_thread(sched);
        }
    }

    /// Ends what [`enter_thread`](Self::enter_thread) began on this thread.
    pub fn leave_thread(&self) {
        context::leave_thread();
    }
}
