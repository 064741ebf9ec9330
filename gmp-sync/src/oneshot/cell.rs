//! The shared cell of a oneshot channel: one value and one waker for each end.
//!
//! One atomic word says which end has done what. The ends are [`Tx`] and [`Rx`]. Neither is
//! `Clone`, so each role belongs to one thread at a time. There is no lock. A send is one
//! read-modify-write of the word, and so is a receive that waits. A receive of a value that is
//! there is a load.
//!
//! # Invariants
//!
//! - I1: the value belongs to the sender until [`SENT`] is set, and to the receiver after that.
//! - I2: the waker slot of an end belongs to that end while its `WAITS` bit is not set. The other
//!   end takes the waker exactly if it sees the bit in the step in which it ends
//!   ([`EndBits::ended`]). So an end that clears its bit, and sees in the same step that the other
//!   end has not ended, owns its slot again.
//! - I3: [`RECEIVER_GONE`] and [`SENT`] are decided in one order: `SENT` is not set after
//!   `RECEIVER_GONE`. So a send that succeeds is seen by a receive after `close`.
//!
//! # Orderings
//!
//! Every change of the word is `AcqRel`. The Release publishes the value or the waker that was
//! written before it. The Acquire pairs with it before the other end reads the value or the waker.
//! A plain load that leads to a read of the value is an `Acquire`.

use gmp_rt::prim::{AtomicU8, Ordering, UnsafeCell};
use gmp_rt::task::park::{StorableWaker, StoredWaker};
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

/// The value was sent.
const SENT: u8 = 1;
/// The sender was dropped and has sent nothing.
const SENDER_GONE: u8 = 1 << 1;
/// The receiver was closed or dropped. Nothing can be sent any more.
const RECEIVER_GONE: u8 = 1 << 2;
/// The receiver has put its waker into its slot.
const RECEIVER_WAITS: u8 = 1 << 3;
/// The sender has put its waker into its slot.
const SENDER_WAITS: u8 = 1 << 4;

/// The bits of one end that waits.
struct EndBits {
    /// Its waker is in its slot.
    waits: u8,
    /// The other end has sent, was closed or was dropped. It does not use the waker any more.
    ended: u8,
}

const RECEIVER: EndBits = EndBits { waits: RECEIVER_WAITS, ended: SENT | SENDER_GONE };
const SENDER: EndBits = EndBits { waits: SENDER_WAITS, ended: RECEIVER_GONE };

/// The place for the waker of one end.
#[derive(Default)]
struct WakerSlot(UnsafeCell<Option<StoredWaker>>);

impl WakerSlot {
    /// Takes the waker.
    ///
    /// # Safety
    ///
    /// The caller owns the slot (I2).
    unsafe fn take(&self) -> Option<StoredWaker> {
        // SAFETY: guaranteed by the caller.
        self.0.with_mut(|waker| unsafe { (*waker).take() })
    }

    /// Puts a waker in, unless one that wakes the same task is there. Returns the old one.
    ///
    /// # Safety
    ///
    /// The caller owns the slot (I2).
    unsafe fn put(&self, waker: &mut StorableWaker<'_>) -> Option<StoredWaker> {
        // SAFETY: guaranteed by the caller.
        self.0.with_mut(|slot| match unsafe { &*slot } {
            Some(old) if old.will_wake(waker.waker()) => None,
            // SAFETY: as above.
            _ => unsafe { (*slot).replace(waker.store()) },
        })
    }
}

/// What both ends share.
struct Cell<T> {
    word: AtomicU8,
    value: UnsafeCell<Option<T>>,
    receiver: WakerSlot,
    sender: WakerSlot,
}

