//! The signal handler, the count of each signal, and the signals that have listeners.
//!
//! There is one handler for all signals and all runtimes. It increments the count of its signal and
//! wakes all listeners. Each listener then checks whether the count of *its* signal has changed. So
//! the handler needs no list of listeners, which it could not read safely while the list changes.
//!
//! The first listener of a signal installs the handler. The last one restores the previous action:
//! the default action, "ignored", or another handler, such as gmp's own for SIGQUIT. If another
//! handler has been installed meanwhile, it stays. The previous action does not run while the
//! handler is installed, as in Go.
//!
//! # Invariants
//!
//! - I1: `sigaction` accesses only the structs that it is given.
//! - I2: [`on_signal`] does only what is allowed in a handler. It adds to an atomic, reads a cell
//!   that was filled before the handler was installed, and calls `write`, which changes `errno`
//!   only if it fails (see [`Bell`]). In a forked process that has not yet called `exec`, it wakes
//!   the listeners of the parent, which find no new signal.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst add in [`on_signal`], write | its event, SeqCst load in [`count`] | the signal |

use super::bell::Bell;
use super::kind::{MAX, SignalKind};
use gmp_rt::prim::Ordering::SeqCst;
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::prim::fixed::{AtomicU64, Mutex};
use std::{io, mem, ptr};

/// The number of times that each signal came.
static COUNTS: [AtomicU64; MAX + 1] = [const { AtomicU64::new(0) }; MAX + 1];

/// Filled before a handler is installed, and never closed.
static BELL: OnceLock<Bell> = OnceLock::new();

/// The signals that have listeners.
static LISTENERS: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

/// A signal that has listeners.
struct Installed {
    index: usize,
    listeners: usize,
    /// The previous action.
    before: libc::sigaction,
}

/// Returns the bell, and creates it on the first call.
pub(super) fn bell() -> io::Result<&'static Bell> {
    if let Some(bell) = BELL.get() {
        return Ok(bell);
    }
    let made = Bell::new()?;
    // Another thread may have stored one first.
    Ok(BELL.get_or_init(|| made))
}

/// Returns the number of times that the signal with this index came.
pub(super) fn count(index: usize) -> u64 {
    COUNTS[index].load(SeqCst) // O1
}

/// Registers a listener of a signal until it is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    index: usize,
}

impl Listening {
    /// Installs the handler for `kind` if necessary. Also returns the current count of the signal.
    pub(super) fn begin(kind: SignalKind) -> io::Result<(Self, u64)> {
        let index = kind.index()?;
        bell()?;
        let mut all = LISTENERS.lock();
        // Read before the handler is installed, so that every later signal is new.
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

/// Calls `sigaction` with `new`, or only queries if there is none. Returns the previous action.
fn sigaction(signal: libc::c_int, new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: I1 — a struct of integers, for which zero is a valid value, written by the call. A
    // new action has the handler of this file, I2, or is one that was installed before.
    let (failed, before) = unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        (libc::sigaction(signal, new, &raw mut before), before)
    };
    if failed == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}

fn install(kind: SignalKind) -> io::Result<libc::sigaction> {
    // SAFETY: a struct of integers, for which zero is a valid value. Its mask is then empty.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = ours();
    // Restarts interrupted system calls, and uses the alternate stack of the thread if it has one.
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    sigaction(kind.as_raw(), Some(&action))
        .map_err(|error| io::Error::new(error.kind(), format!("listening to {kind}: {error}")))
}

/// Restores the previous action, unless another handler has been installed.
fn restore(installed: &Installed) {
    let Ok(signal) = libc::c_int::try_from(installed.index) else { return };
    if sigaction(signal, None).is_ok_and(|now| now.sa_sigaction == ours()) {
        // It cannot fail: the OS accepted this action before.
        let _ = sigaction(signal, Some(&installed.before));
    }
}

/// Returns the handler as `sigaction` represents it.
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
