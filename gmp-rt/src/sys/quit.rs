//! SIGQUIT, told to a thread of its own (Unix).
//!
//! The handler writes a byte to a socket, and a thread that waits for nothing else reads it: what is
//! done then happens outside of signal context, and needs no P, no goroutine and no sysmon. Until the
//! signal comes the thread sleeps in one read.
//!
//! The signal is the program's if it wants it. A handler that is there already is left alone. One that
//! comes later has the signal too, also if it calls ours first, as handlers that chain do: the thread
//! acts only if the handler is still ours when it looks.
//!
//! # Invariants
//!
//! - I1: `sigaction` touches nothing but the structs it is given.
//! - I2: [`on_quit`] does what is allowed in a handler: it reads a cell that was filled before it was
//!   installed, and calls `getpid`, `write`, `signal` and `raise`. None of them changes `errno` unless it
//!   fails, and `write` fails only if 64 KiB of signals are unread.

use crate::prim::fixed::OnceLock;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{mem, process, ptr, thread};

/// Where the handler tells.
#[derive(Debug)]
struct Watch {
    thread: UnixStream,
    /// The process that has the thread: a fork has the handler only.
    process: u32,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// A signal that comes this long after the first means: whatever you are doing, end.
const INSIST: Duration = Duration::from_secs(1);

/// Runs `act` on a thread of its own when SIGQUIT comes, if nobody else handles it; then, or when the
/// signal is repeated later, the process ends with status 2.
pub(crate) fn watch(act: fn()) -> io::Result<()> {
    if disposition()? == Disposition::Theirs || WATCH.get().is_some() {
        return Ok(());
    }
    let (told, thread) = UnixStream::pair()?;
    thread.set_nonblocking(true)?;
    let watcher = thread::Builder::new().name("gmp-sigquit".to_owned());
    if WATCH.set(Watch { thread, process: process::id() }).is_ok() {
        watcher.spawn(move || wait(&told, act))?;
        install()?;
    }
    Ok(())
}

/// The thread.
fn wait(told: &UnixStream, act: fn()) {
    let mut since: Option<Instant> = None;
    while next(told) {
        match (since, disposition()) {
            (_, Ok(Disposition::Theirs | Disposition::Nobodys) | Err(_)) => {}
            (Some(since), _) if since.elapsed() >= INSIST => exit(),
            // The one that is under way comes to its end.
            (Some(_), _) => {}
            (None, _) => {
                since = Some(Instant::now());
                let acts = move || {
                    let _ends = Exit;
                    act();
                };
                // Beside this thread, so that a repeated signal is heard.
                if thread::Builder::new().spawn(acts).is_err() {
                    acts();
                }
            }
        }
    }
}

/// Waits for a signal.
fn next(mut told: &UnixStream) -> bool {
    loop {
        match told.read(&mut [0]) {
            Ok(n) => return n > 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Ends the process as it is dropped, also by a panic.
struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        exit();
    }
}

/// Ends the process at once: what runs at an orderly exit may need what is stuck.
fn exit() -> ! {
    // SAFETY: takes no memory.
    unsafe { libc::_exit(2) }
}

/// Who handles the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    Ours,
    /// Another handler does.
    Theirs,
    /// The OS: by the end of the process, or not at all, as for what a shell starts in the
    /// background. Go takes over both.
    Nobodys,
}

fn disposition() -> io::Result<Disposition> {
    // SAFETY: I1 — a struct of integers, for which zero is a value; written by the call.
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
    // SAFETY: I1 and I2 — the handler may run at any time from now on. Its mask is empty, as in zero.
    let failed = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_quit as *const () as usize;
        // Calls go on that it interrupts; and a stack of the thread's own is used if there is one.
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGQUIT, &raw const action, ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The handler. I2.
extern "C" fn on_quit(signal: libc::c_int) {
    let Some(watch) = WATCH.get() else { return };
    if watch.process == process::id() {
        // Full only if thousands were not read: then one more says nothing new.
        let _ = (&watch.thread).write(&[0]);
    } else {
        // SAFETY: both are for handlers. Pending until the handler returns, then as if there was none.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Writes to stderr past the lock of std, which may be held by who is stuck.
pub(crate) fn write_stderr(text: &str) {
    let (mut left, mut refused) = (text.as_bytes(), 0);
    while !left.is_empty() && refused < 1000 {
        match rustix::io::write(rustix::stdio::stderr(), left) {
            Ok(n) => left = left.get(n..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                // Non-blocking and full: its reader gets a second.
                refused += 1;
                thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return,
        }
    }
}
