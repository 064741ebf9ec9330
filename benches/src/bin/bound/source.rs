//! What makes goroutines runnable: external threads, timers, a socket, other goroutines.

use crate::clocks::counted;
use crate::judge::{Event, Judge, Source};
use crate::rand::Rand;
use gmp::chan::{Receiver, Sender};
use gmp::net::UnixStream;
use gmp::runtime::Handle;
use parking_lot::Mutex;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The most time between two events of a source, in microseconds.
const GAP: u64 = 6000;

/// Starts all sources. They run until the process ends.
pub(crate) fn start(handle: &Handle, judge: &Arc<Judge>, seed: u64) {
    send(handle, judge, Rand::stream(seed, 1));
    spawn(handle, judge, Rand::stream(seed, 2));
    socket(handle, judge, Rand::stream(seed, 3));
    timer(handle, judge, Rand::stream(seed, 4));
}

/// Calls `event` again and again on a thread of its own.
fn every(mut rand: Rand, mut event: impl FnMut() + Send + 'static) {
    thread::spawn(move || {
        loop {
            thread::sleep(rand.micros(GAP));
            event();
        }
    });
}

/// A thread sends. The receiver then wakes another goroutine.
fn send(handle: &Handle, judge: &Arc<Judge>, rand: Rand) {
    let (tx, rx): (Sender<Option<Event>>, Receiver<_>) = gmp::chan(1);
    let (wake, woken): (Sender<Option<Event>>, Receiver<_>) = gmp::chan(1);
    let judging = judge.clone();
    handle.spawn(counted(async move {
        while let Ok(event) = rx.recv().await {
            judging.ran(Source::Send, event);
            let _ = wake.try_send(judging.event());
        }
    }));
    let judging = judge.clone();
    handle.spawn(counted(async move {
        while let Ok(event) = woken.recv().await {
            judging.ran(Source::Wake, event);
        }
    }));
    let judge = judge.clone();
    every(rand, move || {
        let _ = tx.try_send(judge.event());
    });
}

/// A thread spawns.
fn spawn(handle: &Handle, judge: &Arc<Judge>, rand: Rand) {
    let (handle, judge) = (handle.clone(), judge.clone());
    every(rand, move || {
        let (judging, event) = (judge.clone(), judge.event());
        handle.spawn(counted(async move { judging.ran(Source::Spawn, event) })).detach();
    });
}

/// A thread writes a byte to a socket.
fn socket(handle: &Handle, judge: &Arc<Judge>, rand: Rand) {
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let (tx, events) = mpsc::channel();
    let judging = judge.clone();
    handle.spawn(counted(async move {
        let stream = UnixStream::from_std(theirs).expect("the socket is registered");
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            judging.ran(Source::Socket, events.try_recv().expect("an event per byte"));
        }
    }));
    let judge = judge.clone();
    every(rand, move || {
        // The reader ends with the runtime.
        if tx.send(judge.event()).is_ok() {
            let _ = ours.write_all(&[0]);
        }
    });
}

/// A goroutine sleeps. A thread marks the event at the deadline, if it is in time.
fn timer(handle: &Handle, judge: &Arc<Judge>, mut rand: Rand) {
    let (tx, deadlines) = mpsc::channel::<Instant>();
    let marked: Arc<Mutex<Option<(Instant, Event)>>> = Arc::default();
    let (judging, taken) = (judge.clone(), marked.clone());
    handle.spawn(counted(async move {
        loop {
            let deadline = Instant::now() + Duration::from_micros(200) + rand.micros(GAP);
            // The thread ends with the process.
            let _ = tx.send(deadline);
            gmp::sleep_until(deadline).await;
            // The mark of an earlier deadline came late.
            let mark = taken.lock().take().filter(|(marked, _)| *marked == deadline);
            judging.ran(Source::Timer, mark.map(|(_, event)| event));
        }
    }));
    let judge = judge.clone();
    thread::spawn(move || {
        for deadline in deadlines {
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
            *marked.lock() = judge.event().map(|event| (deadline, event));
        }
    });
}
