//! Every future of the locks and related types, dropped at every possible point: nothing is lost.

use super::cancel::{Dropped, Polled, Scene, everywhere, held, step};
use super::support::Gate;
use gmp::sync::{
    Barrier, BarrierWaitResult, Cond, Lazy, Mutex, Once, OnceCell, RwLock, Semaphore, WaitGroup,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A value that steps put in and take out.
type Slot<T> = Rc<RefCell<Option<T>>>;

fn slot<T>(value: T) -> Slot<T> {
    Rc::new(RefCell::new(Some(value)))
}

/// Completes the wait of another waiter, which must succeed at the end.
fn ends<T>(other: &Slot<Polled<'_, T>>) -> T {
    other.borrow_mut().as_mut().unwrap().poll().expect("the other one is left waiting for ever")
}

/// Position of the other waiter relative to the dropped one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Before,
    Behind,
}

/// A mutex is locked, unlocked, taken again by a barging `try_lock` and unlocked. Another waiter is
/// before or behind the dropped one.
fn mutex_scene(line: Line, starving: Duration) {
    everywhere(
        || Mutex::new(()),
        |mutex| {
            let guard = slot(mutex.try_lock().unwrap());
            let mut future = held(mutex.lock());
            let other = slot(Polled::new(mutex.lock()));
            let wait = |other: &Slot<Polled<'_, _>>| {
                assert!(other.borrow_mut().as_mut().unwrap().poll().is_none());
            };
            match line {
                Line::Before => wait(&other),
                Line::Behind => {
                    assert!(future.poll().is_none());
                    wait(&other);
                }
            }
            std::thread::sleep(starving);
            let (unlocks, barges, again, again_other, last) =
                (guard.clone(), guard.clone(), guard.clone(), other.clone(), other);
            Scene {
                future,
                steps: vec![
                    step(move || *unlocks.borrow_mut() = None),
                    // May fail: a starving waiter gets the mutex handed over.
                    step(move || *barges.borrow_mut() = mutex.try_lock()),
                    // Polls the other waiter, which may or may not get the mutex.
                    step(move || {
                        let polled = &mut *again_other.borrow_mut();
                        if polled.as_mut().unwrap().poll().is_some() {
                            *polled = Some(Polled::new(mutex.lock()));
                        }
                    }),
                    step(move || *again.borrow_mut() = None),
                ],
                check: Box::new(move |_| {
                    drop(ends(&last));
                    assert!(mutex.try_lock().is_some(), "left locked, or starving");
                }),
            }
        },
    );
}

#[test]
fn a_dropped_lock_lets_the_next_one_in() {
    mutex_scene(Line::Before, Duration::ZERO);
    mutex_scene(Line::Behind, Duration::ZERO);
}

#[test]
fn a_dropped_lock_of_a_starving_mutex_lets_the_next_one_in() {
    mutex_scene(Line::Before, Duration::from_micros(1200));
    mutex_scene(Line::Behind, Duration::from_micros(1200));
}

/// A semaphore of three. A request for two is dropped. Requests for one and three are around it.
#[test]
fn a_dropped_acquire_lets_the_next_ones_in() {
    for line in [Line::Before, Line::Behind] {
        everywhere(
            || Semaphore::new(3),
            |semaphore| {
                let permits = slot(semaphore.try_acquire(2).unwrap());
                let mut future = held(semaphore.acquire(2));
                if line == Line::Behind {
                    assert!(future.poll().is_none());
                }
                let all = slot(Polled::waiting(semaphore.acquire(3)));
                let one = slot(Polled::waiting(semaphore.acquire(1)));
                let (gives_one, gives_two) = (permits.clone(), permits);
                let (all_again, all_last) = (all.clone(), all);
                Scene {
                    future,
                    steps: vec![
                        step(move || {
                            drop(gives_one.borrow_mut().as_mut().unwrap().split(1).unwrap());
                        }),
                        step(move || *gives_two.borrow_mut() = None),
                        step(move || {
                            let mut all = all_again.borrow_mut();
                            if let Some(permits) = all.as_mut().unwrap().poll() {
                                drop(permits);
                                *all = Some(Polled::new(semaphore.acquire(3)));
                            }
                        }),
                    ],
                    check: Box::new(move |_| {
                        // The order of the two depends on their positions in the queue.
                        let all = all_last.borrow_mut().as_mut().unwrap().poll();
                        let had_all = all.is_some();
                        drop(all);
                        drop(ends(&one));
                        if !had_all {
                            drop(ends(&all_last));
                        }
                        assert_eq!(semaphore.available_permits(), 3);
                        assert!(semaphore.try_acquire(3).is_some());
                    }),
                }
            },
        );
    }
}

