//! `JoinSet` and `AbortHandle`, alone and against a model.

use super::cancel::Polled;
use super::explore::{Choices, Home, Lent, every_story, home};
use super::support::{runtime, until, waiting};
use gmp::sync::oneshot;
use gmp::task::{AbortHandle, JoinError, JoinSet};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

#[gmp::test]
async fn outputs_come_in_the_order_of_the_ends() {
    let mut set = JoinSet::new();
    let mut senders = Vec::new();
    for n in 0..5 {
        let (tx, rx) = oneshot::channel::<()>();
        senders.push(Some(tx));
        set.spawn(async move {
            rx.await.unwrap();
            n
        });
    }
    for n in [3, 0, 4, 1, 2] {
        senders[n].take().unwrap().send(()).unwrap();
        assert_eq!(set.join_next().await.unwrap().unwrap(), n);
    }
    assert!(set.join_next().await.is_none());
}

/// Members that ended before the first join come in the order of their ends too.
#[test]
fn ends_before_the_join_are_in_order() {
    let runtime = runtime(1);
    let mut set = JoinSet::new_on(runtime.handle());
    let mut senders = Vec::new();
    for n in 0..4 {
        let (tx, rx) = oneshot::channel::<()>();
        set.spawn(async move {
            rx.await.unwrap();
            n
        });
        senders.push(tx);
    }
    for (reported, at) in [2, 0, 1, 0].into_iter().enumerate() {
        senders.remove(at).send(()).unwrap();
        let expected = format!("reported: {}", reported + 1);
        until(|| format!("{set:?}").contains(&expected));
    }
    let outputs = gmp::block_on(set.join_all());
    let outputs: Vec<_> = outputs.into_iter().map(Result::unwrap).collect();
    assert_eq!(outputs, [2, 0, 3, 1]);
}

#[test]
fn many_members_are_all_joined() {
    let runtime = runtime(2);
    let sum = runtime.block_on(async {
        let mut set = JoinSet::new();
        for n in 0..1000_u64 {
            set.spawn(async move {
                gmp::yield_now().await;
                n
            });
            if n % 3 == 0 {
                set.spawn_blocking(|| 0);
            }
        }
        let mut sum = 0;
        while let Some(output) = set.join_next().await {
            sum += output.unwrap();
        }
        assert!(set.is_empty());
        sum
    });
    assert_eq!(sum, 999 * 1000 / 2);
}

#[gmp::test]
async fn a_panic_and_an_abort_are_distinct_and_named() {
    let mut set = JoinSet::<()>::new();
    let aborted = set.spawn(std::future::pending());
    let panicked = set.spawn(async { std::panic::resume_unwind(Box::new("expected")) });
    aborted.abort();
    for _ in 0..2 {
        let error = set.join_next().await.unwrap().unwrap_err();
        let member = if error.is_panic() { &panicked } else { &aborted };
        assert_eq!(error.goid(), member.goid());
        assert_eq!(error.is_cancelled(), !error.is_panic());
        assert!(member.is_finished());
        member.abort();
    }
}

#[gmp::test]
async fn the_first_failure_aborts_all_members() {
    let alive = Arc::new(());
    let mut set = JoinSet::new();
    for _ in 0..3 {
        let alive = alive.clone();
        set.spawn(async move {
            std::future::pending::<()>().await;
            drop(alive);
        });
    }
    set.spawn(async { std::panic::resume_unwind(Box::new("expected")) });
    assert!(set.try_join_all().await.unwrap_err().is_panic());
    assert_eq!(Arc::strong_count(&alive), 1, "a member has not ended");
}

#[gmp::test]
async fn a_dropped_set_aborts_and_a_detached_one_does_not() {
    let (tx, rx) = oneshot::channel::<()>();
    let (done, is_done) = oneshot::channel();
    let mut set = JoinSet::new();
    set.spawn(async move {
        rx.await.unwrap();
        done.send(()).unwrap();
    });
    set.detach_all();
    assert!(set.is_empty() && set.join_next().await.is_none());
    let aborted = set.spawn(std::future::pending());
    drop(set);
    tx.send(()).unwrap();
    assert_eq!(is_done.await, Ok(()));
    while !aborted.is_finished() {
        gmp::yield_now().await;
    }
}

