//! Counts of the calls of the API, by their results.

use crate::calls::CALLS;
use crate::table::{TABLE, is_drawn};
use crate::violation::violation;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Ok,
    /// Not possible now: empty, full, locked or not ready.
    Not,
    /// A limit or a deadline has passed.
    Timeout,
    /// The other side or the object is closed.
    Closed,
    /// Aborted, stopped or cancelled.
    Cancelled,
    Panicked,
    /// Another error.
    Error,
}

const ENDS: [(End, &str); 7] = [
    (End::Ok, "ok"),
    (End::Not, "not now"),
    (End::Timeout, "timeout"),
    (End::Closed, "closed"),
    (End::Cancelled, "cancelled"),
    (End::Panicked, "panicked"),
    (End::Error, "error"),
];

/// Counts for each of [`CALLS`].
static COUNTS: [[AtomicU64; ENDS.len()]; CALLS.len()] =
    [const { [const { AtomicU64::new(0) }; ENDS.len()] }; CALLS.len()];

/// Operations that were drawn and have ended or were cancelled, by their places in the table.
static OPERATIONS: [AtomicU64; TABLE.len()] = [const { AtomicU64::new(0) }; TABLE.len()];

/// Counts an operation.
pub(crate) fn drew(index: usize) {
    OPERATIONS[index].fetch_add(1, Relaxed);
}

/// Returns the counts of the drawn operations, and the operations of the run that were never drawn.
pub(crate) fn operations() -> (String, Vec<&'static str>) {
    let (mut text, mut missing) = (String::new(), Vec::new());
    for (index, (operation, count)) in TABLE.iter().zip(&OPERATIONS).enumerate() {
        let count = count.load(Relaxed);
        let drawn = is_drawn(index);
        let note = if drawn { "" } else { "  left out" };
        let _ = writeln!(text, "  {:<40} {count:>10}{note}", operation.name);
        if drawn && count == 0 {
            missing.push(operation.name);
        }
    }
    (text, missing)
}

/// Counts a call.
pub(crate) fn did(call: &'static str, end: End) {
    match CALLS.binary_search(&call) {
        Ok(index) => {
            COUNTS[index][end as usize].fetch_add(1, Relaxed);
        }
        Err(_) => violation(format!("the call {call} is not in the list: a bug of the soak")),
    }
}

/// Counts a call on a socket by the kind of its error.
pub(crate) fn did_io<T>(call: &'static str, result: &std::io::Result<T>) {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
    let end = match result {
        Ok(_) => End::Ok,
        Err(error) => match error.kind() {
            TimedOut => End::Timeout,
            WouldBlock => End::Not,
            BrokenPipe | ConnectionReset | UnexpectedEof => End::Closed,
            _ => End::Error,
        },
    };
    did(call, end);
}

/// Counts a call that returned something or nothing.
pub(crate) fn did_option<T>(call: &'static str, option: Option<T>) -> Option<T> {
    did(call, if option.is_some() { End::Ok } else { End::Not });
    option
}

/// Returns the counts, a line per call, and the calls that were never made.
pub(crate) fn table() -> (String, Vec<&'static str>) {
    let (mut text, mut missing) = (String::new(), Vec::new());
    for (name, counts) in CALLS.iter().zip(&COUNTS) {
        let counts = counts.each_ref().map(|count| count.load(Relaxed));
        let sum: u64 = counts.iter().sum();
        if sum == 0 {
            missing.push(*name);
            continue;
        }
        let _ = write!(text, "  {name:<40} {sum:>10}");
        for ((_, end), count) in ENDS.iter().zip(counts).filter(|(_, count)| *count > 0) {
            let _ = write!(text, "  {end} {count}");
        }
        text.push('\n');
    }
    (text, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_sorted_and_named_once() {
        assert!(CALLS.windows(2).all(|pair| pair[0] < pair[1]), "{CALLS:?}");
    }

    #[test]
    fn ends_are_in_the_order_of_their_names() {
        for (index, (end, _)) in ENDS.iter().enumerate() {
            assert_eq!(*end as usize, index);
        }
    }
}
