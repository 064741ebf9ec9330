//! Notify: no notification is lost, and none wakes two.

use crate::context::{Cx, abort, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use gmp::sync::Notify;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A number of jobs, waiters that do them, and the driver that waits until they are done.
#[derive(Default)]
struct Desk {
    jobs: Arc<Notify>,
    done: Notify,
    count: AtomicUsize,
    over: AtomicBool,
}

/// Ends all waits when it is dropped, so that an aborted operation leaves no waiter.
struct Closes(Arc<Desk>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
        self.0.jobs.notify_waiters();
    }
}

/// Does jobs until the desk is closed. `form` is how it waits for one.
async fn work(desk: Arc<Desk>, form: u64) {
    loop {
        // Before the check: see `Notify`.
        let (notified, owned) = (desk.jobs.notified(), desk.jobs.clone().notified_owned());
        if desk.over.load(SeqCst) {
            return;
        }
        match form {
            0 => owned.await,
            1 => {
                // Takes a stored notification; or a place in line and leaves it, and then a
                // notification that has come meanwhile is passed on.
                let mut first = Box::pin(owned);
                let has_one = first.as_mut().enable();
                drop(first);
                if !has_one {
                    notified.await;
                }
            }
            _ => notified.await,
        }
        if desk.over.load(SeqCst) {
            return;
        }
        desk.count.fetch_add(1, SeqCst);
        desk.done.notify_one();
    }
}

/// Each of several notifications wakes one waiter, also if others are aborted. The watchdog reports
/// a notification that is lost.
pub(crate) async fn notify(mut cx: Cx) {
    let desk = Arc::new(Desk::default());
    let closes = Closes(desk.clone());
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(4) {
        let (desk, form) = (desk.clone(), cx.rand.below(3));
        children.push(cx.spawn_anywhere(|_| work(desk, form)));
    }
    // The first one is never aborted, so that a waiter remains.
    let jobs = cx.rand.size(6);
    for job in 1..=jobs {
        if cx.rand.once_in(4) {
            desk.jobs.notify_last();
            did("Notify::notify_last", End::Ok);
        } else {
            desk.jobs.notify_one();
            did("Notify::notify_one", End::Ok);
        }
        if children.len() > 1 && cx.rand.once_in(4) {
            let child = children.pop().expect("there are two");
            abort(&child);
            join(child).await;
        }
        while desk.count.load(SeqCst) < job {
            let done = desk.done.notified();
            if desk.count.load(SeqCst) >= job {
                break;
            }
            done.await;
        }
        did("Notify::notified", End::Ok);
    }
    drop(closes);
    did("Notify::notify_waiters", End::Ok);
    for child in children {
        join(child).await;
    }
    let count = desk.count.load(SeqCst);
    if count > jobs {
        violation(format!("{jobs} notifications were received {count} times"));
    }
}
