//! Tests of the wait group, after Go's `waitgroup_test.go`.

use super::WaitGroup;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `TestWaitGroup`: a barrier of sixteen goroutines, used eight times.
#[test]
fn a_wait_group_works_as_a_barrier_again_and_again() {
    let runtime = gmp_rt::runtime::Builder::new().max_procs(2).build().unwrap();
    let (first, second) = (WaitGroup::new(), WaitGroup::new());
    for _ in 0..8 {
        first.add(16);
        second.add(16);
        let exited = Arc::new(AtomicUsize::new(0));
        for _ in 0..16 {
            let (first, second, exited) = (first.clone(), second.clone(), exited.clone());
            runtime.spawn(async move {
                first.done();
                second.wait().await;
                exited.fetch_add(1, Ordering::AcqRel);
            });
        }
        gmp_rt::block_on(first.wait());
        for n in 0..16 {
            assert_eq!(exited.load(Ordering::Acquire), 0, "released too early, after {n}");
            second.done();
        }
        while exited.load(Ordering::Acquire) < 16 {
            std::thread::yield_now();
        }
    }
}

/// `TestWaitGroupMisuse`.
#[test]
#[should_panic(expected = "sync: negative WaitGroup counter")]
fn one_done_too_many_panics() {
    let group = WaitGroup::new();
    group.add(1);
    group.done();
    group.done();
}

/// `TestWaitGroupRace`: no wait ends early.
#[test]
fn no_wait_ends_before_the_members() {
    for _ in 0..200 {
        let (group, n) = (WaitGroup::new(), Arc::new(AtomicUsize::new(0)));
        for _ in 0..2 {
            let n = n.clone();
            group.go(async move { n.fetch_add(1, Ordering::AcqRel) });
        }
        gmp_rt::block_on(group.wait());
        assert_eq!(n.load(Ordering::Acquire), 2);
    }
}

/// A goroutine that panics, and one that is aborted, count as done.
#[test]
fn members_that_panic_or_are_aborted_count_as_done() {
    let group = WaitGroup::new();
    let panics = group.go(async { panic!("expected by the test") });
    let aborted = group.go(std::future::pending::<()>());
    aborted.abort();
    gmp_rt::block_on(group.wait());
    assert!(gmp_rt::block_on(panics).unwrap_err().is_panic());
}

/// A wait that is dropped half-way leaves the queue empty. The executor is not gmp's.
#[test]
fn a_dropped_wait_leaves_the_queue() {
    let group = WaitGroup::new();
    group.add(1);
    let mut wait = Box::pin(group.wait());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    drop(wait);
    assert!(group.shared.0.lock().waiting.is_empty());
    group.done();
    gmp_rt::block_on(group.wait());
}

/// The group is used again before a wait that has ended returns: Go's panic.
#[test]
#[should_panic(expected = "sync: WaitGroup is reused before previous Wait has returned")]
fn a_reuse_before_a_wait_has_returned_panics() {
    let group = WaitGroup::new();
    group.add(1);
    let mut wait = Box::pin(group.wait());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    group.done();
    group.add(1);
    let _ = wait.as_mut().poll(&mut cx);
}

/// Records the counter of a group when it is dropped.
struct CountAtDrop(WaitGroup, Arc<AtomicUsize>);

impl Drop for CountAtDrop {
    fn drop(&mut self) {
        self.1.store(self.0.count() as usize, Ordering::Release);
    }
}

/// `wait` must not return while the future of a member still exists. The goroutine is aborted
/// before its first poll: the only P runs the goroutine that spawns it.
#[test]
fn an_aborted_member_drops_its_future_before_it_is_done() {
    let runtime = gmp_rt::runtime::Builder::new().max_procs(1).build().unwrap();
    let (group, count) = (WaitGroup::new(), Arc::new(AtomicUsize::new(usize::MAX)));
    let (inner, noted) = (group.clone(), CountAtDrop(group.clone(), count.clone()));
    let spawning = runtime.spawn(async move {
        let member = inner.go(async move {
            let _noted = noted;
            std::future::pending::<()>().await;
        });
        member.abort();
        assert!(member.await.unwrap_err().is_cancelled());
    });
    gmp_rt::block_on(spawning).unwrap();
    gmp_rt::block_on(group.wait());
    assert_eq!(count.load(Ordering::Acquire), 1, "the counter while the future was dropped");
}
