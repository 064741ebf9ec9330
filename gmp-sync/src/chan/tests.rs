//! `recv_timeout` against senders that run just before its limit, on one thread. The memory of the
//! buffer.
//!
//! The waker runs a hook when a clone of it is dropped. No two clones are equal. So a receive that
//! is polled again replaces its clone, and the hook runs between two steps of the receive.

use super::{Receiver, RecvTimeoutError, Sender, TryRecvError, chan, unbounded};
use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

thread_local! {
    /// Runs when the next clone is dropped.
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn raw() -> RawWaker {
    RawWaker::new(Box::into_raw(Box::new(0_u64)).cast(), &VTABLE)
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |_| raw(),
    free,
    |_| (),
    |waker| {
        free(waker);
        if let Some(hook) = HOOK.take() {
            hook();
        }
    },
);

fn free(waker: *const ()) {
    // SAFETY: made by `raw`, and a waker is dropped or woken once.
    drop(unsafe { Box::from_raw(waker.cast_mut().cast::<u64>()) });
}

/// Polls `recv_timeout` with a limit of zero. Runs `hook` when it drops its waker.
fn recv_with_hook(
    rx: &Receiver<u32>,
    hook: impl FnOnce() + 'static,
) -> Result<u32, RecvTimeoutError> {
    HOOK.set(Some(Box::new(hook)));
    // SAFETY: the functions of the table keep the contract of `RawWaker`.
    let waker = unsafe { Waker::from_raw(raw()) };
    let polled = pin!(rx.recv_timeout(Duration::ZERO)).poll(&mut Context::from_waker(&waker));
    assert!(HOOK.take().is_none(), "no waker was dropped");
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("recv_timeout waits after its limit"),
    }
}

/// What the hook has observed.
#[derive(Default)]
struct Seen {
    sent: Vec<u32>,
    received: Vec<u32>,
    told_closed: bool,
}

/// Sends a value; receives one if there is one.
fn step(tx: &Sender<u32>, rx: &Receiver<u32>, value: u32, seen: &RefCell<Seen>) {
    let mut seen = seen.borrow_mut();
    if tx.try_send(value).is_ok() {
        seen.sent.push(value);
    }
    seen.received.extend(rx.try_recv());
}

#[test]
fn recv_timeout_keeps_the_order_of_another_receiver() {
    let (tx, rx) = chan::<u32>(1);
    let other = rx.clone();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let got = {
        let (seen, other) = (seen.clone(), other.clone());
        recv_with_hook(&rx, move || (0..4).for_each(|n| step(&tx, &other, n, &seen)))
    };
    let mut seen = seen.borrow_mut();
    seen.received.extend(other.try_iter());
    assert_eq!(got, Err(RecvTimeoutError::Timeout));
    assert_eq!(seen.received, seen.sent);
}

#[test]
fn recv_timeout_and_an_unbuffered_send_agree() {
    let (tx, rx) = chan::<u32>(0);
    let sent = Rc::new(RefCell::new(false));
    let hook = {
        let sent = sent.clone();
        move || *sent.borrow_mut() = tx.try_send(7).is_ok()
    };
    let got = recv_with_hook(&rx, hook);
    assert_eq!(got.is_ok(), *sent.borrow(), "{got:?}");
    assert_eq!(rx.len(), 0);
}

#[test]
fn recv_timeout_leaves_no_value_behind_a_close() {
    let (tx, rx) = chan::<u32>(1);
    let other = rx.clone();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let hook = {
        let seen = seen.clone();
        move || {
            step(&tx, &other, 7, &seen);
            drop(tx);
            seen.borrow_mut().told_closed = other.try_recv() == Err(TryRecvError::Closed);
        }
    };
    let got = recv_with_hook(&rx, hook);
    let seen = seen.borrow();
    assert!(seen.told_closed);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "a value after the end");
    assert_eq!(seen.received.len() + usize::from(got.is_ok()), seen.sent.len());
}

/// Returns the bytes of the buffer's memory.
fn buffer_bytes<T>(tx: &Sender<T>) -> usize {
    tx.chan.with(|core| core.buf.capacity() * size_of::<T>())
}

#[test]
fn a_drained_channel_returns_the_memory_of_a_burst() {
    let (tx, rx) = unbounded::<[u64; 8]>();
    let send = |n: u64| tx.try_send([n; 8]).unwrap();
    (0..100_000).for_each(send);
    assert!(buffer_bytes(&tx) >= 6_400_000);
    // While values leave, the buffer is at most four times as large as they are.
    for n in 0..99_000 {
        assert_eq!(rx.try_recv(), Ok([n; 8]));
        assert!(buffer_bytes(&tx) <= 4 * 64 * (rx.len() + 1), "{} values left", rx.len());
    }
    for n in 99_000..100_000 {
        assert_eq!(rx.try_recv(), Ok([n; 8]));
    }
    assert!(buffer_bytes(&tx) <= 64 << 10, "{} bytes", buffer_bytes(&tx));
    send(7);
    assert_eq!(rx.try_recv(), Ok([7; 8]));
}

#[test]
fn a_small_buffer_keeps_its_memory() {
    let (tx, rx) = chan::<u64>(1000);
    (0..1000).for_each(|n| tx.try_send(n).unwrap());
    let bytes = buffer_bytes(&tx);
    assert_eq!(rx.try_iter().count(), 1000);
    assert_eq!(buffer_bytes(&tx), bytes);
}

#[test]
fn values_without_size_pass_through_an_unbounded_channel() {
    let (tx, rx) = unbounded::<()>();
    (0..100_000).for_each(|_| tx.try_send(()).unwrap());
    assert_eq!(rx.try_iter().count(), 100_000);
}
