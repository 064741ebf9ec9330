//! Sets of goroutines: JoinSet, TaskTracker, and the AbortHandle of a single one.

use crate::context::{Cx, join};
use crate::coverage::{End, did};
use crate::violation::{EXPECTED, expected_panic, violation};
use crate::world::the_world;
use gmp::JoinError;
use gmp::task::{AbortHandle, JoinSet, TaskTracker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts a member until its future is dropped.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A member: returns its number or panics.
async fn member(mut cx: Cx, alive: Alive, number: usize) -> usize {
    let _alive = alive;
    cx.pause().await;
    if cx.rand.once_in(32) {
        expected_panic();
    }
    number
}

/// The members of a set that were joined.
struct Joined {
    seen: Vec<bool>,
    failed: usize,
}

impl Joined {
    /// Records the result of a member. Each number is joined once, and only panics of the soak and
    /// cancellations are failures.
    fn note(&mut self, result: Result<usize, JoinError>) {
        match result {
            Ok(number) => {
                if std::mem::replace(&mut self.seen[number], true) {
                    violation(format!("member {number} of a JoinSet was joined twice"));
                }
            }
            Err(error) => {
                if let JoinError::Panic(panic) = &error
                    && !panic.message().contains(EXPECTED)
                {
                    violation(format!("a member of a JoinSet panicked: {}", panic.message()));
                }
                self.failed += 1;
            }
        }
    }

    fn count(&self) -> usize {
        self.seen.iter().filter(|seen| **seen).count() + self.failed
    }
}

/// Each member of a set is joined once, in each way to end a set.
pub(crate) async fn join_set(mut cx: Cx) {
    let there = cx.rand.once_in(4).then(|| cx.rand.pick(&the_world().homes).clone());
    let mut set = there.as_ref().map_or_else(JoinSet::new, |home| JoinSet::new_on(&home.handle));
    let home = there.unwrap_or_else(|| cx.home.clone());
    let (alive, members) = (Arc::new(AtomicUsize::new(0)), cx.rand.size(8));
    let mut aborts = Vec::new();
    for number in 0..members {
        if cx.rand.once_in(8) {
            let alive = Alive::new(&alive);
            aborts.push(set.spawn_blocking(move || (number, drop(alive)).0));
        } else {
            let inner = Cx { home: home.clone(), ..cx.fork() };
            let member = member(inner, Alive::new(&alive), number);
            aborts.push(set.spawn(home.tracked(member)));
        }
    }
    did("JoinSet::spawn", End::Ok);
    if !aborts.is_empty() && cx.rand.once_in(3) {
        cx.rand.pick(&aborts).abort();
    }
    let mut joined = Joined { seen: vec![false; members], failed: 0 };
    for _ in 0..cx.rand.size(members + 1) {
        match set.try_join_next() {
            Some(result) => joined.note(result),
            None => cx.pause().await,
        }
    }
    let ends = end_set(&mut cx, set, &mut joined).await;
    if ends == Ends::Joined && joined.count() != members {
        violation(format!("{} of {members} members of a JoinSet were joined", joined.count()));
    }
    if ends != Ends::Detached && alive.load(Relaxed) != 0 {
        violation(format!("{} members outlive a JoinSet that is over", alive.load(Relaxed)));
    }
}

/// What an end of a set says about its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// All were joined.
    Joined,
    /// All have ended.
    Ended,
    /// They continue, or end later.
    Detached,
}

async fn end_set(cx: &mut Cx, mut set: JoinSet<usize>, joined: &mut Joined) -> Ends {
    let left = set.len();
    match cx.rand.below(7) {
        0 | 1 => {
            while let Some(result) = set.join_next().await {
                joined.note(result);
            }
            did("JoinSet::join_next", End::Ok);
            if !set.is_empty() {
                violation(format!("join_next returned None for {} members", set.len()));
            }
            Ends::Joined
        }
        2 => {
            while let Some(result) = set.join_next_blocking() {
                joined.note(result);
            }
            did("JoinSet::join_next_blocking", End::Ok);
            Ends::Joined
        }
        3 => {
            set.join_all().await.into_iter().for_each(|result| joined.note(result));
            did("JoinSet::join_all", End::Ok);
            Ends::Joined
        }
        4 => match set.try_join_all().await {
            Ok(numbers) => {
                did("JoinSet::try_join_all", End::Ok);
                if numbers.len() != left {
                    violation(format!("try_join_all returned {} of {left}", numbers.len()));
                }
                Ends::Ended
            }
            Err(_) => {
                did("JoinSet::try_join_all", End::Error);
                Ends::Ended
            }
        },
        5 => {
            set.shutdown().await;
            did("JoinSet::shutdown", End::Ok);
            if !set.is_empty() {
                violation(format!("{} members after a shutdown", set.len()));
            }
            Ends::Ended
        }
        _ => {
            if cx.rand.once_in(2) {
                set.detach_all();
            }
            did("JoinSet::detach_all, drop", End::Ok);
            Ends::Detached
        }
    }
}

/// The members that an operation tries to add to a tracker.
const TRACKED: usize = 6;

/// Closes a tracker when it is dropped, so that an aborted operation leaves no wait.
struct Closes(TaskTracker);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A closed tracker waits for all members that it has accepted, and accepts no others.
pub(crate) async fn tracker(mut cx: Cx) {
    let tracker = TaskTracker::new();
    let closes = Closes(tracker.clone());
    let alive = Arc::new(AtomicUsize::new(0));
    let (spawning, counted) = (tracker.clone(), alive.clone());
    // Spawns beside the close.
    let mut inner = cx.fork();
    let child = cx.spawn(async move {
        for number in 0..TRACKED {
            let own = inner.fork();
            let member = inner.home.tracked(member(own, Alive::new(&counted), number));
            match spawning.spawn(member) {
                Ok(handle) => {
                    did("TaskTracker::spawn", End::Ok);
                    if inner.rand.once_in(4) {
                        handle.abort();
                    }
                }
                Err(closed) => {
                    did("TaskTracker::spawn", End::Closed);
                    drop(closed.into_inner());
                }
            }
            if let Some(token) = spawning.token() {
                let alive = Alive::new(&counted);
                inner.pause().await;
                drop((alive, token));
            }
        }
    });
    gmp::yield_now().await;
    drop(closes);
    tracker.wait().await;
    did("TaskTracker::wait", End::Ok);
    // A member that is refused is dropped by its spawner, and counts until then.
    join(child).await;
    if !tracker.is_closed() || !tracker.is_empty() || alive.load(Relaxed) != 0 {
        let (members, alive) = (tracker.len(), alive.load(Relaxed));
        violation(format!("a closed tracker has {members} members, and {alive} are alive"));
    }
}

/// An abort by a handle from another goroutine or thread ends its goroutine at most once.
pub(crate) async fn abort_handle(mut cx: Cx) {
    let child = cx.spawn_anywhere(|mut inner| async move {
        for _ in 0..4 {
            inner.pause().await;
        }
    });
    let handle: AbortHandle = child.handle.abort_handle();
    let other = handle.clone();
    match cx.rand.below(3) {
        0 => cx.spawn_anywhere(|_| async move { other.abort() }).handle.detach(),
        1 => drop(gmp::spawn_blocking(move || other.abort()).await),
        _ => cx.pause().await,
    }
    if cx.rand.once_in(2) {
        handle.abort();
    }
    join(child).await;
    did("AbortHandle::abort", End::Ok);
    // Has no effect any more.
    handle.abort();
    if !handle.is_finished() {
        violation("a goroutine was joined and is not finished");
    }
}