/// A dropped reader, with a writer inside, a waiting writer and another reader.
#[test]
fn a_dropped_read_lets_the_writer_and_readers_in() {
    everywhere(
        || RwLock::new(()),
        |lock| {
            let inside = slot(lock.try_write().unwrap());
            let writer = slot(Polled::waiting(lock.write()));
            let reader = slot(Polled::waiting(lock.read()));
            let (reads, last) = (reader.clone(), reader);
            Scene {
                future: held(lock.read()),
                steps: vec![
                    step(move || *inside.borrow_mut() = None),
                    step(move || {
                        let polled = &mut *reads.borrow_mut();
                        drop(polled.as_mut().unwrap().poll().expect("its turn"));
                        *polled = Some(Polled::new(lock.read()));
                    }),
                ],
                check: Box::new(move |_| {
                    drop(ends(&writer));
                    drop(ends(&last));
                    assert!(lock.try_write().is_some());
                }),
            }
        },
    );
}

/// A dropped writer, with readers inside, readers that it blocks, and a writer behind it.
#[test]
fn a_dropped_write_lets_readers_and_the_next_writer_in() {
    everywhere(
        || RwLock::new(()),
        |lock| {
            let inside = [slot(lock.try_read().unwrap()), slot(lock.try_read().unwrap())];
            let [first, second] = inside;
            let blocked: Slot<Polled<'_, _>> = slot(Polled::new(lock.read()));
            let (comes, last) = (blocked.clone(), blocked);
            let next = slot(Polled::new(lock.write()));
            let (writes, next_last) = (next.clone(), next);
            Scene {
                future: held(lock.write()),
                steps: vec![
                    step(move || *first.borrow_mut() = None),
                    // Gets in, or is blocked by a waiting writer.
                    step(move || {
                        let polled = &mut *comes.borrow_mut();
                        if polled.as_mut().unwrap().poll().is_some() {
                            *polled = Some(Polled::new(lock.read()));
                        }
                    }),
                    step(move || {
                        let polled = &mut *writes.borrow_mut();
                        if polled.as_mut().unwrap().poll().is_some() {
                            *polled = Some(Polled::new(lock.write()));
                        }
                    }),
                    step(move || *second.borrow_mut() = None),
                ],
                check: Box::new(move |_| {
                    // The order of the two depends on their positions in the queue.
                    let reader = last.borrow_mut().as_mut().unwrap().poll();
                    let read = reader.is_some();
                    drop(reader);
                    drop(ends(&next_last));
                    if !read {
                        drop(ends(&last));
                    }
                    assert!(lock.try_write().is_some());
                }),
            }
        },
    );
}

/// A dropped wait with one signal and another waiter behind it. One of the two gets the signal.
#[test]
fn a_dropped_wait_loses_no_signal() {
    everywhere(
        || (Mutex::new(()), Cond::new()),
        |(mutex, cond)| {
            let mut future = held(cond.wait(mutex.try_lock().unwrap()));
            assert!(future.poll().is_none());
            let other = Polled::waiting(cond.wait(mutex.try_lock().unwrap()));
            let guard: Slot<_> = Rc::default();
            let (locks, unlocks) = (guard.clone(), guard);
            Scene {
                future,
                steps: vec![
                    step(move || *locks.borrow_mut() = mutex.try_lock()),
                    step(move || cond.signal()),
                    step(move || *unlocks.borrow_mut() = None),
                ],
                check: Box::new(move |dropped| {
                    let mut other = other;
                    let passed_on = !matches!(dropped, Dropped::Ready(_));
                    assert_eq!(other.is_woken(), passed_on);
                    if passed_on {
                        drop(other.poll().expect("the mutex is free"));
                    }
                    assert!(mutex.try_lock().is_some());
                }),
            }
        },
    );
}

/// A dropped `call` that waits or runs. At the end it is done, by one of the two.
#[test]
fn a_dropped_call_of_once_leaves_it_done() {
    everywhere(
        || (Once::new(), Gate::default(), Cell::new(0)),
        |(once, gate, begun)| {
            let work = async move || {
                begun.set(begun.get() + 1);
                gate.wait().await;
            };
            let other = slot(Polled::new(once.call(work)));
            let (polls, last) = (other.clone(), other);
            let over = Rc::new(Cell::new(false));
            let (ended, was_over) = (over.clone(), over);
            Scene {
                future: held(once.call(work)),
                steps: vec![
                    step(move || ended.set(polls.borrow_mut().as_mut().unwrap().poll().is_some())),
                    step(move || gate.open()),
                ],
                check: Box::new(move |_| {
                    if !was_over.get() {
                        ends(&last);
                    }
                    assert!(once.is_done());
                    assert_eq!(begun.get(), 1);
                }),
            }
        },
    );
}

/// A dropped initialiser. At the end the value is set, by this one or the other one.
#[test]
fn a_dropped_initialiser_lets_the_next_one_set_the_value() {
    everywhere(
        || (OnceCell::new(), Gate::default()),
        |(cell, gate)| {
            let make = |n: u32| {
                cell.get_or_init(move || async move {
                    gate.wait().await;
                    n
                })
            };
            let other = slot(Polled::new(make(2)));
            let waits = slot(Polled::waiting(cell.wait()));
            let (polls, last) = (other.clone(), other);
            let over = Rc::new(Cell::new(None));
            let (ended, was_over) = (over.clone(), over);
            Scene {
                future: held(make(1)),
                steps: vec![
                    step(move || ended.set(polls.borrow_mut().as_mut().unwrap().poll().copied())),
                    step(move || gate.open()),
                ],
                check: Box::new(move |dropped| {
                    let value = was_over.get().unwrap_or_else(|| *ends(&last));
                    assert_eq!(cell.get(), Some(&value));
                    assert_eq!(*ends(&waits), value);
                    if matches!(dropped, Dropped::Pending(_)) {
                        assert_eq!(value, 2, "a dropped call cannot have set it");
                    }
                }),
            }
        },
    );
}

