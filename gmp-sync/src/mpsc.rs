//! A signpost for programs that were written for another runtime: it leads to
//! [`chan`](mod@crate::chan).
//!
//! Without it rustc recommends `std::sync::mpsc`, whose receiver blocks its thread.

use crate::chan::{Receiver, Sender};

/// Creates a channel with a buffer for `cap` values. The same as [`chan`](crate::chan::chan()).
///
/// # Panics
///
/// As [`chan`](crate::chan::chan()).
#[deprecated(note = "use gmp::chan(n) or gmp::chan::unbounded()")]
#[must_use]
#[track_caller]
pub fn channel<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    crate::chan::chan(cap)
}

/// Creates a channel with an unbounded buffer. The same as
/// [`chan::unbounded`](crate::chan::unbounded).
#[deprecated(note = "use gmp::chan(n) or gmp::chan::unbounded()")]
#[must_use]
pub fn unbounded_channel<T>() -> (Sender<T>, Receiver<T>) {
    crate::chan::unbounded()
}
