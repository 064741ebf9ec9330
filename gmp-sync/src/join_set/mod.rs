//! `JoinSet`: goroutines whose outputs are returned in the order of their ends.
//!
//! Each member's handle holds a waker of its own. The waker of a member that ends appends its key
//! to a list behind a lock ([`Reports`]) and wakes the goroutine that waits for the set. So
//! `join_next` polls only members that have ended, however many there are. A member's handle is
//! polled once when it is spawned, which registers the waker; so the list has the order of the
//! ends.

mod join_next;

pub use self::join_next::JoinNext;

use crate::wait::reports::Reports;
use gmp_rt::runtime::Handle;
use gmp_rt::task::AbortHandle;
use gmp_rt::task::park::{StorableWaker, WaitReason, note_wait, poll_deciding, poll_proceed};
use gmp_rt::{JoinError, JoinHandle};
use slab::Slab;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// A set of goroutines with outputs of one type, which are joined as they end.
///
/// Dropping the set [aborts](JoinHandle::abort) all members; it does not wait for their ends. A
/// member that has ended keeps its output until it is joined. So a set that grows for ever, as that
/// of an accept loop, must be joined now and then by [`try_join_next`](Self::try_join_next). If the
/// outputs do not matter, use a [`TaskTracker`](crate::TaskTracker).
///
/// # Examples
///
/// ```
/// # mod gmp { pub use gmp_rt::block_on; pub mod task { pub use gmp_sync::JoinSet; } }
/// use gmp::task::JoinSet;
///
/// gmp::block_on(async {
///     let mut set = JoinSet::new();
///     for n in 1..=4 {
///         set.spawn(async move { n * n });
///     }
///     let mut sum = 0;
///     while let Some(square) = set.join_next().await {
///         sum += square.unwrap();
///     }
///     assert_eq!(sum, 30);
/// });
/// ```
///
/// An accept loop that frees the outputs of members that have ended:
///
/// ```
/// # mod gmp { pub use gmp_rt::block_on; pub mod task { pub use gmp_sync::JoinSet; } }
/// # async fn accept() -> u32 { 1 }
/// # async fn serve(connection: u32) {}
/// use gmp::task::JoinSet;
///
/// gmp::block_on(async {
///     let mut connections = JoinSet::new();
///     for _ in 0..100 {
///         connections.spawn(serve(accept().await));
///         while let Some(ended) = connections.try_join_next() {
///             if let Err(error) = ended {
///                 eprintln!("{error}");
///             }
///         }
///     }
///     connections.shutdown().await;
/// });
/// ```
#[must_use = "dropping the set aborts its members"]
pub struct JoinSet<T> {
    members: Slab<Member<T>>,
    ends: Arc<Reports>,
    /// The runtime of the members; `None` for that of the caller of `spawn`.
    runtime: Option<Handle>,
}

/// A goroutine that was not joined yet.
struct Member<T> {
    state: JoinSetState<T>,
    /// Reports its end.
    waker: Waker,
}

enum JoinSetState<T> {
    Running(JoinHandle<T>),
    /// It had ended when it was added.
    Ended(Result<T, JoinError>),
    /// The output was returned. The member is about to be removed.
    Joined,
}

impl<T> Member<T> {
    /// Returns the output, if the member has ended. Registers its waker otherwise.
    fn join(&mut self) -> Poll<Result<T, JoinError>> {
        match std::mem::replace(&mut self.state, JoinSetState::Joined) {
            JoinSetState::Running(mut handle) => {
                let mut cx = Context::from_waker(&self.waker);
                // The caller has checked the budget. A refusal here would look like "running".
                let polled = poll_deciding(|| Pin::new(&mut handle).poll(&mut cx));
                if polled.is_pending() {
                    self.state = JoinSetState::Running(handle);
                }
                polled
            }
            JoinSetState::Ended(output) => Poll::Ready(output),
            JoinSetState::Joined => unreachable!("a joined member was removed"),
        }
    }
}

impl<T> UnwindSafe for JoinSet<T> {}
impl<T> RefUnwindSafe for JoinSet<T> {}

impl<T> JoinSet<T> {
    /// Creates an empty set. Members run on the runtime of the caller of [`spawn`](Self::spawn).
    pub fn new() -> Self {
        Self::with_runtime(None)
    }

    /// Creates an empty set whose members run on the given runtime.
    pub fn new_on(runtime: &Handle) -> Self {
        Self::with_runtime(Some(runtime.clone()))
    }

    fn with_runtime(runtime: Option<Handle>) -> Self {
        Self { members: Slab::new(), ends: Arc::default(), runtime }
    }

    /// Starts a goroutine as a member of the set.
    ///
    /// Its output is returned by [`join_next`](Self::join_next). The handle that is returned can
    /// abort this member alone.
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: IntoFuture<Output = T, IntoFuture: Send + 'static>,
        T: Send + 'static,
    {
        let future = future.into_future();
        self.add(match &self.runtime {
            Some(runtime) => runtime.spawn(future),
            None => gmp_rt::spawn(future),
        })
    }

