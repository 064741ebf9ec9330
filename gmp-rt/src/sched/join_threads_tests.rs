//! Joins with threads that end, that stay, and whose thread-local destructors stay.

use super::*;
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Waits for a message when it is dropped.
struct WaitOnDrop(Receiver<()>);

impl Drop for WaitOnDrop {
    fn drop(&mut self) {
        let _ = self.0.recv();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<WaitOnDrop>> = const { RefCell::new(None) };
}

fn start(name: &str, main: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.to_owned()).spawn(main).unwrap()
}

#[test]
fn threads_that_end_are_joined() {
    let handles = (0..5).map(|_| start("ends", || {})).collect();
    assert_eq!(join_until(handles, Some(Instant::now() + LONG)), [""; 0]);
    assert_eq!(join_until(vec![start("ends", || {})], None), [""; 0]);
    assert_eq!(join_until(Vec::new(), Some(Instant::now())), [""; 0]);
}

#[test]
fn the_limit_names_the_threads_that_stay() {
    let (in_main, main_waits) = channel::<()>();
    let (in_local, local_waits) = channel::<()>();
    let stays = start("stays", move || assert!(main_waits.recv().is_err()));
    let destroys = start("destroys", move || LOCAL.set(Some(WaitOnDrop(local_waits))));
    while !destroys.is_finished() {
        thread::yield_now();
    }
    let ended = start("ended", || {});
    while !ended.is_finished() {
        thread::yield_now();
    }
    let handles = vec![ended, destroys, stays];
    let mut names = join_until(handles, Some(Instant::now() + Duration::from_millis(50)));
    names.retain(|name| name != "ended");
    assert!(names.contains(&"stays".to_owned()), "{names:?}");
    drop((in_main, in_local));
}

/// A thread that stays does not delay the joins of those that have ended.
#[test]
fn threads_that_have_ended_are_joined_first() {
    let (ends, waits) = channel::<()>();
    let stays = start("stays", move || assert!(waits.recv().is_err()));
    let ended: Vec<_> = (0..40).map(|_| start("ended", || {})).collect();
    while !ended.iter().all(JoinHandle::is_finished) {
        thread::yield_now();
    }
    let mut left = Unjoined { rest: [stays].into_iter().chain(ended).collect(), joining: None };
    for _ in 0..40 {
        left.next().unwrap().join().unwrap();
        assert_eq!(left.joining.as_deref(), Some("ended"));
    }
    drop(ends);
    left.next().unwrap().join().unwrap();
    assert!(left.next().is_none());
}

/// The destructor of a thread-local runs after the main function.
#[test]
fn destructors_of_thread_locals_count() {
    let (ends, waits) = channel::<()>();
    let destroys = start("destroys", move || LOCAL.set(Some(WaitOnDrop(waits))));
    while !destroys.is_finished() {
        thread::yield_now();
    }
    let limit = Instant::now() + Duration::from_millis(20);
    assert_eq!(join_until(vec![destroys], Some(limit)), ["destroys"]);
    assert!(Instant::now() >= limit);
    drop(ends);
}

#[test]
fn without_a_helper_the_main_functions_count() {
    let (ends, waits) = channel::<()>();
    let handles = [start("stays", move || assert!(waits.recv().is_err())), start("ends", || {})];
    while !handles[1].is_finished() {
        thread::yield_now();
    }
    assert_eq!(wait_finished(&handles, Some(Instant::now())), ["stays"]);
    drop(ends);
    assert_eq!(wait_finished(&handles, None), [""; 0]);
}
