//! Serves SIGQUIT on a dedicated thread (Unix).
//!
//! The handler writes the time to a socket, and the dedicated thread reads it. So the action runs
//! outside of signal context, and needs no P, no goroutine and no sysmon. Until the signal arrives
//! the thread sleeps in one read. The time is that of the signal, because the thread may run much
//! later on a busy machine.
//!
//! A handler of the program takes precedence. If the program has a handler already, gmp installs
//! none. If the program installs one later, the thread ignores the signal, also if that handler
//! calls the one of gmp first, as chained handlers do. The thread acts only if the handler of gmp
//! is still installed when it checks.
//!
//! # Invariants
//!
//! - I1: `sigaction` accesses nothing but the structs that it gets.
//! - I2: [`on_quit`] does only what a handler may do. It reads a cell that was filled before it was
//!   installed, and calls `getpid`, `clock_gettime`, `write`, `signal` and `raise`. None of them
//!   changes `errno` unless it fails. `write` fails only if the socket is full of unread times.

use super::own_threads::OwnThread;
use crate::prim::fixed::OnceLock;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::{mem, process, ptr, thread};

/// What the handler needs to wake the thread.
#[derive(Debug)]
struct SigquitWatch {
    thread: UnixStream,
    /// The process that has the thread. The child of a fork has only the handler.
    process: u32,
}

static WATCH: OnceLock<SigquitWatch> = OnceLock::new();

/// Time after the first signal from which another one ends the process at once. Chosen.
const INSIST: Duration = Duration::from_secs(1);

/// Runs `act` on a new thread at the first SIGQUIT, then ends the process with status 2.
///
/// A signal that arrives [`INSIST`] after the first ends the process without waiting for `act`.
/// Does nothing if the program has a handler.
pub(crate) fn watch(act: fn()) -> io::Result<()> {
    if disposition()? == Disposition::Theirs || WATCH.get().is_some() {
        return Ok(());
    }
    let (times_read, thread) = UnixStream::pair()?;
    thread.set_nonblocking(true)?;
    let watcher = thread::Builder::new().name("gmp-sigquit".to_owned());
    if WATCH.set(SigquitWatch { thread, process: process::id() }).is_ok() {
        watcher.spawn(move || wait(&times_read, act))?;
        install()?;
    }
    Ok(())
}

/// Acts on each SIGQUIT, on a thread of its own.
fn wait(times_read: &UnixStream, act: fn()) {
    let _own = OwnThread::enter();
    let mut first = None;
    while let Some(sent) = next(times_read) {
        if !matches!(disposition(), Ok(Disposition::Ours)) {
            continue;
        }
        match answer(&mut first, sent) {
            Answer::Exit => exit(),
            Answer::Wait => {}
            Answer::Act => {
                let acts = move || {
                    let _ends = Exit;
                    act();
                };
                // On another thread, so that this one reads a repeated signal.
                if thread::Builder::new().spawn(acts).is_err() {
                    acts();
                }
            }
        }
    }
}

/// What a signal causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The action, then the end of the process.
    Act,
    /// Nothing: the action is running.
    Wait,
    /// The end of the process at once.
    Exit,
}

/// Decides about a signal of the time `sent`, after one of the time `first`, if there was one.
fn answer(first: &mut Option<Duration>, sent: Duration) -> Answer {
    match *first {
        None => {
            *first = Some(sent);
            Answer::Act
        }
        Some(first) if sent.saturating_sub(first) >= INSIST => Answer::Exit,
        Some(_) => Answer::Wait,
    }
}

/// Waits for a signal and returns its time. Returns `None` if the socket fails.
fn next(mut times_read: &UnixStream) -> Option<Duration> {
    let mut nanos = [0; 8];
    // The handler writes all bytes of a time or none.
    times_read.read_exact(&mut nanos).ok()?;
    Some(Duration::from_nanos(u64::from_ne_bytes(nanos)))
}

/// Returns the time of a clock that does not jump. A signal handler may call it.
fn now() -> Duration {
    // SAFETY: a struct of integers, for which zero is a value. A failure leaves it zero.
    let now = unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Ends the process when it is dropped, also by a panic.
struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        exit();
    }
}

/// Ends the process at once. The code of an orderly exit may wait for a stuck thread.
fn exit() -> ! {
    // SAFETY: takes no memory.
    unsafe { libc::_exit(2) }
}

/// What handles the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    /// The handler of gmp.
    Ours,
    /// A handler of the program.
    Theirs,
    /// No handler. The OS ends the process, or ignores the signal, as in a process that a shell
    /// starts in the background. Go installs its handler in both cases.
    Nobodys,
}

fn disposition() -> io::Result<Disposition> {
    // SAFETY: I1 — a struct of integers, for which zero is a value. The call writes it.
    let (failed, action) = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (libc::sigaction(libc::SIGQUIT, ptr::null(), &raw mut action), action)
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match action.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => Disposition::Nobodys,
        handler if handler == on_quit as *const () as usize => Disposition::Ours,
        _ => Disposition::Theirs,
    })
}

fn install() -> io::Result<()> {
    // SAFETY: I1 and I2 — the handler may run at any time from now on. A zeroed mask is empty.
    let failed = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_quit as *const () as usize;
        // The OS restarts interrupted calls, and uses the alternate signal stack if there is one.
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGQUIT, &raw const action, ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Handles SIGQUIT: informs the thread. I2.
extern "C" fn on_quit(signal: libc::c_int) {
    let Some(watch) = WATCH.get() else { return };
    if watch.process == process::id() {
        // Fails only if the socket is full of unread times. Then the next signal counts.
        let _ = (&watch.thread).write(&(now().as_nanos() as u64).to_ne_bytes());
    } else {
        // SAFETY: a handler may call both. The signal stays pending until the handler returns. Then
        // the default action applies.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, INSIST, answer, next, now};
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[test]
    fn the_time_of_the_signal_decides_and_not_that_of_its_reader() {
        let start = now();
        let mut first = None;
        assert_eq!(answer(&mut first, start), Answer::Act);
        // The reader gets both late, at the same time.
        assert_eq!(answer(&mut first, start + INSIST / 2), Answer::Wait);
        assert_eq!(answer(&mut first, start + INSIST), Answer::Exit);
    }

    #[test]
    fn times_pass_through_the_socket_until_it_closes() {
        let (times_read, mut thread) = UnixStream::pair().unwrap();
        let times = [Duration::from_nanos(1), now()];
        for time in times {
            thread.write_all(&(time.as_nanos() as u64).to_ne_bytes()).unwrap();
        }
        drop(thread);
        assert_eq!(
            [next(&times_read), next(&times_read), next(&times_read)],
            [Some(times[0]), Some(times[1]), None]
        );
    }
}
