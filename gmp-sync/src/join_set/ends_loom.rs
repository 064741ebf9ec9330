//! Models of the reported ends: a report against a wait that begins or is dropped.

use super::MemberEnds;
use ::loom::future::block_on;
use ::loom::thread;
use gmp_rt::task::park::StorableWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Waits for a report as `poll_join_next` does.
fn take(ends: &MemberEnds) -> usize {
    block_on(poll_fn(|cx| {
        loop {
            if let Some(key) = ends.take() {
                return Poll::Ready(key);
            }
            if ends.wait(&mut StorableWaker::new(cx.waker())).is_pending() {
                return Poll::Pending;
            }
        }
    }))
}

/// The wait ends, whenever the reports come.
#[test]
fn loom_report_vs_wait() {
    ::loom::model(|| {
        let ends = Arc::new(MemberEnds::default());
        let other = ends.clone();
        let reports = thread::spawn(move || {
            other.report(1);
            other.report(2);
        });
        assert_eq!([take(&ends), take(&ends)], [1, 2]);
        reports.join().unwrap();
    });
}

/// A wait that is dropped during a report loses no report.
#[test]
fn loom_report_vs_dropped_wait() {
    ::loom::model(|| {
        let ends = Arc::new(MemberEnds::default());
        let other = ends.clone();
        let reports = thread::spawn(move || other.report(1));
        let _ = ends.wait(&mut StorableWaker::new(Waker::noop()));
        ends.forget();
        assert_eq!(take(&ends), 1);
        reports.join().unwrap();
    });
}
