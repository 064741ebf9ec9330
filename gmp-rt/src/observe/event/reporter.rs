//! The thread that calls the hooks of the program.
//!
//! A hook may block or panic. So it runs neither on a worker thread nor on sysmon, but on one
//! thread of the process, which starts when the first hook is set. Jobs wait in a queue of limited
//! length. A job for which there is no room is dropped and counted.

use super::Event;
use crate::prim::contain;
use crate::prim::fixed::{Condvar, Mutex};
use crate::sys::own_threads::OwnThread;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use std::{io, mem};

/// Maximum number of jobs that wait. Chosen.
const ROOM: usize = 1024;

/// How long [`flush`] waits. Chosen: longer than a hook takes that writes to a log.
const FLUSH: Duration = Duration::from_millis(200);

type EventHook = Arc<dyn Fn(&Event) + Send + Sync>;

/// Work for the reporter thread. It may panic, also when it is dropped.
pub(crate) type Job = Box<dyn FnMut() + Send>;

/// What the reporter thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReporterState {
    /// The thread has not been started.
    Absent,
    /// It waits for a job, or is starting.
    Waits,
    /// It runs a job.
    Busy(ThreadId),
}

struct Shared {
    state: ReporterState,
    hook: Option<EventHook>,
    jobs: VecDeque<Job>,
    /// Jobs dropped since the last [`Event::Lost`].
    lost: u64,
}

static SHARED: Mutex<Shared> =
    Mutex::new(Shared { state: ReporterState::Absent, hook: None, jobs: VecDeque::new(), lost: 0 });

/// Notified when a job arrives, and when the thread has run all jobs.
static CHANGED: Condvar = Condvar::new();

/// Sets the hook for events. Starts the thread if it does not run.
pub(crate) fn set_hook(hook: impl Fn(&Event) + Send + Sync + 'static) -> io::Result<()> {
    start()?;
    let hook: EventHook = Arc::new(hook);
    let replaced = SHARED.lock().hook.replace(hook);
    // After the lock is released, because the drop is user code.
    drop(replaced);
    Ok(())
}

/// Starts the thread, if it does not run.
pub(crate) fn start() -> io::Result<()> {
    let mut shared = SHARED.lock();
    if shared.state == ReporterState::Absent {
        thread::Builder::new().name("gmp-reporter".to_owned()).spawn(run)?;
        shared.state = ReporterState::Waits;
    }
    Ok(())
}

/// Queues the call of the hook for `event`. Returns `event` if there is no hook.
pub(super) fn offer(event: Event) -> Result<(), Event> {
    let mut shared = SHARED.lock();
    let Some(hook) = shared.hook.clone() else { return Err(event) };
    if shared.lost > 0 && shared.jobs.len() + 1 < ROOM {
        let lost = Event::Lost { count: mem::take(&mut shared.lost) };
        let hook = hook.clone();
        shared.jobs.push_back(Box::new(move || hook(&lost)));
    }
    let refused = shared.push(Box::new(move || hook(&event)));
    drop(shared);
    // After the lock is released: this may be the last reference to a hook.
    discard(refused);
    CHANGED.notify_all();
    Ok(())
}

/// Calls the hook for `event`. Returns `false` if there is none. Only on the reporter thread.
pub(super) fn call_hook(event: &Event) -> bool {
    let hook = SHARED.lock().hook.clone();
    let is_set = hook.is_some();
    contain(|| {
        if let Some(hook) = hook {
            hook(event);
        }
    });
    is_set
}

/// Queues `job`, or drops it if there is no room. Returns it if the thread does not run.
pub(crate) fn post(job: Job) -> Result<(), Job> {
    let mut shared = SHARED.lock();
    if shared.state == ReporterState::Absent {
        return Err(job);
    }
    let refused = shared.push(job);
    drop(shared);
    discard(refused);
    CHANGED.notify_all();
    Ok(())
}

impl Shared {
    /// Queues a job. Returns it if there is no room.
    fn push(&mut self, job: Job) -> Option<Job> {
        if self.jobs.len() >= ROOM {
            self.lost += 1;
            return Some(job);
        }
        self.jobs.push_back(job);
        None
    }
}

fn discard(job: Option<Job>) {
    if job.is_some() {
        contain(|| drop(job));
    }
}

/// Waits until the thread has run all jobs, at most for [`FLUSH`]. Does nothing on that thread.
pub(crate) fn flush() {
    flush_for(FLUSH);
}

/// Waits, as [`flush`], for at most `limit`.
pub(crate) fn flush_for(limit: Duration) {
    let deadline = Instant::now() + limit.min(FLUSH);
    let own = thread::current().id();
    let mut shared = SHARED.lock();
    loop {
        let waits = match shared.state {
            ReporterState::Busy(thread) => thread != own,
            ReporterState::Waits | ReporterState::Absent => !shared.jobs.is_empty(),
        };
        if !waits || CHANGED.wait_until(&mut shared, deadline).timed_out() {
            return;
        }
    }
}

/// Runs the jobs, on the thread of the reporter.
fn run() {
    let _own = OwnThread::enter();
    let own = thread::current().id();
    loop {
        let mut job = next(own);
        contain(&mut job);
        // The job may have the last reference to a hook.
        contain(|| drop(job));
    }
}

/// Waits for a job.
fn next(own: ThreadId) -> Job {
    let mut shared = SHARED.lock();
    shared.state = ReporterState::Waits;
    loop {
        if let Some(job) = shared.jobs.pop_front() {
            shared.state = ReporterState::Busy(own);
            return job;
        }
        // Wakes the threads in `flush`.
        CHANGED.notify_all();
        CHANGED.wait(&mut shared);
    }
}
