//! Handlers: who listens to what, and how often it came.
//!
//! There is one handler for all signals and all runtimes. It counts, and rings a bell that every
//! listener waits for; each then looks whether *its* signal came since it last looked. So a handler
//! needs no list of listeners, which it could not read safely while one is added or goes away.
//!
//! The first listener to a signal installs the handler, the last puts back what was there before: the
//! default action, "ignored", or another handler, as gmp's own for SIGQUIT. If another one was installed
//! over ours meanwhile, it stays. What was there before is not called while ours is installed, as in Go.
//!
//! # Invariants
//!
//! - I1: `sigaction` touches nothing but the structs it is given.
//! - I2: [`on_signal`] does what is allowed in a handler: it adds to an atomic, reads a cell that was
//!   filled before it was installed, and calls `write`, which changes `errno` only if it fails: see the bell.
//!   In a process that was forked off and has not yet called `exec` it rings for its parent, in vain.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst add in [`on_signal`], then the ring | the event of the ring, then the SeqCst load in [`count`] | that the signal came |

use super::bell::Bell;
use super::kind::{MAX, SignalKind};
use gmp_rt::prim::Ordering::SeqCst;
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::prim::fixed::{AtomicU64, Mutex};
use std::{io, mem, ptr};

/// How often each signal came.
static COUNTS: [AtomicU64; MAX + 1] = [const { AtomicU64::new(0) }; MAX + 1];

/// Filled before a handler is installed, and never closed.
static BELL: OnceLock<Bell> = OnceLock::new();

/// What is listened to.
static LISTENERS: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

/// A signal that somebody listens to.
struct Installed {
    index: usize,
    listeners: usize,
    /// What was there before.
    before: libc::sigaction,
}

/// The bell.
pub(super) fn bell() -> io::Result<&'static Bell> {
    if let Some(bell) = BELL.get() {
        return Ok(bell);
    }
    let made = Bell::new()?;
    // Another thread may have been faster.
    Ok(BELL.get_or_init(|| made))
}

/// How often the signal came that `index` stands for.
pub(super) fn count(index: usize) -> u64 {
    COUNTS[index].load(SeqCst) // O1
}

/// That somebody listens; dropping it ends that.
#[derive(Debug)]
pub(super) struct Listening {
    index: usize,
}

impl Listening {
    /// Installs the handler for `kind`, if it is not; the second is how often the signal came before.
    pub(super) fn begin(kind: SignalKind) -> io::Result<(Self, u64)> {
        let index = kind.index()?;
        bell()?;
        let mut all = LISTENERS.lock();
        // Before it is installed: what comes from now on is news.
        let before = count(index);
        match all.iter_mut().find(|installed| installed.index == index) {
            Some(installed) => installed.listeners += 1,
            None => all.push(Installed { index, listeners: 1, before: install(kind)? }),
        }
        Ok((Self { index }, before))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut all = LISTENERS.lock();
        let Some(at) = all.iter().position(|installed| installed.index == self.index) else {
            return;
        };
        all[at].listeners -= 1;
        if all[at].listeners == 0 {
            restore(&all.swap_remove(at));
        }
    }
}

/// Calls `sigaction` with `new`, or just asks; returns what was there before.
fn sigaction(signal: libc::c_int, new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: I1 — a struct of integers, for which zero is a value; written by the call. If there is
    // a new one, its handler is ours, I2, or one that was there before.
    let (failed, before) = unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        (libc::sigaction(signal, new, &raw mut before), before)
    };
    if failed == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}

fn install(kind: SignalKind) -> io::Result<libc::sigaction> {
    // SAFETY: a struct of integers, for which zero is a value; its mask is empty then.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = ours();
    // Calls go on that it interrupts; and a stack of the thread's own is used if there is one.
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    sigaction(kind.as_raw(), Some(&action))
        .map_err(|error| io::Error::new(error.kind(), format!("listening to {kind}: {error}")))
}

/// Puts back what was there before, if the handler is still ours.
fn restore(installed: &Installed) {
    let Ok(signal) = libc::c_int::try_from(installed.index) else { return };
    if sigaction(signal, None).is_ok_and(|now| now.sa_sigaction == ours()) {
        // It was accepted once.
        let _ = sigaction(signal, Some(&installed.before));
    }
}

/// Our handler as `sigaction` names it.
fn ours() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// The handler. I2.
extern "C" fn on_signal(signal: libc::c_int) {
    let count = usize::try_from(signal).ok().and_then(|index| COUNTS.get(index));
    if let Some(count) = count {
        count.fetch_add(1, SeqCst); // O1
    }
    if let Some(bell) = BELL.get() {
        bell.ring();
    }
}
