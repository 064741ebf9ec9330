//! Serves SIGQUIT on a dedicated thread (Unix).
//!
//! The handler writes a byte to a socket, and the dedicated thread reads it. So the action runs
//! outside of signal context, and needs no P, no goroutine and no sysmon. Until the signal arrives
//! the thread sleeps in one read.
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
//!   installed, and calls `getpid`, `write`, `signal` and `raise`. None of them changes `errno`
//!   unless it fails. `write` fails only if the socket is full of unread bytes.

use crate::prim::fixed::OnceLock;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{mem, process, ptr, thread};

/// What the handler needs to wake the thread.
#[derive(Debug)]
struct Watch {
    thread: UnixStream,
    /// The process that has the thread. The child of a fork has only the handler.
    process: u32,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

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
    let (told, thread) = UnixStream::pair()?;
    thread.set_nonblocking(true)?;
    let watcher = thread::Builder::new().name("gmp-sigquit".to_owned());
    if WATCH.set(Watch { thread, process: process::id() }).is_ok() {
        watcher.spawn(move || wait(&told, act))?;
        install()?;
    }
    Ok(())
}

/// The body of the dedicated thread.
fn wait(told: &UnixStream, act: fn()) {
    let mut since: Option<Instant> = None;
    while next(told) {
        match (since, disposition()) {
            (_, Ok(Disposition::Theirs | Disposition::Nobodys) | Err(_)) => {}
            (Some(since), _) if since.elapsed() >= INSIST => exit(),
            // The action is running.
            (Some(_), _) => {}
            (None, _) => {
                since = Some(Instant::now());
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

/// Waits for a signal. Returns `false` if the socket fails.
fn next(mut told: &UnixStream) -> bool {
    loop {
        match told.read(&mut [0]) {
            Ok(n) => return n > 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
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

/// The handler. I2.
extern "C" fn on_quit(signal: libc::c_int) {
    let Some(watch) = WATCH.get() else { return };
    if watch.process == process::id() {
        // Fails only if the socket is full. Then another byte would change nothing.
        let _ = (&watch.thread).write(&[0]);
    } else {
        // SAFETY: a handler may call both. The signal stays pending until the handler returns. Then
        // the default action applies.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Writes to stderr without the lock of std, which a stuck thread may hold.
pub(crate) fn write_stderr(text: &str) {
    let (mut left, mut refused) = (text.as_bytes(), 0);
    while !left.is_empty() && refused < 1000 {
        match rustix::io::write(rustix::stdio::stderr(), left) {
            Ok(n) => left = left.get(n..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                // Non-blocking and full. The reader gets a second.
                refused += 1;
                thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return,
        }
    }
}