    /// Runs a blocking closure in a goroutine that is a member of the set.
    ///
    /// See [`spawn_blocking`](gmp_rt::spawn_blocking). An abort takes effect only before `f`
    /// begins.
    #[track_caller]
    pub fn spawn_blocking(&mut self, f: impl FnOnce() -> T + Send + 'static) -> AbortHandle
    where
        T: Send + 'static,
    {
        self.add(match &self.runtime {
            Some(runtime) => runtime.spawn_blocking(f),
            None => gmp_rt::spawn_blocking(f),
        })
    }

    fn add(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let place = self.members.vacant_entry();
        let key = place.key();
        let waker = Reports::waker(&self.ends, key);
        let mut member = Member { state: JoinSetState::Running(handle), waker };
        if let Poll::Ready(output) = member.join() {
            member.state = JoinSetState::Ended(output);
            self.ends.report(key);
        }
        place.insert(member);
        abort
    }

    /// Waits until a member ends, and returns its output. Returns `None` if the set is empty.
    ///
    /// Members are returned in the order of their ends, each one once.
    ///
    /// # Errors
    ///
    /// The inner `Err` says that the member panicked or was aborted.
    /// [`JoinError::goid`] and [`JoinError::spawned_at`] name it.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. A dropped `join_next` has taken nothing.
    pub fn join_next(&mut self) -> JoinNext<'_, T> {
        JoinNext::new(self)
    }

    /// As [`join_next`](Self::join_next), but blocks the thread.
    ///
    /// Meant for external threads. In a goroutine it works as a blocking call.
    #[doc(alias = "blocking_join_next")]
    pub fn join_next_blocking(&mut self) -> Option<Result<T, JoinError>> {
        gmp_rt::block_on(self.join_next())
    }

    /// Returns the output of a member that has ended. Returns `None` if there is none.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        while let Some(key) = self.ends.take() {
            if let Poll::Ready(output) = self.join(key) {
                return Some(output);
            }
        }
        None
    }

    /// Polls for the end of a member, for a future that is written by hand.
    ///
    /// The waker of the last poll is kept until a member ends or the set is dropped.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        ready!(poll_proceed(cx));
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let mut waker = None;
        loop {
            if let Some(output) = self.try_join_next() {
                return Poll::Ready(Some(output));
            }
            // Made only if it may be needed.
            let waker = waker.get_or_insert_with(|| StorableWaker::new(cx.waker()));
            if self.ends.wait(waker).is_pending() {
                note_wait(cx, WaitReason::JoinSet, Arc::as_ptr(&self.ends).addr());
                return Poll::Pending;
            }
        }
    }

    /// Joins one member, whose end was reported. The report may be one of an earlier member.
    fn join(&mut self, key: usize) -> Poll<Result<T, JoinError>> {
        let Some(member) = self.members.get_mut(key) else { return Poll::Pending };
        let output = ready!(member.join());
        self.members.remove(key);
        Poll::Ready(output)
    }

    /// Waits for all members, and returns their outputs in the order of their ends.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if the future is dropped, the outputs are lost and the rest is aborted.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub mod task { pub use gmp_sync::JoinSet; } }
    /// use gmp::task::JoinSet;
    ///
    /// gmp::block_on(async {
    ///     let set: JoinSet<_> = (1..=3).map(|n| async move { n }).collect();
    ///     let outputs = set.join_all().await;
    ///     assert_eq!(outputs.into_iter().map(Result::unwrap).sum::<u32>(), 6);
    /// });
    /// ```
    pub async fn join_all(mut self) -> Vec<Result<T, JoinError>> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(output) = self.join_next().await {
            outputs.push(output);
        }
        outputs
    }

    /// As [`join_all`](Self::join_all), but the first failure aborts the other members. They have
    /// ended when it returns.
    ///
    /// # Errors
    ///
    /// The first failure: a member panicked or was aborted.
    ///
    /// # Cancel safety
    ///
    /// As [`join_all`](Self::join_all).
    pub async fn try_join_all(mut self) -> Result<Vec<T>, JoinError> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(output) = self.join_next().await {
            match output {
                Ok(output) => outputs.push(output),
                Err(error) => {
                    self.shutdown().await;
                    return Err(error);
                }
            }
        }
        Ok(outputs)
    }

    /// [Aborts](JoinHandle::abort) all members. They remain in the set until they are joined.
    pub fn abort_all(&self) {
        for (_, member) in &self.members {
            if let JoinSetState::Running(handle) = &member.state {
                handle.abort();
            }
        }
    }

    /// Aborts all members and waits until they have ended. Drops their outputs.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe. If the future is dropped, the members that are left are aborted and in the set.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Removes all members from the set. They continue to run.
    pub fn detach_all(&mut self) {
        self.members = Slab::new();
        self.ends.clear();
    }

    /// Returns the number of members that were not joined yet, ended or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the set has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T: Send + 'static, F> Extend<F> for JoinSet<T>
where
    F: IntoFuture<Output = T, IntoFuture: Send + 'static>,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}

impl<T: Send + 'static, F> FromIterator<F> for JoinSet<T>
where
    F: IntoFuture<Output = T, IntoFuture: Send + 'static>,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .field("reported", &self.ends.len())
            .finish()
    }
}
