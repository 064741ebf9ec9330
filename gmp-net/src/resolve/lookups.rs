//! The name lookups of a runtime.
//!
//! `getaddrinfo` blocks its thread, for many seconds if the name servers are silent. So each call
//! has a goroutine of its own, and the callers wait without a thread. At most
//! [`limit`](Lookups::limit) calls run at a time (Go: `acquireThread`). Further lookups wait in a
//! queue, in arrival order.
//!
//! A call needs no permit of `max_blocking_threads`. The closures of `spawn_blocking` that hold all
//! permits may wait for a lookup, as by `block_on(TcpStream::connect("host:80"))`.
//!
//! Lookups of the same host share one call (Go: `singleflight`). The call serves every waiter that
//! joined before its end. A lookup that waits in the queue leaves it when its last waiter is
//! dropped. A call that runs cannot be interrupted: it ends in the background, and a new lookup of
//! its host joins it. So the callers that give up early and try again do not hold more threads.
//!
//! One lock protects all state. No waker is woken or dropped under it. The outcome of a lookup is
//! stored under the lock and read without it.

use crate::error::RuntimeEnded;
use gmp_rt::prim::fixed::{Mutex, OnceLock};
use gmp_rt::task::park::{
    self, StorableWaker, StoredWaker, WaitReason, note_wait, poll_proceed, wake_all,
};
use std::collections::{HashMap, VecDeque};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::{io, mem};

/// The lookups of a runtime. See the [module](self).
#[derive(Debug)]
pub(crate) struct Lookups {
    limit: usize,
    state: Mutex<LookupsState>,
}

#[derive(Debug, Default)]
struct LookupsState {
    life: LookupsLife,
    /// The lookups that have no outcome yet, by host.
    open: HashMap<Arc<str>, Open>,
    /// The hosts of the open lookups that have not started.
    queue: VecDeque<Arc<str>>,
    /// The number of calls of the OS, at most the limit.
    running: usize,
    last_ticket: u64,
}

/// Whether calls can start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LookupsLife {
    #[default]
    Alive,
    /// The runtime has ended.
    Ended,
}

/// A lookup without an outcome.
#[derive(Debug)]
struct Open {
    lookup: Arc<Lookup>,
    phase: LookupPhase,
    /// The number of [`LookupWait`]s.
    users: usize,
    /// Those that have been polled, by their tickets.
    wakers: Vec<(u64, StoredWaker)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupPhase {
    Queued,
    Running,
}

#[derive(Debug)]
struct Lookup {
    host: Arc<str>,
    outcome: OnceLock<LookupOutcome>,
}

/// The addresses of a host, with port 0.
pub(crate) type LookupOutcome = Result<Vec<SocketAddr>, Failure>;

/// Why a lookup has failed. In contrast to an [`io::Error`], it can be given to several waiters.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// An error number of the OS.
    Os(i32),
    /// An answer of the resolver.
    Answer(io::ErrorKind, String),
    /// The runtime ended before the call started.
    Ended,
}

impl Failure {
    fn new(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Os(number),
            None => Self::Answer(error.kind(), error.to_string()),
        }
    }

    /// Returns the error for a caller that has asked for `asked`.
    pub(crate) fn into_error(self, asked: &str) -> io::Error {
        match self {
            // An error number of the OS (no descriptor left) is more useful than the name.
            Self::Os(number) => io::Error::from_raw_os_error(number),
            Self::Answer(kind, text) => io::Error::new(kind, format!("{asked}: {text}")),
            Self::Ended => RuntimeEnded.into(),
        }
    }
}

/// Calls the OS, on the calling thread.
fn call(host: &str) -> LookupOutcome {
    let found: Vec<_> = match (host, 0).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(error) => return Err(Failure::new(&error)),
    };
    if found.is_empty() {
        return Err(Failure::Answer(io::ErrorKind::NotFound, "no address".to_owned()));
    }
    Ok(found)
}

impl Lookups {
    /// Returns the lookups of the caller's runtime: the runtime of the goroutine or of `block_on`,
    /// otherwise the default runtime.
    pub(crate) fn of_runtime() -> Arc<Self> {
        let lookups = park::lookups(|limit| {
            Arc::new(Self { limit, state: Mutex::new(LookupsState::default()) })
        });
        lookups.downcast().expect("only this crate makes lookups")
    }

    /// Joins the lookup of `host`. Starts it, or queues it, if there is none.
    pub(crate) fn join(self: Arc<Self>, host: &str) -> Result<LookupWait, RuntimeEnded> {
        let mut state = self.state.lock();
        if state.life == LookupsLife::Ended {
            return Err(RuntimeEnded);
        }
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let (lookup, starts) = match state.open.get_mut(host) {
            Some(open) => {
                open.users += 1;
                (open.lookup.clone(), false)
            }
            None => state.open(host, self.limit),
        };
        drop(state);
        if starts {
            self.start(lookup.clone());
        }
        Ok(LookupWait { lookups: self, lookup, ticket })
    }

    /// Starts the call of `lookup` in a goroutine of the current runtime, which is the one of these
    /// lookups.
    fn start(self: &Arc<Self>, lookup: Arc<Lookup>) {
        let starts = Starts { lookups: self.clone(), lookup: Some(lookup) };
        park::spawn_blocking_unlimited(|| starts.run()).detach();
    }

