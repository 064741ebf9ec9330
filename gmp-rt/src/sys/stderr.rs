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
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::thread::JoinHandleExt;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// More bytes than a pipe holds.
    const LONG: usize = 1 << 20;

    fn none_lost() -> Mutex<Lost> {
        Mutex::new(Lost { messages: 0, is_cut: false })
    }

    /// Fills `fd` as far as messages fit.
    fn fill(fd: BorrowedFd<'_>, lost: &Mutex<Lost>) {
        let line = "x".repeat(PIECE - 1);
        while lost.lock().messages == 0 {
            write_line_to(fd, lost, &line, Duration::ZERO);
        }
    }

    /// Returns what is in the pipe or socket, whose writer is dropped before.
    fn rest(mut reader: impl Read, writer: impl Sized) -> String {
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_full_pipe_drops_messages_and_reports_their_number() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (mut reader, lost) = (reader, none_lost());
        fill(writer.as_fd(), &lost);
        write_line_to(writer.as_fd(), &lost, "not written", Duration::ZERO);
        assert_eq!(lost.lock().messages, 2);
        // The bytes of a page make room for a message.
        reader.read_exact(&mut [0; 2 * PIECE]).unwrap();
        write_line_to(writer.as_fd(), &lost, "written", Duration::ZERO);
        assert_eq!(lost.lock().messages, 0);
        let text = rest(reader, writer);
        let end = "x\ngmp: 2 messages were dropped or cut: stderr was not read\nwritten\n";
        assert!(text.ends_with(end), "{}", &text[text.len() - 2 * end.len()..]);
    }

    #[test]
    fn a_full_socket_drops_messages() {
        let (reader, writer) = UnixStream::pair().unwrap();
        let lost = none_lost();
        fill(writer.as_fd(), &lost);
        assert!(rest(reader, writer).starts_with("xxx"));
    }

    #[test]
    fn a_message_that_is_cut_ends_before_the_next_one() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let lost = none_lost();
        write_line_to(writer.as_fd(), &lost, &"x".repeat(LONG), Duration::ZERO);
        assert!(lost.lock().is_cut);
        reader.read_exact(&mut [0; 2 * PIECE]).unwrap();
        write_line_to(writer.as_fd(), &lost, "next", Duration::ZERO);
        let text = rest(reader, writer);
        assert!(
            text.ends_with("x\ngmp: 1 messages were dropped or cut: stderr was not read\nnext\n")
        );
    }

    /// A long message waits for its reader, up to the limit.
    #[test]
    fn a_patient_write_is_complete() {
        let (reader, writer) = std::io::pipe().unwrap();
        let (lost, long) = (none_lost(), "x".repeat(LONG));
        let reads = std::thread::spawn(|| rest(reader, ()));
        write_line_to(writer.as_fd(), &lost, &long, Duration::from_secs(600));
        drop(writer);
        assert_eq!(reads.join().unwrap(), format!("{long}\n"));
    }

    /// A signal ends a wait for room before its time. The wait is resumed.
    #[test]
    fn a_patient_write_is_complete_although_signals_interrupt_it() {
        static SIGNALS: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn count(_: libc::c_int) {
            SIGNALS.fetch_add(1, Relaxed);
        }
        let signal = libc::SIGRTMIN() + 1;
        // SAFETY: the struct consists of integers, and a zeroed mask is empty. The handler only
        // writes an atomic.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as *const () as usize;
            assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
        }
        let (mut reader, writer) = std::io::pipe().unwrap();
        let writes = std::thread::spawn(move || {
            let lost = none_lost();
            write_line_to(writer.as_fd(), &lost, &"x".repeat(LONG), Duration::from_secs(600));
            lost.into_inner().messages
        });
        reader.read_exact(&mut [0]).unwrap();
        while SIGNALS.load(Relaxed) < 200 && !writes.is_finished() {
            // SAFETY: takes no memory. The thread has not been joined.
            unsafe { libc::pthread_kill(writes.as_pthread_t(), signal) };
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(rest(reader, ()).len(), LONG);
        assert_eq!(writes.join().unwrap(), 0);
    }

    #[test]
    fn a_closed_pipe_takes_messages_without_a_wait() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let lost = none_lost();
        write_line_to(writer.as_fd(), &lost, "unread", Duration::from_secs(600));
        assert_eq!(lost.lock().messages, 0);
    }

    /// The flag would be seen by other processes that have the file description.
    #[test]
    fn a_write_leaves_the_flags_of_the_file_as_they_are() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let before = rustix::fs::fcntl_getfl(&writer).unwrap();
        fill(writer.as_fd(), &none_lost());
        assert_eq!(rustix::fs::fcntl_getfl(&writer).unwrap(), before);
    }

    #[test]
    fn a_write_after_a_poll_drops_what_has_no_room() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let piece = [b'x'; PIECE];
        while Way::Poll.write(writer.as_fd(), &piece).is_ok() {}
        assert_eq!(Way::Poll.write(writer.as_fd(), &piece), Err(Errno::AGAIN));
    }
}
