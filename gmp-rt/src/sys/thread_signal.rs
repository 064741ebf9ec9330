//! A signal from gmp to one of its own threads, with a reason (Linux).
//!
//! All reasons share one signal, SIGURG, whose default action is to do nothing. Go uses it too.
//! A signal of gmp carries the address of a static of this module, by which the handler recognizes
//! it. It passes every other SIGURG to the handler that was installed before it.
//!
//! A program that installs a handler later takes the signal away ([`is_ours`]), unless its handler
//! calls this one.
//!
//! # Invariants
//!
//! - I1: `sigaction` accesses nothing but the structs that it gets.
//! - I2: [`on_signal`] does only what a handler may do. It reads cells that were filled before it
//!   was installed, calls a function that keeps this rule, and restores `errno`.
//! - I3: the earlier handler is called with the arguments that the kernel would give it. Its mask
//!   is not applied.

use crate::prim::fixed::{Mutex, OnceLock};
use std::{mem, ptr};

const SIGNAL: libc::c_int = libc::SIGURG;

/// Why a thread gets the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Pauses the thread.
    Pause = 0,
}

const REASONS: usize = 1;

/// The function for each reason, by its number. The addresses of the cells mark gmp's signals.
static CALLS: [OnceLock<fn()>; REASONS] = [const { OnceLock::new() }; REASONS];

/// The action that was installed before.
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before(libc::sigaction);

/// The layout of `siginfo_t` for a signal that carries a value.
#[repr(C)]
struct Info {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    sender: Sender,
    rest: [u64; 16],
}

#[repr(C)]
struct Sender {
    process: libc::pid_t,
    user: libc::uid_t,
    value: *const OnceLock<fn()>,
}

const _: () = assert!(size_of::<Info>() >= size_of::<libc::siginfo_t>());

/// Calls `call` on each thread that gets a signal for `reason`. Returns `false` if the system
/// refuses the handler. The handler is installed only once, because the program may replace it.
///
/// `call` does only what a signal handler may do.
pub(crate) fn install(reason: Reason, call: fn()) -> bool {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock();
    CALLS[reason as usize].get_or_init(|| call);
    if BEFORE.get().is_some() {
        return true;
    }
    let Some(before) = sigaction(None) else { return false };
    BEFORE.get_or_init(|| Before(before));
    // SAFETY: a struct of integers, for which zero is a value. A zeroed mask is empty.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = ours();
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_SIGINFO;
    sigaction(Some(&action)).is_some()
}

/// Whether the handler of this module is installed.
pub(crate) fn is_ours() -> bool {
    sigaction(None).is_some_and(|action| action.sa_sigaction == ours())
}

/// Sends the signal to a thread of this process. Does nothing if the thread is gone.
pub(crate) fn send(thread: u32, reason: Reason) {
    // SAFETY: accesses no memory and cannot fail.
    let process = unsafe { libc::getpid() };
    let value = ptr::from_ref(&CALLS[reason as usize]);
    let sender = Sender { process, user: 0, value };
    let info = Info { signal: SIGNAL, errno: 0, code: libc::SI_QUEUE, sender, rest: [0; 16] };
    // SAFETY: reads one `siginfo_t`, for which `info` is large enough.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, SIGNAL, &raw const info) };
}

/// Calls `sigaction` with `new`, or only queries. Returns the action before the call.
fn sigaction(new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: I1 — a struct of integers, for which zero is a value. I2 holds for a new handler.
    unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        (libc::sigaction(SIGNAL, new, &raw mut before) == 0).then_some(before)
    }
}

/// Returns the handler in the type of `sigaction`.
fn ours() -> libc::sighandler_t {
    on_signal as *const () as libc::sighandler_t
}

/// Handles the signal. I2.
extern "C" fn on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the address is that of the `errno` of this thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes a valid struct, and a value if the code says so.
    let value =
        unsafe { ((*info).si_code == libc::SI_QUEUE).then(|| (*info).si_value().sival_ptr) };
    let ours = value.and_then(|value| CALLS.iter().find(|call| ptr::addr_eq(*call, value)));
    match ours.map(OnceLock::get) {
        Some(call) => call.into_iter().for_each(|call| call()),
        None => call_before(signal, info, context),
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Calls the handler that was installed before, if there is one. I3.
fn call_before(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Plain = extern "C" fn(libc::c_int);
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let Some(Before(before)) = BEFORE.get() else { return };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {}
        // SAFETY: I3 — the flag says which type the handler has.
        handler => unsafe {
            if before.sa_flags & libc::SA_SIGINFO == 0 {
                mem::transmute::<usize, Plain>(handler)(signal);
            } else {
                mem::transmute::<usize, WithInfo>(handler)(signal, info, context);
            }
        },
    }
}