    /// Stores the outcome of a call and wakes the waiters. Starts the next lookup of the queue.
    fn finish(self: &Arc<Self>, lookup: &Lookup, outcome: LookupOutcome) {
        let mut state = self.state.lock();
        let wakers = state.close(lookup, outcome);
        let next = state.next();
        drop(state);
        wake_all(wakers);
        if let Some(next) = next {
            self.start(next);
        }
    }

    /// Makes `lookup` and those in the queue fail, because the runtime starts no call any more.
    fn end(&self, lookup: &Lookup) {
        let mut state = self.state.lock();
        state.life = LookupsLife::Ended;
        let mut wakers = state.close(lookup, Err(Failure::Ended));
        for host in mem::take(&mut state.queue) {
            let queued = state.open.get(&host).map(|open| open.lookup.clone());
            if let Some(queued) = queued {
                wakers.extend(state.close(&queued, Err(Failure::Ended)));
            }
        }
        drop(state);
        wake_all(wakers);
    }
}

impl LookupsState {
    /// Opens a lookup for one user. Also returns whether the caller must start it.
    fn open(&mut self, host: &str, limit: usize) -> (Arc<Lookup>, bool) {
        let host: Arc<str> = host.into();
        let lookup = Arc::new(Lookup { host: host.clone(), outcome: OnceLock::new() });
        let phase = if self.running < limit { LookupPhase::Running } else { LookupPhase::Queued };
        match phase {
            LookupPhase::Running => self.running += 1,
            LookupPhase::Queued => self.queue.push_back(host.clone()),
        }
        let open = Open { lookup: lookup.clone(), phase, users: 1, wakers: Vec::new() };
        self.open.insert(host, open);
        (lookup, phase == LookupPhase::Running)
    }

    /// Takes the first lookup of the queue in place of one that has ended.
    fn next(&mut self) -> Option<Arc<Lookup>> {
        while let Some(host) = self.queue.pop_front() {
            if let Some(open) = self.open.get_mut(&host) {
                open.phase = LookupPhase::Running;
                return Some(open.lookup.clone());
            }
        }
        self.running -= 1;
        None
    }

    /// Stores the outcome of a lookup. Returns the wakers of its waiters.
    fn close(&mut self, lookup: &Lookup, outcome: LookupOutcome) -> Vec<StoredWaker> {
        let _ = lookup.outcome.set(outcome);
        let open = self.open.remove(&lookup.host);
        open.into_iter().flat_map(|open| open.wakers).map(|(_, waker)| waker).collect()
    }
}

/// A call that is about to start. If it is dropped before, the runtime has ended.
struct Starts {
    lookups: Arc<Lookups>,
    lookup: Option<Arc<Lookup>>,
}

impl Starts {
    fn run(mut self) {
        if let Some(lookup) = self.lookup.take() {
            let outcome = call(&lookup.host);
            self.lookups.finish(&lookup, outcome);
        }
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        if let Some(lookup) = self.lookup.take() {
            self.lookups.end(&lookup);
        }
    }
}

/// Waits for the outcome of a lookup.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct LookupWait {
    lookups: Arc<Lookups>,
    lookup: Arc<Lookup>,
    ticket: u64,
}

impl LookupWait {
    /// Puts the waker on the list, unless there is an outcome. Returns `true` if it is on the list.
    fn is_parked(&self, cx: &Context<'_>) -> bool {
        let mut waker = StorableWaker::new(cx.waker());
        let mut state = self.lookups.state.lock();
        if self.lookup.outcome.get().is_some() {
            return false;
        }
        let open = state.open.get_mut(&self.lookup.host).expect("open without an outcome");
        let known = open.wakers.iter_mut().find(|(ticket, _)| *ticket == self.ticket);
        let replaced = match known {
            Some((_, old)) => Some(mem::replace(old, waker.store())),
            None => {
                open.wakers.push((self.ticket, waker.store()));
                None
            }
        };
        drop(state);
        drop(replaced);
        true
    }
}

impl Future for LookupWait {
    type Output = LookupOutcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<LookupOutcome> {
        if self.lookup.outcome.get().is_none() && self.is_parked(cx) {
            note_wait(cx, WaitReason::NameLookup, 0);
            return Poll::Pending;
        }
        ready!(poll_proceed(cx));
        Poll::Ready(self.lookup.outcome.get().expect("stored before the wake-up").clone())
    }
}

impl Drop for LookupWait {
    fn drop(&mut self) {
        let mut guard = self.lookups.state.lock();
        let state = &mut *guard;
        // An open lookup of this host may be a later one.
        let Some(open) = state.open.get_mut(&self.lookup.host) else { return };
        if !Arc::ptr_eq(&open.lookup, &self.lookup) {
            return;
        }
        open.users -= 1;
        let at = open.wakers.iter().position(|(ticket, _)| *ticket == self.ticket);
        let waker = at.map(|at| open.wakers.swap_remove(at));
        if open.users == 0 && open.phase == LookupPhase::Queued {
            state.open.remove(&self.lookup.host);
            state.queue.retain(|host| *host != self.lookup.host);
        }
        drop(guard);
        drop(waker);
    }
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "lookups_tests.rs"]
mod tests;
