//! A runtime of the soak and its counters.

use crate::fate::{Census, Tracked, Watch};
use crate::rand::Rand;
use std::sync::Arc;

/// A runtime that operations run on.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) name: Arc<str>,
    pub(crate) lifetime: Lifetime,
    pub(crate) handle: gmp::runtime::Handle,
    pub(crate) census: Arc<Census>,
}

/// The lifetime of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// As long as the run.
    Run,
    /// For some milliseconds: it ends in the middle of operations.
    Guest,
}

/// A goroutine that an operation has started.
#[derive(Debug)]
pub(crate) struct Child<T> {
    pub(crate) handle: gmp::JoinHandle<T>,
    watch: Watch,
}

impl Home {
    /// Makes the entry of a runtime.
    pub(crate) fn new(name: &str, lifetime: Lifetime, handle: gmp::runtime::Handle) -> Self {
        Self { name: name.into(), lifetime, handle, census: Arc::default() }
    }

    /// Starts a goroutine in one of the ways of the API. With `Ambient`, this runtime must be the
    /// one around the caller.
    #[track_caller]
    pub(crate) fn spawn<F>(&self, from: From, rand: &mut Rand, future: F) -> Child<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (tracked, watch) = Tracked::new(future, &self.census);
        let handle = match (from, rand.below(4)) {
            (From::Ambient, 0) => gmp::spawn(tracked),
            (From::Ambient, 1) => gmp::go!(tracked),
            (From::Ambient, 2) => gmp::task::Builder::new().name("soak").spawn(tracked),
            (From::Ambient, _) => gmp::go!(name = "soak", tracked),
            (From::Elsewhere, 0..2) => self.handle.spawn(tracked),
            (From::Elsewhere, _) => {
                gmp::task::Builder::new().name("soak").on(&self.handle).spawn(tracked)
            }
        };
        Child { handle, watch }
    }

    /// Returns `future` with an entry in the census, for calls that spawn by themselves.
    pub(crate) fn tracked<F: Future>(&self, future: F) -> Tracked<F> {
        Tracked::new(future, &self.census).0
    }
}

/// Where a goroutine is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// In the runtime around the caller.
    Ambient,
    /// In another runtime, or on an external thread.
    Elsewhere,
}

impl<T> Child<T> {
    /// Waits for the goroutine, and compares the result with its end.
    pub(crate) async fn join(self) -> Result<T, gmp::JoinError> {
        let joined = self.handle.await;
        self.watch.check(&joined);
        joined
    }
}