/// The output of a member of an ended runtime is an error, at once.
#[test]
fn a_member_of_an_ended_runtime_is_an_error() {
    let runtime = runtime(1);
    let handle = runtime.handle().clone();
    runtime.shutdown(std::time::Duration::from_secs(60)).unwrap();
    let mut set = JoinSet::new_on(&handle);
    set.spawn(async { 1 });
    assert!(set.join_next_blocking().unwrap().unwrap_err().is_cancelled());
    assert!(set.join_next_blocking().is_none());
}

#[test]
fn a_dropped_join_next_leaves_no_waker() {
    let runtime = runtime(1);
    let mut set = JoinSet::<()>::new_on(runtime.handle());
    set.spawn(std::future::pending());
    let seen = Arc::default();
    let waker = super::lock_rule::checked_waker(&seen);
    let mut joins = Box::pin(set.join_next());
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(joins.as_mut().poll(&mut cx).is_pending());
    drop(joins);
    drop(waker);
    assert_eq!(Arc::strong_count(&seen), 1);
}

#[test]
fn a_dump_shows_the_wait() {
    let runtime = runtime(1);
    let (tx, rx) = oneshot::channel::<()>();
    let waits = runtime.spawn(async move {
        let mut set = JoinSet::new();
        set.spawn(rx);
        set.join_next().await.unwrap().unwrap()
    });
    runtime.block_on(waiting("join set", 1));
    tx.send(()).unwrap();
    assert_eq!(gmp::block_on(waits).unwrap(), Ok(()));
}

#[test]
fn the_types_have_the_usual_traits() {
    fn usual<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + std::fmt::Debug>(_: &T) {}
    let runtime = runtime(1);
    let mut set = JoinSet::<u32>::new_on(runtime.handle());
    let abort = set.spawn(std::future::pending());
    usual(&set);
    usual(&abort);
    assert_eq!(format!("{set:?}"), "JoinSet { len: 1, reported: 0 }");
    assert!(format!("{:?}", abort.clone()).ends_with(", is_finished: false }"));
    fn send<T: Send>(_: &T) {}
    send(&set.join_next());
    // A handle that is made after the output was returned.
    let mut handle = runtime.spawn(async {});
    gmp::block_on(&mut handle).unwrap();
    assert!(handle.abort_handle().is_finished());
    handle.abort_handle().abort();
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Spawn,
    End(usize),
    Abort(usize),
    AbortAll,
    TryJoin,
    Join,
    Poll,
    DropWait,
    Detach,
}

type Output = Result<usize, JoinError>;

struct Member {
    gate: Option<oneshot::Sender<()>>,
    abort: AbortHandle,
}

/// A set on a runtime on which this thread runs nothing. After each event it waits until all
/// members have reacted.
struct World {
    set: Home<JoinSet<usize>>,
    wait: Option<Polled<'static, Option<Output>>>,
    members: Vec<Member>,
    /// The members that have ended and were not joined: their numbers, `Err` if aborted. In any
    /// order: a member is marked as finished before its end is reported.
    ended: Vec<Result<usize, usize>>,
    /// Members in the set.
    len: usize,
}

