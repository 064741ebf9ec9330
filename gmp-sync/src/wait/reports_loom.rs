//! Models of the reports of a set: a report against a wait that begins or is dropped.

use super::Reports;
use ::loom::future::block_on;
use ::loom::thread;
use gmp_rt::task::park::StorableWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Waits for a report as `poll_join_next` does.
fn take(reports: &Reports) -> usize {
    block_on(poll_fn(|cx| {
        loop {
            if let Some(key) = reports.take() {
                return Poll::Ready(key);
            }
            if reports.wait(&mut StorableWaker::new(cx.waker())).is_pending() {
                return Poll::Pending;
            }
        }
    }))
}

/// The wait ends, whenever the reports come.
#[test]
fn loom_report_vs_wait() {
    ::loom::model(|| {
        let reports = Arc::new(Reports::default());
        let other = reports.clone();
        let reporter = thread::spawn(move || {
            other.report(1);
            other.report(2);
        });
        assert_eq!([take(&reports), take(&reports)], [1, 2]);
        reporter.join().unwrap();
    });
}

/// A wait that is dropped during a report loses no report.
#[test]
fn loom_report_vs_dropped_wait() {
    ::loom::model(|| {
        let reports = Arc::new(Reports::default());
        let other = reports.clone();
        let reporter = thread::spawn(move || other.report(1));
        let _ = reports.wait(&mut StorableWaker::new(Waker::noop()));
        reports.forget();
        assert_eq!(take(&reports), 1);
        reporter.join().unwrap();
    });
}
