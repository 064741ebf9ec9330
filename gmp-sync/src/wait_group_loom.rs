//! Models of the wait group: the last `done` against a wait that begins or is dropped.

use super::WaitGroup;
use ::loom::future::block_on;
use ::loom::thread;

/// The wait ends, whenever the last `done` happens.
#[test]
fn loom_done_vs_wait() {
    ::loom::model(|| {
        let group = WaitGroup::new();
        group.add(2);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let group = group.clone();
                thread::spawn(move || group.done())
            })
            .collect();
        block_on(group.wait());
        assert_eq!(group.count(), 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A wait that is dropped during the last `done` does not take the wake-up of the other wait.
#[test]
fn loom_done_vs_dropped_wait() {
    ::loom::model(|| {
        let group = WaitGroup::new();
        group.add(1);
        let done = group.clone();
        let t = thread::spawn(move || done.done());
        let mut dropped = Box::pin(group.wait());
        let waker = std::task::Waker::noop();
        let _ = dropped.as_mut().poll(&mut std::task::Context::from_waker(waker));
        drop(dropped);
        block_on(group.wait());
        t.join().unwrap();
    });
}
