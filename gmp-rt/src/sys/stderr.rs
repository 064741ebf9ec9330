//! Writes of messages to stderr that do not wait for its reader.
//!
//! A pipe, a socket or a terminal whose reader does not read becomes full, and then a plain write
//! waits for ever. Here such a message is dropped. The next message that has room reports the
//! number of the dropped ones.
//!
//! std's stderr is not used, because each write takes a lock. A thread of the program that writes
//! to the full stderr holds that lock.
//!
//! # How a write does not wait
//!
//! `O_NONBLOCK` belongs to the file description, which other processes share. So it is not set.
//! Each piece is at most `PIPE_BUF` long, and is written after `poll` has reported room for it.
//! On Linux a pipe or a socket is written with `RWF_NOWAIT`, which needs no room in advance.
//!
//! # What is not covered
//!
//! - Where `RWF_NOWAIT` is missing (pipes before Linux 6.4, other systems), another writer may
//!   take the room between `poll` and the write. The write then waits for the reader.
//! - A terminal or a file on a file system that hangs. `poll` reports room for a file at any time.
//! - SIGPIPE, if the program has restored its default action. std's stderr would raise it too.

#[cfg(target_os = "linux")]
#[path = "stderr_now_linux.rs"]
mod now;
#[cfg(not(target_os = "linux"))]
#[path = "stderr_now_none.rs"]
mod now;

use super::poll_one::{Wanted, poll_one};
use crate::prim::fixed::Mutex;
use rustix::event::Timespec;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Maximum length of one write. A pipe takes a piece as a whole.
const PIECE: usize = rustix::pipe::PIPE_BUF;

/// Writes in a row that find no room although `poll` has reported some. Chosen: a file description
/// whose owner made it non-blocking could refuse for ever.
const TRIES: u32 = 100;

/// The messages that were dropped since the last one that was written.
#[derive(Debug)]
struct Lost {
    messages: u64,
    /// Whether a message was cut off, so that the cursor is not at the start of a line.
    is_cut: bool,
}

static LOST: Mutex<Lost> = Mutex::new(Lost { messages: 0, is_cut: false });

/// The result of writing a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote {
    All,
    /// There was no room for the rest, which begins at this byte.
    Until(usize),
    /// stderr is closed. No later message will be read.
    Closed,
}

/// Writes `message` and a line feed. Waits for room at most for `patience` in total.
///
/// Drops what has no room by then.
pub(crate) fn write_line(message: &str, patience: Duration) {
    write_line_to(rustix::stdio::stderr(), &LOST, message, patience);
}

fn write_line_to(fd: BorrowedFd<'_>, lost: &Mutex<Lost>, message: &str, patience: Duration) {
    let before = {
        let mut lost = lost.lock();
        std::mem::replace(&mut *lost, Lost { messages: 0, is_cut: false })
    };
    let head = before.head();
    let text = format!("{head}{message}\n");
    // No lock is held here.
    let Wrote::Until(end) = write(fd, text.as_bytes(), patience) else { return };
    let mut lost = lost.lock();
    // If the head was written, only this message is lost.
    let (messages, is_cut) = match end {
        0 => (before.messages, before.is_cut),
        n if n < head.len() => (before.messages, true),
        _ => (0, true),
    };
    lost.messages += messages + 1;
    lost.is_cut |= is_cut;
}

impl Lost {
    /// Returns the text that precedes the next message.
    fn head(&self) -> String {
        let feed = if self.is_cut { "\n" } else { "" };
        match self.messages {
            0 => String::new(),
            n => format!("{feed}gmp: {n} messages were dropped or cut: stderr was not read\n"),
        }
    }
}

/// Writes `text` as it is, and drops the rest if there is no room for `patience`.
///
/// Takes no lock and allocates nothing. So the child of a fork may call it, and a process of which
/// any thread is stuck.
pub(crate) fn write_raw(text: &str, patience: Duration) {
    write_raw_to(rustix::stdio::stderr(), text, patience);
}

fn write_raw_to(fd: BorrowedFd<'_>, text: &str, patience: Duration) {
    let mut pieces = text.as_bytes().chunks(PIECE);
    // The patience is for each piece: a slow reader gets the whole text.
    let _ = pieces.all(|piece| write(fd, piece, patience) == Wrote::All);
}

fn write(fd: BorrowedFd<'_>, text: &[u8], patience: Duration) -> Wrote {
    let deadline = Instant::now() + patience;
    let way = now::way(fd);
    let (mut at, mut refused) = (0, 0);
    while let Some(left) = text.get(at..).filter(|left| !left.is_empty()) {
        match way.write(fd, &left[..left.len().min(PIECE)]) {
            Ok(n) => (at, refused) = (at + n, 0),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                refused += 1;
                if refused > TRIES || !has_room(fd, deadline) {
                    return Wrote::Until(at);
                }
            }
            Err(_) => return Wrote::Closed,
        }
    }
    Wrote::All
}

/// Whether `fd` has room for a write, or is closed, before `deadline`.
fn has_room(fd: BorrowedFd<'_>, deadline: Instant) -> bool {
    loop {
        let wait = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec::try_from(wait).unwrap_or_default();
        match poll_one(fd, Wanted::Write, &wait) {
            // A signal has ended the wait before its time.
            Err(Errno::INTR) => {}
            ready => return ready == Ok(true),
        }
    }
}

/// The way to write without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a flag of the call, where the system has it.
    Flag,
    /// After `poll` has reported room.
    Poll,
}

impl Way {
    /// Writes a piece. Returns `AGAIN` if there is no room.
    fn write(self, fd: BorrowedFd<'_>, piece: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Flag => match now::write(fd, piece) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Self::Poll.write(fd, piece),
                wrote => wrote,
            },
            Self::Poll if has_room(fd, Instant::now()) => rustix::io::write(fd, piece),
            Self::Poll => Err(Errno::AGAIN),
        }
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "a handler of a signal, and a signal to a thread")]
#[path = "stderr_tests.rs"]
mod tests;