impl World {
    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.wait.is_some() {
            events.extend([Event::Poll, Event::DropWait]);
        } else {
            events.extend([Event::AbortAll, Event::TryJoin, Event::Join, Event::Detach]);
            if self.members.len() < 3 {
                events.push(Event::Spawn);
            }
        }
        for (at, member) in self.members.iter().enumerate() {
            if member.gate.is_some() {
                events.extend([Event::End(at), Event::Abort(at)]);
            }
        }
        events
    }

    /// Ends a member and records its end, if it is in the set.
    fn end(&mut self, at: usize, how: Result<usize, usize>, in_set: bool) {
        until(|| self.members[at].abort.is_finished());
        self.members[at].gate = None;
        if in_set {
            self.ended.push(how);
        }
    }

    fn joined(&mut self, got: Option<Output>) {
        let Some(got) = got else { return assert_eq!(self.len, 0, "there are members") };
        let got = got.map_err(|error| {
            assert!(error.is_cancelled());
            let named = |member: &Member| member.abort.goid() == error.goid();
            self.members.iter().position(named).expect("a member")
        });
        let at = self.ended.iter().position(|ended| *ended == got);
        let at = at.expect("it has ended and was not joined before");
        let _joined = self.ended.remove(at);
        self.len -= 1;
    }

    fn poll(&mut self) {
        let wait = self.wait.as_mut().unwrap();
        let mut got = wait.poll();
        if got.is_none() && !self.ended.is_empty() {
            // Is not reported yet.
            until(|| wait.is_woken());
            got = wait.poll();
        }
        assert_eq!(got.is_some(), self.len == 0 || !self.ended.is_empty());
        if let Some(got) = got {
            self.wait = None;
            self.joined(got);
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Spawn => {
                let (gate, opened) = oneshot::channel();
                let n = self.members.len();
                let member = async move {
                    let _ = opened.await;
                    n
                };
                let abort = self.set.borrow_mut().as_mut().unwrap().spawn(member);
                self.members.push(Member { gate: Some(gate), abort });
                self.len += 1;
            }
            Event::End(at) => {
                let gate = self.members[at].gate.take().unwrap();
                gate.send(()).unwrap();
                self.end(at, Ok(at), true);
            }
            Event::Abort(at) => {
                self.members[at].abort.abort();
                self.end(at, Err(at), true);
            }
            Event::AbortAll => {
                self.set.borrow().as_ref().unwrap().abort_all();
                for at in 0..self.members.len() {
                    if self.members[at].gate.is_some() {
                        self.end(at, Err(at), true);
                    }
                }
            }
            Event::TryJoin => {
                let mut set = self.set.borrow_mut();
                let mut got = set.as_mut().unwrap().try_join_next();
                while got.is_none() && !self.ended.is_empty() {
                    // Is not reported yet.
                    std::thread::yield_now();
                    got = set.as_mut().unwrap().try_join_next();
                }
                drop(set);
                assert_eq!(got.is_some(), !self.ended.is_empty());
                if got.is_some() {
                    self.joined(got);
                }
            }
            Event::Join => {
                let mut set = Lent::take(&self.set);
                self.wait = Some(Polled::new(async move { set.join_next().await }));
                self.poll();
            }
            Event::Poll => self.poll(),
            Event::DropWait => self.wait.take().unwrap().cancel(),
            Event::Detach => {
                self.set.borrow_mut().as_mut().unwrap().detach_all();
                (self.len, self.ended) = (0, Vec::new());
                for at in 0..self.members.len() {
                    if let Some(gate) = self.members[at].gate.take() {
                        // It still runs: the receiver lives.
                        gate.send(()).unwrap();
                        self.end(at, Ok(at), false);
                    }
                }
            }
        }
    }

    /// A wait was woken if a member has ended.
    fn check(&self) {
        if let Some(wait) = &self.wait {
            // The member is marked as finished just before it wakes the waker of the set.
            if !self.ended.is_empty() {
                until(|| wait.is_woken());
            }
        } else {
            assert_eq!(self.set.borrow().as_ref().unwrap().len(), self.len);
        }
    }
}

#[test]
fn every_sequence_agrees_with_the_model() {
    let runtime = runtime(1);
    let story = |choices: &mut Choices| {
        let set = home(JoinSet::new_on(runtime.handle()));
        let (wait, members, ended) = (None, Vec::new(), Vec::new());
        let mut world = World { set, wait, members, ended, len: 0 };
        world.act(Event::Spawn);
        for _ in 0..4 {
            let events = world.events();
            world.act(choices.choose(&events));
            world.check();
        }
    };
    every_story(story);
}
