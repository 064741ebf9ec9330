//! The signal handler, the count of each signal, and the signals that have listeners.
//!
//! There is one handler for all signals and all runtimes. It increments the count of its signal and
//! wakes all listeners. Each listener then checks whether the count of *its* signal has changed. So
//! the handler needs no list of listeners, which it could not read safely while the list changes.
//!
//! The first listener of a signal installs the handler. The last one restores the previous action:
//! the default action, "ignored", or another handler, such as gmp's own for SIGQUIT. If another
//! handler has been installed meanwhile, it stays, and may still call this one. The handler calls a
//! previous handler, if there is one. So it has several entry functions ([`chain`]).
//!
//! A dropped `ctrl_c()` *keeps* the signal: the handler stays without a listener, and the next
//! `ctrl_c()` receives a signal that came meanwhile. If a second one comes before, its previous
//! action is restored and takes place. So a program that does not listen again can be stopped.
//!
//! # Invariants
//!
//! - I1: `sigaction` accesses only the structs that it is given.
//! - I2: [`handle`] does only what is allowed in a handler. It accesses atomics, a thread-local
//!   without a destructor and a cell that was filled before the handler was installed. It calls
//!   `write`, which changes `errno` only if it fails (see [`Bell`]), `sigaction`, `raise`, and the
//!   previous handler. In a forked process that has not yet called `exec`, it wakes the listeners
//!   of the parent, which find no new signal.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | SeqCst add in [`handle`], write | its event, SeqCst load in [`count`] | the signal |
//!
//! [`INSIST_AT`] is a hint: a signal that comes while it changes counts as before or after.

use super::bell::Bell;
use super::chain::{self, Delivery, LAYERS, Place};
use super::kind::{MAX, SignalKind};
use gmp_rt::prim::Ordering::{Relaxed, SeqCst};
use gmp_rt::prim::fixed::OnceLock;
use gmp_rt::prim::fixed::{AtomicU64, Mutex};
use std::{fmt, io, mem, ptr};

/// The number of times that each signal came.
static COUNTS: [AtomicU64; MAX + 1] = [const { AtomicU64::new(0) }; MAX + 1];

/// Filled before a handler is installed, and never closed.
static BELL: OnceLock<Bell> = OnceLock::new();

/// The signals that have listeners.
static LISTENERS: Mutex<Vec<Installed>> = Mutex::new(Vec::new());

/// For each signal, the count from which on a signal has its previous effect: one that nothing has
/// received is pending already, and there is no listener.
static INSIST_AT: [AtomicU64; MAX + 1] = [const { AtomicU64::new(u64::MAX) }; MAX + 1];

/// A signal that has listeners or is kept.
struct Installed {
    index: usize,
    listeners: usize,
    /// The count that the last `ctrl_c()` had seen when it was dropped.
    kept: Option<u64>,
}