/// The previous initialiser gives up. A waiter that gets the turn and is dropped passes it on.
#[test]
fn a_dropped_waiter_passes_the_initialisation_on() {
    everywhere(
        || (OnceCell::new(), Gate::default()),
        |(cell, gate)| {
            let make = |n: u32| {
                cell.get_or_init(move || async move {
                    gate.wait().await;
                    n
                })
            };
            let first = slot(Polled::waiting(cell.get_or_init(std::future::pending)));
            let mut future = held(make(1));
            assert!(future.poll().is_none());
            let other = slot(Polled::waiting(make(2)));
            Scene {
                future,
                steps: vec![step(move || *first.borrow_mut() = None), step(move || gate.open())],
                check: Box::new(move |dropped| {
                    let value = match dropped {
                        Dropped::Pending(_) => 2,
                        Dropped::Ready(_) => 1,
                    };
                    assert_eq!(*ends(&other), value);
                    assert_eq!(cell.get(), Some(&value));
                }),
            }
        },
    );
}

/// A lazy value is made once and is present at the end, whichever wait is dropped.
#[test]
fn a_dropped_force_lets_the_next_one_make_the_value() {
    everywhere(
        || {
            let (gate, begun) = (Arc::new(Gate::default()), Arc::new(Mutex::new(0)));
            let (wait, count) = (gate.clone(), begun.clone());
            let lazy = Lazy::new(async move {
                *count.lock().await += 1;
                wait.wait().await;
                42
            });
            (lazy, gate, begun)
        },
        |(lazy, gate, begun)| {
            let other = slot(Polled::new(lazy.force()));
            let (polls, last) = (other.clone(), other);
            let over = Rc::new(Cell::new(None));
            let (ended, was_over) = (over.clone(), over);
            Scene {
                future: held(lazy.force()),
                steps: vec![
                    step(move || ended.set(polls.borrow_mut().as_mut().unwrap().poll().copied())),
                    step(move || gate.open()),
                ],
                check: Box::new(move |_| {
                    assert_eq!(was_over.get().unwrap_or_else(|| *ends(&last)), 42);
                    assert_eq!(*begun.try_lock().unwrap(), 1);
                }),
            }
        },
    );
}

/// Returns a step in which one more waiter arrives at a barrier. It is counted if it passes.
fn comes<'a>(
    other: &Slot<Polled<'a, BarrierWaitResult>>,
    passed: &Rc<Cell<usize>>,
) -> Box<dyn FnMut() + 'a> {
    let (other, passed) = (other.clone(), passed.clone());
    step(move || {
        let ended = other.borrow_mut().as_mut().unwrap().poll().is_some();
        passed.set(passed.get() + usize::from(ended));
    })
}

/// A barrier of three. A dropped wait counts as an arrival only if it has passed.
#[test]
fn a_dropped_barrier_wait_counts_only_if_it_has_passed() {
    everywhere(
        || Barrier::new(3),
        |barrier| {
            let others = [slot(Polled::new(barrier.wait())), slot(Polled::new(barrier.wait()))];
            let [first, second] = others;
            let passed = Rc::new(Cell::new(0));
            let steps = vec![comes(&first, &passed), comes(&second, &passed)];
            Scene {
                future: held(barrier.wait()),
                steps,
                check: Box::new(move |dropped| {
                    let woken = [&first, &second]
                        .iter()
                        .filter(|other| other.borrow().as_ref().unwrap().is_woken())
                        .count();
                    match (dropped, woken + passed.get()) {
                        // Dropped before all had arrived: two have arrived, and the third is
                        // missing.
                        (Dropped::Pending(_), 0) => assert!(barrier.wait_blocking().is_leader()),
                        // All had arrived: the wait had passed, or was not polled since.
                        (Dropped::Pending(2) | Dropped::Ready(_), 2) => {}
                        other => panic!("{other:?}"),
                    }
                    assert_eq!(format!("{barrier:?}"), "Barrier { size: 3, come: 0 }");
                }),
            }
        },
    );
}

/// A dropped wait on a wait group is removed, and the other wait ends.
#[test]
fn a_dropped_wait_leaves_the_wait_group() {
    everywhere(
        || {
            let group = WaitGroup::new();
            group.add(2);
            group
        },
        |group| {
            let other = slot(Polled::waiting(group.wait()));
            Scene {
                future: held(group.wait()),
                steps: vec![step(|| group.done()), step(|| group.done())],
                check: Box::new(move |dropped| {
                    assert_ne!(dropped, Dropped::Ready(1));
                    ends(&other);
                }),
            }
        },
    );
}
