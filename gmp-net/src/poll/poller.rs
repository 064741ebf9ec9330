//! The netpoller that the scheduler calls: it turns events into wakers.

use crate::error::{RuntimeEnded, WatchLimit};
use crate::poll::cache::{Index, PollCache};
use crate::poll::desc::{PollDesc, Trust};
use crate::sys::Os;
use gmp_rt::task::park::{self, Delay, Netpoll, PollerWake, Ready};
use rustix::io::Errno;
use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The netpoller of a runtime.
#[derive(Debug)]
pub(crate) struct Poller {
    os: Os,
    descs: PollCache,
    /// The count of forks of the process that made it.
    forks: u32,
}

impl Poller {
    /// Returns the netpoller of the caller's runtime: the runtime of the goroutine or of
    /// `block_on`. Otherwise it is the default runtime, which is started if necessary. So a socket
    /// works under any executor.
    pub(crate) fn of_runtime() -> io::Result<Arc<Self>> {
        let netpoll = park::netpoll(|| {
            let os = Os::new().map_err(|error| watch_limit(&error).unwrap_or(error))?;
            let poller = Self { os, descs: PollCache::new(), forks: park::forks() };
            Ok(Arc::new(poller))
        })?;
        let netpoll: Arc<dyn Any + Send + Sync> = netpoll;
        netpoll
            .downcast()
            .map_err(|_| io::Error::other("the runtime has a netpoller of another kind"))
    }

    /// Registers `fd`. The caller gives the descriptor back with [`give_back`](Self::give_back).
    pub(crate) fn register(&self, fd: BorrowedFd<'_>, trust: Trust) -> io::Result<Index> {
        let index = self.descs.take(trust).ok_or(RuntimeEnded)?;
        match self.os.add(fd, index.key(), trust) {
            Ok(()) => Ok(index),
            Err(error) => {
                self.descs.give_back(index);
                Err(named(error))
            }
        }
    }

    /// Stops the events of `fd`. Does nothing in a fork, whose parent has the same queue of events.
    pub(crate) fn silence(&self, fd: BorrowedFd<'_>) {
        if !self.is_forked() {
            self.os.delete(fd);
        }
    }

    /// Whether this process is a fork of the one that made the netpoller. Then no thread here waits
    /// for its events.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.forks != park::forks()
    }

    /// Gives a descriptor back after [`silence`](Self::silence).
    pub(crate) fn give_back(&self, index: Index) {
        self.desc(index).forget_waiters();
        self.descs.give_back(index);
    }

    /// Returns the descriptor with this number.
    #[inline]
    pub(crate) fn desc(&self, index: Index) -> &PollDesc {
        self.descs.get(index.key()).expect("an index is given out with its descriptor")
    }
}

/// Returns the error of the limit of watches, if it is the cause of `error`.
fn watch_limit(error: &io::Error) -> Option<io::Error> {
    (Errno::from_io_error(error) == Some(Errno::NOSPC)).then(|| WatchLimit.into())
}

/// Replaces an error of registration that says something else, and adds a remedy.
fn named(error: io::Error) -> io::Error {
    if let Some(limit) = watch_limit(&error) {
        return limit;
    }
    let text = match error.kind() {
        // epoll's error for a regular file.
        io::ErrorKind::PermissionDenied => {
            "cannot be waited for: a regular file or directory is always ready, read it with gmp::block_in_place"
        }
        _ => return error,
    };
    io::Error::new(io::ErrorKind::Unsupported, text)
}

impl Netpoll for Poller {
    fn poll(&self, delay: Delay, limit: usize, ready: &mut Ready) -> PollerWake {
        self.os.wait(delay, limit, |edge| {
            // The key of `polling` itself has no descriptor.
            let Some(desc) = self.descs.get(edge.key) else { return };
            if let Some(kind) = edge.read {
                desc.read.edge(kind, |waker| ready.push(waker));
            }
            if let Some(kind) = edge.write {
                desc.write.edge(kind, |waker| ready.push(waker));
            }
        })
    }

    fn wake(&self) {
        self.os.ring();
    }

    fn is_used(&self) -> bool {
        self.descs.is_used()
    }

    fn has_waiters(&self) -> bool {
        self.descs.iter().any(|desc| desc.read.has_waiters() || desc.write.has_waiters())
    }

    fn shut(&self, ready: &mut Ready) {
        self.descs.end(|waker| ready.push(waker));
    }
}
