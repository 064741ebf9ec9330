//! Joins the threads of a runtime within a time limit.
//!
//! A thread that has left the scheduler may still run user code: destructors of thread-locals, and
//! on sysmon the stall hook. The join of std has no limit. So a helper thread joins, and the caller
//! waits for the helper. The helper runs no user code.

use crate::prim::fixed::{Condvar, Mutex};
use crate::tuning::SYSMON_MAX_NAP;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// Threads that are checked before a join. Chosen: a check of all, before each join of thousands,
/// would count against the limit of the caller.
const LOOKS: usize = 32;

/// The threads that a helper joins. See the [module](self).
#[derive(Debug, Default)]
struct Joins {
    left: Mutex<Unjoined>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Unjoined {
    /// The threads for which the helper does not wait yet.
    rest: VecDeque<JoinHandle<()>>,
    /// The name of the thread for which it waits.
    joining: Option<String>,
}

impl Unjoined {
    /// Takes the next thread to join: one that has ended, if one of the first [`LOOKS`] has. The
    /// others go to the end, so that later calls check all in turn.
    fn next(&mut self) -> Option<JoinHandle<()>> {
        for _ in 0..LOOKS.min(self.rest.len()) {
            if self.rest.front().is_some_and(JoinHandle::is_finished) {
                break;
            }
            self.rest.rotate_left(1);
        }
        let handle = self.rest.pop_front()?;
        self.joining = Some(name(&handle));
        Some(handle)
    }

    fn are_joined(&self) -> bool {
        self.joining.is_none() && self.rest.is_empty()
    }

    /// Returns the names of the threads that have not ended.
    fn names(&self) -> Vec<String> {
        self.joining.iter().cloned().chain(unfinished(&self.rest)).collect()
    }
}

impl Joins {
    fn run(&self) {
        loop {
            let mut left = self.left.lock();
            left.joining = None;
            let Some(handle) = left.next() else { break };
            drop(left);
            // A panic of a thread aborts the process, so there is no error to report.
            let _ = handle.join();
        }
        self.changed.notify_all();
    }

    /// Waits until the helper has joined all threads, at most until `deadline`. Returns the names
    /// of those that have not ended.
    fn wait(&self, deadline: Option<Instant>) -> Vec<String> {
        let mut left = self.left.lock();
        while !left.are_joined() {
            match deadline {
                Some(deadline) if self.changed.wait_until(&mut left, deadline).timed_out() => {
                    return left.names();
                }
                Some(_) => {}
                None => self.changed.wait(&mut left),
            }
        }
        Vec::new()
    }
}

/// Joins threads, at most until `deadline`; without a limit if it is `None`. Returns the names of
/// those that have not ended. The helper joins them later.
pub(super) fn join_until(handles: Vec<JoinHandle<()>>, deadline: Option<Instant>) -> Vec<String> {
    if handles.is_empty() {
        return Vec::new();
    }
    let joins = Arc::new(Joins::default());
    joins.left.lock().rest = handles.into();
    let joined = joins.clone();
    let helper = thread::Builder::new().name("gmp-join".to_owned());
    match helper.spawn(move || joined.run()) {
        Ok(helper) => {
            let names = joins.wait(deadline);
            if names.is_empty() {
                let _ = helper.join();
            }
            names
        }
        Err(_) => {
            let handles = std::mem::take(&mut joins.left.lock().rest);
            wait_finished(&Vec::from(handles), deadline)
        }
    }
}

/// Waits without a helper thread, if the OS refuses one: until each main function has returned or
/// the deadline has passed. Returns the names of the threads that remain.
fn wait_finished(handles: &[JoinHandle<()>], deadline: Option<Instant>) -> Vec<String> {
    loop {
        let names: Vec<_> = unfinished(handles).collect();
        if names.is_empty() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return names;
        }
        thread::sleep(SYSMON_MAX_NAP);
    }
}

/// Returns the names of the threads whose main functions have not returned.
pub(super) fn unfinished<'a>(
    handles: impl IntoIterator<Item = &'a JoinHandle<()>>,
) -> impl Iterator<Item = String> {
    handles.into_iter().filter(|handle| !handle.is_finished()).map(name)
}

fn name(handle: &JoinHandle<()>) -> String {
    handle.thread().name().unwrap_or("unnamed thread").to_owned()
}

#[cfg(all(test, not(gmp_loom)))]
#[path = "join_threads_tests.rs"]
mod tests;
