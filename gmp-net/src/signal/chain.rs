//! The actions that the handler of gmp has replaced, for each signal.
//!
//! The handler calls the handler that was there before it. The program may have installed that one,
//! or Tokio, `signal-hook` or another part of gmp. Those that are installed later call the handler
//! of gmp in the same way, and stay when gmp has no listener any more. So handlers form a chain.
//! The handler of gmp can be in it more than once: gmp listens, Tokio listens, gmp stops and
//! listens again. The last call of `sigaction` then puts it before Tokio's handler, which calls it
//! again.
//!
//! So the replaced actions are a list, the last one first. The depth at which the handler runs, in
//! its own call, is the position of the action that it has to call. Only the handler at depth 0
//! counts the signal. The chain ends, because each depth uses a later entry.
//!
//! # Invariants
//!
//! - I1: a [`Link`] is never freed and never changes, so the handler reads the list without a lock.
//!   Equal links are made once. So the memory is bounded by the number of handlers that the program
//!   installs, and not by the number of listeners.
//! - I2: the earlier handler is called with the arguments that the kernel would give it, and with
//!   its own mask at least ([`same_mask`]).
//! - I3: `sigismember` only reads the set.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of a head in [`push`], [`pop`] | Acquire load in [`at`] | the link |

use super::kind::MAX;
use gmp_rt::prim::Ordering::{Acquire, Release};
use gmp_rt::prim::fixed::{AtomicPtr, Mutex};
use std::cell::Cell;
use std::{mem, ptr};

/// An action that was replaced, and those replaced before it.
pub(super) struct Link {
    action: libc::sigaction,
    below: *mut Link,
}

// SAFETY: I1 — it is only read, and `below` is another link.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

/// The last action that was replaced, for each signal. Changed by one thread at a time: the one
/// that holds the lock of the listeners.
static HEADS: [AtomicPtr<Link>; MAX + 1] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX + 1];

/// All links.
pub(super) static LINKS: Mutex<Vec<&'static Link>> = Mutex::new(Vec::new());

thread_local! {
    /// The signal whose handler runs on this thread, and its depth. It needs no destructor and no
    /// initialisation, so the handler may use it.
    static DEPTH: Cell<(libc::c_int, usize)> = const { Cell::new((0, 0)) };
}

/// Puts `action` before the actions of the signal with this index.
pub(super) fn push(index: usize, action: &libc::sigaction) {
    let below = HEADS[index].load(Acquire); // O1
    let mut links = LINKS.lock();
    let known = links.iter().find(|link| link.below == below && is_same(&link.action, action));
    let link = match known {
        Some(link) => *link,
        None => {
            let link: &'static Link = Box::leak(Box::new(Link { action: *action, below }));
            links.push(link);
            link
        }
    };
    HEADS[index].store(ptr::from_ref(link).cast_mut(), Release); // O1
}

/// Removes the last action of the signal.
pub(super) fn pop(index: usize) {
    if let Some(link) = at(index, 0) {
        HEADS[index].store(link.below, Release); // O1
    }
}

/// Returns the last action that was replaced.
pub(super) fn last(index: usize) -> Option<&'static libc::sigaction> {
    Some(&at(index, 0)?.action)
}

fn at(index: usize, depth: usize) -> Option<&'static Link> {
    // SAFETY: I1 — null or a link.
    let mut link = unsafe { HEADS[index].load(Acquire).as_ref() }; // O1
    for _ in 0..depth {
        // SAFETY: I1 — as above.
        link = unsafe { link?.below.as_ref() };
    }
    link
}

/// Runs `f`, the body of the handler, with the depth at which it runs.
pub(super) fn at_depth(signal: libc::c_int, f: impl FnOnce(usize)) {
    // Another signal may interrupt a handler. The same one is blocked until its handler returns, so
    // it runs again only if the chain calls it.
    let outer = DEPTH.get();
    let depth = if outer.0 == signal { outer.1 + 1 } else { 0 };
    DEPTH.set((signal, depth));
    f(depth);
    DEPTH.set(outer);
}

/// Calls the handler that the handler at this depth has replaced, if there is one. I2.
pub(super) fn call(
    index: usize,
    depth: usize,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Plain = extern "C" fn(libc::c_int);
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let Some(Link { action, .. }) = at(index, depth) else { return };
    match action.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {}
        // SAFETY: I2 — the flag says which type the handler has.
        handler => unsafe {
            if action.sa_flags & libc::SA_SIGINFO == 0 {
                mem::transmute::<usize, Plain>(handler)(signal);
            } else {
                mem::transmute::<usize, WithInfo>(handler)(signal, info, context);
            }
        },
    }
}

/// Whether two actions are the same.
pub(super) fn is_same(a: &libc::sigaction, b: &libc::sigaction) -> bool {
    a.sa_sigaction == b.sa_sigaction && a.sa_flags == b.sa_flags && same_mask(a, b)
}

fn same_mask(a: &libc::sigaction, b: &libc::sigaction) -> bool {
    (1..=MAX as libc::c_int).all(|signal| {
        // SAFETY: I3. A number that is no signal gives an error for both.
        unsafe {
            libc::sigismember(&raw const a.sa_mask, signal)
                == libc::sigismember(&raw const b.sa_mask, signal)
        }
    })
}
