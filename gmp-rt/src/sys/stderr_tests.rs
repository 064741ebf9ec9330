//! Writes to pipes and sockets that are full, closed, or read late.

use super::*;
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicUsize;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::thread::JoinHandleExt;

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
    assert!(text.ends_with("x\ngmp: 1 messages were dropped or cut: stderr was not read\nnext\n"));
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

#[test]
fn a_raw_write_gives_up_in_a_full_pipe() {
    let (reader, writer) = std::io::pipe().unwrap();
    fill(writer.as_fd(), &none_lost());
    write_raw_to(writer.as_fd(), "not written", Duration::from_millis(1));
    assert!(!rest(reader, writer).contains("not written"));
}

/// The text takes longer than the patience, which is for each piece.
#[test]
fn a_raw_write_waits_for_a_reader_that_is_slow() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let text = "x".repeat(LONG);
    let reads = std::thread::spawn(move || {
        let (mut piece, mut total) = ([0; LONG / 50], 0);
        loop {
            match reader.read(&mut piece).unwrap() {
                0 => return total,
                n => total += n,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    write_raw_to(writer.as_fd(), &text, Duration::from_secs(600));
    drop(writer);
    assert_eq!(reads.join().unwrap(), LONG);
}
