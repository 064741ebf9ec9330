//! The ledger of the values of one channel.
//!
//! Each value is made once, is received at most once, and is dropped once. A value whose send
//! succeeded is received; a value in an error of a send was not. All marks are relaxed atomics: the
//! ledger must not order the memory accesses that a sanitizer checks.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

const MADE: u8 = 1;
const SENT: u8 = 2;
const RECEIVED: u8 = 4;
const RETURNED: u8 = 8;
const DROPPED: u8 = 16;

/// Values that are alive, of all ledgers.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// Returns the number of values that are alive, of all ledgers.
pub(crate) fn alive() -> u64 {
    ALIVE.load(Relaxed)
}

/// The ledger: a number of senders, each with a number of values.
#[derive(Debug)]
pub(crate) struct Ledger {
    marks: Box<[AtomicU8]>,
    per_sender: usize,
    alive: AtomicU64,
    /// Written only after a fault.
    faults: Mutex<Vec<String>>,
    report: fn(String),
}

/// The origin of a value: its sender, and its position among the values of that sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) sender: usize,
    pub(crate) number: usize,
}

/// A value of a channel.
#[derive(Debug)]
pub(crate) struct Token {
    origin: Origin,
    /// Plain memory that the sender writes and the receiver reads.
    content: Box<usize>,
    ledger: Arc<Ledger>,
}

impl Ledger {
    /// Creates the ledger of `senders` times `per_sender` values. `report` gets each fault.
    pub(crate) fn new(senders: usize, per_sender: usize, report: fn(String)) -> Arc<Self> {
        Arc::new(Self {
            marks: (0..senders * per_sender).map(|_| AtomicU8::new(0)).collect(),
            per_sender,
            alive: AtomicU64::new(0),
            faults: Mutex::new(Vec::new()),
            report,
        })
    }

    /// Makes a value.
    pub(crate) fn make(self: &Arc<Self>, origin: Origin) -> Token {
        if self.mark(origin, MADE) & MADE != 0 {
            self.fault(origin, "made twice: a bug of the soak");
        }
        self.alive.fetch_add(1, Relaxed);
        ALIVE.fetch_add(1, Relaxed);
        Token { origin, content: Box::new(self.index(origin)), ledger: self.clone() }
    }

    /// Records that the send of a value has succeeded.
    pub(crate) fn sent(&self, origin: Origin) {
        if self.mark(origin, SENT) & SENT != 0 {
            self.fault(origin, "reported as sent twice");
        }
    }

    /// Records that an error of a send returned the value.
    pub(crate) fn returned(&self, token: &Token, sent_as: Origin) {
        if token.origin != sent_as {
            self.fault(token.origin, &format!("returned for {sent_as:?}"));
        }
        let before = self.mark(token.origin, RETURNED);
        if before & (SENT | RECEIVED) != 0 {
            self.fault(token.origin, "returned, but sent or received as well");
        }
    }

    /// Records that a value has been received.
    pub(crate) fn received(&self, token: &Token) {
        let before = self.mark(token.origin, RECEIVED);
        if before & RECEIVED != 0 {
            self.fault(token.origin, "received twice");
        }
        if before & DROPPED != 0 {
            self.fault(token.origin, "received after its drop");
        }
        if *token.content != self.index(token.origin) {
            self.fault(token.origin, "received with the content of another value");
        }
    }

    /// Checks the ledger of a channel that all goroutines have left and that has been emptied.
    pub(crate) fn judge(&self) -> Result<(), String> {
        for (index, mark) in self.marks.iter().enumerate() {
            let mark = mark.load(Relaxed);
            if mark & SENT != 0 && mark & RECEIVED == 0 {
                self.fault(self.origin(index), "sent and never received");
            }
        }
        let alive = self.alive.load(Relaxed);
        if alive != 0 {
            self.fault(Origin { sender: 0, number: 0 }, &format!("and {alive} values leaked"));
        }
        let faults = self.faults.lock();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    fn mark(&self, origin: Origin, bit: u8) -> u8 {
        self.marks[self.index(origin)].fetch_or(bit, Relaxed)
    }

    fn index(&self, origin: Origin) -> usize {
        origin.sender * self.per_sender + origin.number
    }

    fn origin(&self, index: usize) -> Origin {
        Origin { sender: index / self.per_sender, number: index % self.per_sender }
    }

    fn fault(&self, origin: Origin, what: &str) {
        let text = format!("value {}/{}: {what}", origin.sender, origin.number);
        self.faults.lock().push(text.clone());
        (self.report)(text);
    }
}

impl Token {
    /// Returns the origin of the value.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.ledger.mark(self.origin, DROPPED) & DROPPED != 0 {
            self.ledger.fault(self.origin, "dropped twice");
        }
        self.ledger.alive.fetch_sub(1, Relaxed);
        ALIVE.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Origin = Origin { sender: 0, number: 0 };
    const OTHER: Origin = Origin { sender: 1, number: 2 };

    fn ledger() -> Arc<Ledger> {
        Ledger::new(2, 3, drop::<String>)
    }

    #[test]
    fn a_value_that_arrives_once_is_right() {
        let ledger = ledger();
        let token = ledger.make(OTHER);
        ledger.sent(OTHER);
        ledger.received(&token);
        drop(token);
        assert_eq!(ledger.judge(), Ok(()));
    }

    #[test]
    fn a_value_that_comes_back_is_right() {
        let ledger = ledger();
        let token = ledger.make(FIRST);
        ledger.returned(&token, FIRST);
        drop(token);
        assert_eq!(ledger.judge(), Ok(()));
    }

    #[test]
    fn a_value_whose_sender_was_aborted_may_arrive_or_not() {
        let ledger = ledger();
        drop(ledger.make(FIRST));
        let token = ledger.make(OTHER);
        ledger.received(&token);
        drop(token);
        assert_eq!(ledger.judge(), Ok(()));
    }

    #[track_caller]
    fn assert_fault(ledger: &Ledger, text: &str) {
        let faults = ledger.judge().unwrap_err();
        assert!(faults.contains(text), "{faults}");
    }

    #[test]
    fn a_lost_value_is_found() {
        let ledger = ledger();
        drop(ledger.make(OTHER));
        ledger.sent(OTHER);
        assert_fault(&ledger, "value 1/2: sent and never received");
    }

    #[test]
    fn a_value_received_twice_is_found() {
        let ledger = ledger();
        let token = ledger.make(FIRST);
        ledger.received(&token);
        ledger.received(&token);
        drop(token);
        assert_fault(&ledger, "received twice");
    }

    #[test]
    fn a_value_sent_and_returned_is_found() {
        let ledger = ledger();
        let token = ledger.make(FIRST);
        ledger.received(&token);
        ledger.returned(&token, FIRST);
        drop(token);
        assert_fault(&ledger, "returned, but sent or received as well");
    }

    #[test]
    fn the_value_of_another_send_is_found() {
        let ledger = ledger();
        let (first, other) = (ledger.make(FIRST), ledger.make(OTHER));
        ledger.returned(&other, FIRST);
        drop((first, other));
        assert_fault(&ledger, "returned for");
    }

    #[test]
    fn a_leaked_value_is_found() {
        let ledger = ledger();
        std::mem::forget(ledger.make(FIRST));
        assert_fault(&ledger, "1 values leaked");
    }
}
