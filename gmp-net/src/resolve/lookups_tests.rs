//! Tests of the states of lookups, without calls of the OS.

use super::*;

fn lookups(limit: usize) -> Arc<Lookups> {
    Arc::new(Lookups { limit, state: Mutex::new(LookupsState::default()) })
}

/// Opens a lookup without starting a call.
fn wait(lookups: &Arc<Lookups>, host: &str) -> LookupWait {
    let mut state = lookups.state.lock();
    state.last_ticket += 1;
    let ticket = state.last_ticket;
    let (lookup, _) = state.open(host, lookups.limit);
    LookupWait { lookups: lookups.clone(), lookup, ticket }
}

fn outcome(wait: &LookupWait) -> Option<&LookupOutcome> {
    wait.lookup.outcome.get()
}

#[test]
fn a_lookup_beyond_the_limit_is_queued_until_another_one_ends() {
    let lookups = lookups(2);
    let waits = ["a", "b", "c", "d"].map(|host| wait(&lookups, host));
    let mut state = lookups.state.lock();
    assert_eq!((state.running, state.queue.len()), (2, 2));
    state.close(&waits[0].lookup, Ok(Vec::new()));
    assert_eq!(&*state.next().unwrap().host, "c");
    assert_eq!((state.running, state.queue.len()), (2, 1));
    assert_eq!(&*state.next().unwrap().host, "d");
    assert!(state.next().is_none());
    assert_eq!(state.running, 1);
    drop(state);
    assert!(outcome(&waits[0]).is_some());
    drop(waits);
}

#[test]
fn a_queued_lookup_without_waiters_leaves_the_queue() {
    let lookups = lookups(1);
    let (_runs, queued) = (wait(&lookups, "a"), wait(&lookups, "b"));
    let joined = lookups.clone().join("b").unwrap();
    drop(queued);
    assert_eq!(lookups.state.lock().queue.len(), 1);
    drop(joined);
    let mut state = lookups.state.lock();
    assert_eq!((state.queue.len(), state.open.len(), state.running), (0, 1, 1));
    assert!(state.next().is_none());
}

#[test]
fn a_running_lookup_without_waiters_is_joined() {
    let lookups = lookups(1);
    let first = wait(&lookups, "a");
    let lookup = first.lookup.clone();
    drop(first);
    let again = lookups.clone().join("a").unwrap();
    assert!(Arc::ptr_eq(&again.lookup, &lookup));
    assert_eq!(lookups.state.lock().running, 1);
}

#[test]
fn the_drop_of_an_old_wait_leaves_a_later_lookup_of_the_host_alone() {
    let lookups = lookups(1);
    let old = wait(&lookups, "a");
    let mut state = lookups.state.lock();
    state.close(&old.lookup, Ok(Vec::new()));
    assert!(state.next().is_none());
    drop(state);
    let _later = wait(&lookups, "a");
    drop(old);
    assert_eq!(lookups.state.lock().open["a"].users, 1);
}

#[test]
fn the_end_of_the_runtime_fails_queued_lookups_and_new_ones() {
    let lookups = lookups(1);
    let (starts, queued) = (wait(&lookups, "a"), wait(&lookups, "b"));
    drop(Starts { lookups: lookups.clone(), lookup: Some(starts.lookup.clone()) });
    for wait in [&starts, &queued] {
        assert!(matches!(outcome(wait), Some(Err(Failure::Ended))));
    }
    assert_eq!(lookups.join("c").unwrap_err(), RuntimeEnded);
}