impl Installed {
    /// Adapts [`INSIST_AT`] after a change.
    fn settle(&self) {
        let pending = self.kept.filter(|_| self.listeners == 0).map(|seen| seen + 1);
        INSIST_AT[self.index].store(pending.unwrap_or(u64::MAX), Relaxed);
    }
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
        Self::begin_with(kind, |_| None)
    }

    /// Begins as [`begin`](Self::begin), for the next `ctrl_c()`: receives a signal that was kept
    /// for it.
    pub(super) fn begin_kept(kind: SignalKind) -> io::Result<(Self, u64)> {
        Self::begin_with(kind, |installed| installed.kept.take())
    }

    fn begin_with(
        kind: SignalKind,
        seen: impl FnOnce(&mut Installed) -> Option<u64>,
    ) -> io::Result<(Self, u64)> {
        let index = kind.index()?;
        bell()?;
        let mut all = LISTENERS.lock();
        // Read before the handler is installed, so that every later signal is new.
        let now = count(index);
        let at = match all.iter().position(|installed| installed.index == index) {
            Some(at) => at,
            None => {
                install(kind, index)?;
                all.push(Installed { index, listeners: 0, kept: None });
                all.len() - 1
            }
        };
        let installed = &mut all[at];
        installed.listeners += 1;
        let seen = seen(installed).unwrap_or(now);
        installed.settle();
        Ok((Self { index }, seen))
    }

    /// Ends the listener and keeps the signal for the next [`begin_kept`](Self::begin_kept), which
    /// continues at the count `seen`.
    pub(super) fn keep(self, seen: u64) {
        self.change(|installed| {
            installed.kept = Some(installed.kept.map_or(seen, |kept| kept.min(seen)));
        });
    }

    /// Ends the listener, which has received the signal: the signal is not kept any more.
    pub(super) fn heard(self) {
        self.change(|installed| installed.kept = None);
    }

    /// Changes the state of the signal before this listener is dropped.
    fn change(&self, change: impl FnOnce(&mut Installed)) {
        let mut all = LISTENERS.lock();
        if let Some(installed) = all.iter_mut().find(|installed| installed.index == self.index) {
            change(installed);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut all = LISTENERS.lock();
        let Some(at) = all.iter().position(|installed| installed.index == self.index) else {
            return;
        };
        all[at].listeners -= 1;
        all[at].settle();
        if all[at].listeners == 0 && all[at].kept.is_none() {
            all.swap_remove(at);
            restore(self.index);
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

/// Installs the handler, unless it is there because another handler has put it back.
fn install(kind: SignalKind, index: usize) -> io::Result<()> {
    let signal = kind.as_raw();
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("listening to {kind}: {error}"));
    let mut before = sigaction(signal, None).map_err(named)?;
    let mut installed = None;
    while layer_of(&before).is_none() {
        // Known to the entry function before it can run.
        let Some(layer) = chain::layer_over(index, &before) else {
            if installed.is_some() {
                let _ = sigaction(signal, Some(&before));
            }
            return Err(named(io::Error::other(TooManyHandlers)));
        };
        let replaced = sigaction(signal, Some(&action_over(layer, &before))).map_err(named)?;
        let is_expected = match installed {
            None => chain::is_same(&replaced, &before),
            Some(_) => layer_of(&replaced) == installed,
        };
        if is_expected {
            return Ok(());
        }
        // Another thread has installed a handler since. It is replaced by a layer of its own.
        (before, installed) = (replaced, Some(layer));
    }
    if installed.is_some() {
        // Another thread has put this handler back since.
        sigaction(signal, Some(&before)).map_err(named)?;
    }
    Ok(())
}

/// Returns the action that installs the entry function of `layer` over `before`.
fn action_over(layer: usize, before: &libc::sigaction) -> libc::sigaction {
    /// What the previous handler has chosen for the whole process: whether system calls are
    /// restarted, and which events of children raise SIGCHLD and leave zombies.
    const KEPT: libc::c_int = libc::SA_RESTART | libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT;
    // SAFETY: a struct of integers, for which zero is a valid value. Its mask is then empty.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = entry(layer);
    action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
    if matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        // Without a handler no system call was interrupted.
        action.sa_flags |= libc::SA_RESTART | before.sa_flags & KEPT;
    } else {
        // The previous handler runs on the stack, and with the signals blocked, that it expects.
        action.sa_flags &= before.sa_flags | !libc::SA_ONSTACK;
        action.sa_flags |= before.sa_flags & KEPT;
        action.sa_mask = before.sa_mask;
    }
    action
}

/// Restores the previous action, unless another handler has been installed.
fn restore(index: usize) {
    let Ok(signal) = libc::c_int::try_from(index) else { return };
    let now = sigaction(signal, None).ok().and_then(|now| layer_of(&now));
    let Some(before) = now.and_then(|layer| chain::replaced_by(index, layer)) else { return };
    // It cannot fail: the OS accepted this action before.
    if let Ok(replaced) = sigaction(signal, Some(before))
        && layer_of(&replaced).is_none()
    {
        // Another thread has installed a handler since.
        let _ = sigaction(signal, Some(&replaced));
    }
}

/// Too many handlers of a signal were installed below listeners of gmp.
#[derive(Debug)]
struct TooManyHandlers;

impl fmt::Display for TooManyHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{LAYERS} different handlers were replaced already; keep one listener for the whole \
             time of the program"
        )
    }
}

impl std::error::Error for TooManyHandlers {}

/// The type of a handler that gets all arguments.
type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// The entry functions, by their layers. One static, because the address of a generic function may
/// differ between the places that take it.
static ENTRIES: [Handler; LAYERS] = [
    on_signal::<0>,
    on_signal::<1>,
    on_signal::<2>,
    on_signal::<3>,
    on_signal::<4>,
    on_signal::<5>,
    on_signal::<6>,
    on_signal::<7>,
];

/// Returns the entry function of `layer` as `sigaction` represents it.
fn entry(layer: usize) -> libc::sighandler_t {
    ENTRIES[layer] as libc::sighandler_t
}

/// Returns the layer whose entry function the action calls, if it is one of this module.
fn layer_of(action: &libc::sigaction) -> Option<usize> {
    (0..LAYERS).find(|layer| entry(*layer) == action.sa_sigaction)
}

/// Handles a signal: the entry function of a layer. I2.
extern "C" fn on_signal<const LAYER: usize>(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    handle(LAYER, signal, info, context);
}

/// Counts the signal and calls the earlier handler. I2.
fn handle(
    layer: usize,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let index = usize::try_from(signal).unwrap_or(0).min(MAX);
    chain::enter(Delivery { signal, context }, layer, |place| {
        if place == Place::First {
            let before = COUNTS[index].fetch_add(1, SeqCst); // O1
            if let Some(bell) = BELL.get() {
                bell.ring();
            }
            if before >= INSIST_AT[index].load(Relaxed) {
                insist(signal, index, layer);
            }
        }
        if place != Place::Again {
            chain::call(index, layer, signal, info, context);
        }
    });
}

/// Makes the default action take place when the handler returns, if it is the previous one.
fn insist(signal: libc::c_int, index: usize, layer: usize) {
    let before = chain::replaced_by(index, layer);
    let default = before.filter(|before| before.sa_sigaction == libc::SIG_DFL);
    if let Some(default) = default
        && sigaction(signal, None).is_ok_and(|now| layer_of(&now) == Some(layer))
        && sigaction(signal, Some(default)).is_ok()
    {
        // SAFETY: takes no memory. The signal is pending until the handler returns.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(all(test, target_os = "linux", not(gmp_loom)))]
#[path = "handler_tests.rs"]
mod tests;
