//! The actions that the handler of gmp has replaced, for each signal.
//!
//! The handler calls the handler that was there before it. The program may have installed that one,
//! or Tokio, `signal-hook` or another part of gmp. Those that are installed later call the handler
//! of gmp in the same way, and stay when gmp has no listener any more. So handlers form a chain.
//! The handler of gmp can be in it more than once: gmp listens, Tokio listens, gmp stops and
//! listens again. The last call of `sigaction` then puts it before Tokio's handler, which calls it
//! again.
//!
//! So the handler has several entry functions, the *layers*. For each signal a layer stands for one
//! action that was replaced, and it never stands for another one. An entry function thus calls the
//! same handler whenever it runs: also after gmp has restored that handler, because a thread may be
//! anywhere between the kernel's choice of the entry function and its first instruction. Nothing
//! can wait for such a thread. Only the first entry function that a signal runs counts the signal.
//! A handler that was installed twice may call the layer that calls it. A layer that is being run
//! calls nothing again, so every chain ends.
//!
//! # Invariants
//!
//! - I1: a [`Link`] is never freed and never changes, so a handler reads the list without a lock.
//!   Equal actions have one link. So their number is bounded by the number of handlers that the
//!   program installs, not by the number of listeners, and never exceeds [`LAYERS`].
//! - I2: the earlier handler is called with the arguments that the kernel would give it, and with
//!   its own mask at least ([`same_mask`]).
//! - I3: `sigismember` only reads the set.
//!
//! # Orderings
//!
//! | id | op | pairs with | makes visible |
//! |----|----|-----------|----------------|
//! | O1 | Release store of a head in [`layer_over`] | Acquire load in [`links`] | the link |

use super::kind::MAX;
use gmp_rt::prim::Ordering::{Acquire, Release};
use gmp_rt::prim::fixed::AtomicPtr;
use std::cell::Cell;
use std::{iter, mem, ptr};

/// The number of entry functions: the maximum number of different actions that are replaced for a
/// signal. Chosen: each part of a program that handles a signal adds one.
pub(super) const LAYERS: usize = 8;

/// An action that was replaced.
struct Link {
    action: libc::sigaction,
    /// The layer that stands for it. The layers of a signal are numbered in their order.
    layer: usize,
    earlier: *const Link,
}

// SAFETY: I1 — it is only read, and `earlier` is another link.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

/// The last link of each signal. Changed by one thread at a time: the one that holds the lock of
/// the listeners.
static HEADS: [AtomicPtr<Link>; MAX + 1] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX + 1];

/// A signal that a thread handles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) signal: libc::c_int,
    /// The context that the kernel has put on the stack. Each delivery has its own, as long as its
    /// handler runs.
    pub(super) context: *const libc::c_void,
}

impl Delivery {
    /// Whether `inner`, which runs inside, is the same. A handler of the chain may pass no context.
    fn is(self, inner: Self) -> bool {
        let same_context = inner.context.is_null() || inner.context == self.context;
        self.signal == inner.signal && same_context
    }
}

thread_local! {
    /// The signal that this thread handles, and a bit for each layer that runs. It needs no
    /// destructor and no initialisation, so the handler may use it.
    static RUNNING: Cell<(Delivery, u32)> =
        const { Cell::new((Delivery { signal: 0, context: ptr::null() }, 0)) };
}

/// The place of a run of an entry function in the chain of its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The kernel or a later handler called the entry function.
    First,
    /// Another layer called it.
    Later,
    /// This layer runs for the same signal already: the chain is a loop.
    Again,
}

/// Returns the layer that stands for `action`, and makes one if there is none. Returns `None` if
/// all are used.
pub(super) fn layer_over(index: usize, action: &libc::sigaction) -> Option<usize> {
    if let Some(known) = links(index).find(|link| is_same(&link.action, action)) {
        return Some(known.layer);
    }
    let last = links(index).next();
    let layer = last.map_or(0, |link| link.layer + 1);
    if layer == LAYERS {
        return None;
    }
    let earlier = last.map_or(ptr::null(), ptr::from_ref);
    let link = Box::leak(Box::new(Link { action: *action, layer, earlier }));
    HEADS[index].store(link, Release); // O1
    Some(layer)
}

/// Returns the action that `layer` stands for.
pub(super) fn replaced_by(index: usize, layer: usize) -> Option<&'static libc::sigaction> {
    links(index).find(|link| link.layer == layer).map(|link| &link.action)
}

/// Returns the links of a signal, the last one first.
fn links(index: usize) -> impl Iterator<Item = &'static Link> {
    // SAFETY: I1 — null or a link.
    let last = unsafe { HEADS[index].load(Acquire).cast_const().as_ref() }; // O1
    // SAFETY: I1 — as above.
    iter::successors(last, |link| unsafe { link.earlier.as_ref() })
}

/// Runs `f`, the body of the entry function of `layer`, with its place in the chain.
pub(super) fn enter(delivery: Delivery, layer: usize, f: impl FnOnce(Place)) {
    // Another signal may interrupt a handler, and so may the same one, if a handler that was
    // installed later has chosen it (`SA_NODEFER`).
    let outer = RUNNING.get();
    let (place, layers) = match outer {
        (running, _) if !running.is(delivery) => (Place::First, 0),
        (_, layers) if layers & 1 << layer == 0 => (Place::Later, layers),
        (_, layers) => (Place::Again, layers),
    };
    RUNNING.set((delivery, layers | 1 << layer));
    f(place);
    RUNNING.set(outer);
}

/// Calls the handler that `layer` stands for, if it is one. I2.
pub(super) fn call(
    index: usize,
    layer: usize,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Plain = extern "C" fn(libc::c_int);
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let Some(action) = replaced_by(index, layer) else { return };
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