// SAFETY: I1, I2 — one end at a time accesses each field. The value moves between threads.
unsafe impl<T: Send> Send for Cell<T> {}
// SAFETY: as above. No shared access to the value exists.
unsafe impl<T: Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    /// Returns the word, and sees what the other end did before it last changed the word.
    #[inline]
    fn load(&self) -> u8 {
        self.word.load(Ordering::Acquire)
    }

    /// Stores the waker of `end`. Is ready if the other end has ended; the waker is then not
    /// stored, or dropped with the cell.
    ///
    /// # Safety
    ///
    /// The caller is that end, and `slot` is its slot.
    unsafe fn register(
        &self,
        end: &EndBits,
        slot: &WakerSlot,
        waker: &mut StorableWaker<'_>,
    ) -> Poll<()> {
        if self.load() & end.waits != 0 {
            let before = self.word.fetch_and(!end.waits, Ordering::AcqRel);
            if before & end.ended != 0 {
                return Poll::Ready(());
            }
        }
        // SAFETY: I2 — the bit is not set, and the other end had not ended when it was cleared.
        drop(unsafe { slot.put(waker) });
        let before = self.word.fetch_or(end.waits, Ordering::AcqRel);
        if before & end.ended != 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Takes the waker of `end` out of its slot, if the other end has not taken it.
    ///
    /// # Safety
    ///
    /// As [`register`](Self::register).
    unsafe fn withdraw(&self, end: &EndBits, slot: &WakerSlot) -> Option<StoredWaker> {
        // Relaxed: only this end sets the bit.
        if self.word.load(Ordering::Relaxed) & end.waits == 0 {
            return None;
        }
        let before = self.word.fetch_and(!end.waits, Ordering::AcqRel);
        // SAFETY: I2 — the other end had not ended when the bit was cleared.
        (before & end.ended == 0).then(|| unsafe { slot.take() }).flatten()
    }

    /// Wakes the other end, whose word was `before` in the step in which this end ended.
    ///
    /// # Safety
    ///
    /// `slot` is that end's slot, and this end ended in that step and not earlier.
    #[inline]
    unsafe fn wake(&self, before: u8, end: &EndBits, slot: &WakerSlot) {
        if before & end.waits != 0 {
            // SAFETY: I2 — the bit was set in that step.
            let waker = unsafe { slot.take() };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

/// Creates a cell and returns its two ends.
pub(super) fn pair<T>() -> (Tx<T>, Rx<T>) {
    let cell = Arc::new(Cell {
        word: AtomicU8::new(0),
        value: UnsafeCell::new(None),
        receiver: WakerSlot::default(),
        sender: WakerSlot::default(),
    });
    (Tx(cell.clone()), Rx(cell))
}

/// The sender's end.
pub(super) struct Tx<T>(Arc<Cell<T>>);

impl<T> Tx<T> {
    /// Sends the value, or returns it if the receiver is gone.
    #[inline]
    pub(super) fn send(self, value: T) -> Result<(), T> {
        let cell = &*self.0;
        // SAFETY: I1 — `SENT` is not set, because `send` consumes the only sender.
        cell.value.with_mut(|slot| unsafe { *slot = Some(value) });
        let unless_gone = |word| (word & RECEIVER_GONE == 0).then_some(word | SENT);
        match cell.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, unless_gone) {
            Ok(before) => {
                // SAFETY: the receiver's slot, and the sender ended with `SENT`.
                unsafe { cell.wake(before, &RECEIVER, &cell.receiver) };
                Ok(())
            }
            Err(_) => {
                // SAFETY: I1 — `SENT` was not set.
                let refused = cell.value.with_mut(|slot| unsafe { (*slot).take() });
                Err(refused.expect("put in above"))
            }
        }
    }

    /// Whether the receiver is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.0.load() & RECEIVER_GONE != 0
    }

    /// Is ready when the receiver is gone.
    pub(super) fn poll_closed(&mut self, waker: &mut StorableWaker<'_>) -> Poll<()> {
        if self.is_closed() {
            return Poll::Ready(());
        }
        // SAFETY: this is the sender, by `&mut` on one thread.
        unsafe { self.0.register(&SENDER, &self.0.sender, waker) }
    }

    /// Forgets the waker of the last poll.
    pub(super) fn withdraw(&mut self) {
        // SAFETY: this is the sender, by `&mut` on one thread.
        drop(unsafe { self.0.withdraw(&SENDER, &self.0.sender) });
    }

    /// Returns the address of the cell.
    pub(super) fn addr(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<T> Drop for Tx<T> {
    fn drop(&mut self) {
        self.withdraw();
        // Relaxed: this end sets `SENT`. If the receiver is gone, it no longer asks.
        if self.0.word.load(Ordering::Relaxed) & (SENT | RECEIVER_GONE) != 0 {
            return;
        }
        let before = self.0.word.fetch_or(SENDER_GONE, Ordering::AcqRel);
        // SAFETY: the receiver's slot, and the sender ended with `SENDER_GONE`.
        unsafe { self.0.wake(before, &RECEIVER, &self.0.receiver) };
    }
}

impl<T> fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").field("is_closed", &self.is_closed()).finish()
    }
}

/// The receiver's end.
pub(super) struct Rx<T>(Arc<Cell<T>>);

/// What the receiver finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    Value(T),
    /// Nothing, and nothing will come.
    Ended,
    /// Nothing yet.
    Empty,
}

impl<T> Rx<T> {
    /// Takes the value, if it was sent.
    #[inline]
    pub(super) fn take(&mut self) -> Found<T> {
        let word = self.0.load();
        if word & SENT != 0 {
            // SAFETY: I1 — `SENT` is set, and this is the receiver, by `&mut` on one thread.
            let value = self.0.value.with_mut(|slot| unsafe { (*slot).take() });
            return value.map_or(Found::Ended, Found::Value);
        }
        if word & (SENDER_GONE | RECEIVER_GONE) != 0 { Found::Ended } else { Found::Empty }
    }

    /// Stores the waker. Is ready if the sender has ended meanwhile.
    pub(super) fn register(&mut self, waker: &mut StorableWaker<'_>) -> Poll<()> {
        // SAFETY: this is the receiver, by `&mut` on one thread.
        unsafe { self.0.register(&RECEIVER, &self.0.receiver, waker) }
    }

    /// Takes the waker of the last poll back.
    pub(super) fn withdraw(&mut self) -> Option<StoredWaker> {
        // SAFETY: this is the receiver, by `&mut` on one thread.
        unsafe { self.0.withdraw(&RECEIVER, &self.0.receiver) }
    }

    /// Refuses a later send and wakes the sender.
    pub(super) fn close(&mut self) {
        let before = self.0.word.fetch_or(RECEIVER_GONE, Ordering::AcqRel);
        if before & RECEIVER_GONE == 0 {
            // SAFETY: the sender's slot, and the receiver ended in this step.
            unsafe { self.0.wake(before, &SENDER, &self.0.sender) };
        }
    }

    /// Returns the address of the cell.
    pub(super) fn addr(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        drop(self.withdraw());
        self.close();
        // A value that was not received is dropped here, and not by the sender.
        drop(self.take());
    }
}

impl<T> fmt::Debug for Rx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.0.load();
        let state = if word & SENT != 0 {
            "sent"
        } else if word & (SENDER_GONE | RECEIVER_GONE) != 0 {
            "closed"
        } else {
            "open"
        };
        f.debug_struct("Rx").field("state", &format_args!("{state}")).finish()
    }
}

#[cfg(all(test, gmp_loom))]
#[path = "loom.rs"]
mod loom;
