//! Tests of the tracer without a scheduler: the output, the flight recorder, and missed events.

use super::check_tests::{Summary, check, check_with_go};
use super::goroutines::TracedStatus;
use super::output::{MAX_UNWRITTEN, TraceOutput};
use super::session::Scheduler;
use super::{LeaveReason, PollExit, Rest, Right, TracedG, Tracer};
use crate::prim::Ordering::Relaxed;
use crate::wait_reason::WaitReason;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A writer that waits for permission.
struct Slow(Receiver<()>, Arc<Mutex<usize>>);

impl Write for Slow {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        // An error: the test has ended.
        let _ = self.0.recv();
        *self.1.lock().unwrap() += data.len();
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_writer_ends_the_output_with_an_error_and_delays_no_goroutine() {
    let (go_on, permission) = channel();
    let written = Arc::new(Mutex::new(0));
    let output = TraceOutput::start(Slow(permission, written.clone())).unwrap();
    let mib = || output.push(vec![0; 1 << 20]);
    (0..(MAX_UNWRITTEN >> 20) - 1).for_each(|_| mib());
    assert!(!output.has_failed());
    (0..2).for_each(|_| mib());
    assert!(output.has_failed());
    // The writer still waits.
    assert_eq!(output.finish(None).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(*written.lock().unwrap(), 0);
    drop(go_on);
}

#[test]
fn the_output_is_complete_when_finish_returns() {
    let (go_on, permission) = channel();
    let written = Arc::new(Mutex::new(0));
    let output = TraceOutput::start(Slow(permission, written.clone())).unwrap();
    output.push(vec![0; 1000]);
    drop(go_on);
    output.finish(None).unwrap();
    assert_eq!(*written.lock().unwrap(), 1016);
}

/// A scheduler without goroutines.
struct Empty;

impl Scheduler for Empty {
    fn walk(&self, _f: &mut dyn FnMut(&TracedG<'_>, Rest)) {}

    fn running(&self, _f: &mut dyn FnMut(u64, Option<Right>, &TracedG<'_>)) {}

    fn max_procs(&self) -> u64 {
        1
    }

    fn switch(&self, _is_on: bool) {}
}

fn g(id: u64) -> TracedG<'static> {
    TracedG { id, spawn: None, name: None }
}

/// A goroutine that only the last generations name is in the first one of the file, with the status
/// that it had all the time: on its thread, or waiting.
#[test]
fn statuses_move_up_to_the_first_generation_that_is_kept() {
    let tracer: &'static Tracer = Box::leak(Box::new(Tracer::new()));
    tracer.start_ring(&Empty, Duration::from_secs(60), 1 << 20).unwrap();
    let flip = || drop(tracer.record());
    let (a, b) = (tracer.stream_of(1), tracer.stream_of(2));
    let right = |number| Some(Right { runtime: 0, number });
    // Goroutine 1 waits, 2 runs on a silent thread, 3 is in a call without a P.
    let mut writer = a.writer(tracer).unwrap();
    writer.seen_by_walk(&g(1), Rest::Waiting);
    writer.started(&g(2), right(0));
    drop(writer);
    let mut writer = b.writer(tracer).unwrap();
    writer.started(&g(3), right(1));
    writer.hands_off();
    drop(writer);
    flip();
    flip();
    a.writer(tracer).unwrap().unblocked(&g(1));
    a.writer(tracer).unwrap().ended(2);
    b.writer(tracer).unwrap().call_ends();
    b.writer(tracer).unwrap().ended(3);
    flip();
    let all = tracer.kept();
    for from in 0..all.len() {
        let file = super::recorder::encode(&all[from..]);
        let summary = check(&file).unwrap_or_else(|why| panic!("from {from}: {why}"));
        check_with_go(&format!("moved-{from}"), &file);
        let is_before_the_ends = from <= 2;
        assert_eq!(summary.goroutines.len(), if is_before_the_ends { 3 } else { 0 }, "{from}");
        if is_before_the_ends {
            assert_eq!(summary.left.get(&1), Some(&(TracedStatus::Runnable as u64)));
        }
    }
    tracer.stop_ring();
}

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Traces what `f` does with a tracer. Returns the contents of the file.
fn traced(name: &str, f: impl FnOnce(&'static Tracer)) -> Summary {
    let tracer: &'static Tracer = Box::leak(Box::new(Tracer::new()));
    let file = Memory::default();
    tracer.start_file(&Empty, file.clone()).unwrap();
    f(tracer);
    tracer.stop_file().unwrap().finish(None).unwrap();
    let file = file.0.lock().unwrap().clone();
    let summary = check(&file).unwrap_or_else(|why| panic!("{name}: {why}"));
    check_with_go(name, &file);
    summary
}

const RUNNABLE: u64 = TracedStatus::Runnable as u64;
const RUNNING: u64 = TracedStatus::Running as u64;
const WAITING: u64 = TracedStatus::Waiting as u64;
const GO_UNBLOCK: u8 = 21;
const GO_CREATE: u8 = 14;

fn reason() -> LeaveReason {
    LeaveReason::Wait(WaitReason::ChanReceive)
}

/// Another thread may wake the goroutine as soon as its status word says that it waits.
#[test]
fn a_wake_up_before_the_block_is_written_is_in_the_file() {
    let summary = traced("early-wake", |tracer| {
        let (a, b) = (tracer.stream_of(1), tracer.stream_of(2));
        let mut writer = a.writer(tracer).unwrap();
        writer.started(&g(1), None);
        let leaving = writer.leaving(&g(1), None, reason()).unwrap();
        b.writer(tracer).unwrap().unblocked(&g(1));
        writer.left(&leaving, PollExit::Parked);
    });
    assert_eq!(summary.events.get(&GO_UNBLOCK), Some(&1));
    assert_eq!(summary.left.get(&1), Some(&RUNNABLE));
}

#[test]
fn a_goroutine_that_the_file_says_is_runnable_or_runs_is_not_unblocked() {
    let summary = traced("wake-twice", |tracer| {
        let (a, b) = (tracer.stream_of(1), tracer.stream_of(2));
        b.writer(tracer).unwrap().created(&g(1), None);
        b.writer(tracer).unwrap().unblocked(&g(1));
        a.writer(tracer).unwrap().started(&g(1), None);
        b.writer(tracer).unwrap().unblocked(&g(1));
    });
    assert_eq!(summary.events.get(&GO_UNBLOCK), None);
    assert_eq!(summary.left.get(&1), Some(&RUNNING));
}

/// The hooks of a thread may have missed the begin of the trace.
#[test]
fn missed_events_are_written_with_the_next_fact() {
    let summary = traced("missed", |tracer| {
        let (a, b) = (tracer.stream_of(1), tracer.stream_of(2));
        // It waits in the file, and runs: its wake-up was missed.
        a.writer(tracer).unwrap().seen_by_walk(&g(1), Rest::Waiting);
        a.writer(tracer).unwrap().started(&g(1), None);
        // It left, and another one runs there.
        a.writer(tracer).unwrap().started(&g(2), None);
        // The first one runs elsewhere.
        b.writer(tracer).unwrap().started(&g(1), None);
        // It blocks although its start was missed.
        let mut writer = b.writer(tracer).unwrap();
        let leaving = writer.leaving(&g(3), None, reason()).unwrap();
        writer.left(&leaving, PollExit::Parked);
        // It ends although its start was missed.
        a.writer(tracer).unwrap().seen_by_walk(&g(4), Rest::Waiting);
        a.writer(tracer).unwrap().ended(4);
    });
    let left = [(1, RUNNABLE), (2, RUNNABLE), (3, WAITING)];
    assert_eq!(summary.left, left.into());
    assert_eq!(summary.events.get(&GO_UNBLOCK), Some(&2));
}

/// The file takes statuses of unknown goroutines in its first generation only.
#[test]
fn a_goroutine_missed_by_the_first_generation_is_written_as_created() {
    let summary = traced("newcomer", |tracer| {
        let first = tracer.generation.load(Relaxed);
        tracer.request_flip();
        while tracer.generation.load(Relaxed) == first {
            std::thread::yield_now();
        }
        tracer.stream_of(1).writer(tracer).unwrap().unblocked(&g(1));
        tracer.stream_of(2).writer(tracer).unwrap().started(&g(2), None);
    });
    assert_eq!(summary.events.get(&GO_CREATE), Some(&2));
    assert_eq!(summary.left, [(1, RUNNABLE), (2, RUNNING)].into());
}
