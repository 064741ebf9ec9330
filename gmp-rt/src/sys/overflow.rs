//! The report of a goroutine that overflows the stack of its thread (Linux).
//!
//! std has a handler of SIGSEGV that prints the name of the thread and aborts, and an alternate
//! signal stack for each of its threads. The handler here prints the goroutine first, and then
//! calls std's. It is not installed if there is no handler to call, because then the thread may
//! have no alternate stack.
//!
//! It says nothing if the fault is outside of the guard pages of a worker thread. Other libraries
//! use SIGSEGV on purpose, and handle it.
//!
//! # Invariants
//!
//! - I1: `sigaction` accesses nothing but the structs that it gets.
//! - I2: [`on_signal`] does only what a handler may do. It reads cells that were filled before it
//!   was installed and thread-locals without a destructor. It takes no lock, allocates nothing, and
//!   uses few bytes of stack, because an alternate stack is small.
//! - I3: the earlier handler is called with the arguments and the mask that the kernel would give
//!   it.

use crate::prim::fixed::OnceLock;
use std::cell::Cell;
use std::ops::Range;
use std::{mem, ptr};

/// A goroutine, as far as the report says.
#[derive(Debug)]
pub(crate) struct Culprit<'a> {
    pub(crate) goid: u64,
    pub(crate) name: Option<&'a str>,
    pub(crate) file: &'a str,
    pub(crate) line: u32,
}

/// Calls its argument with the goroutine that runs on this thread, if there is one. Does only what
/// a signal handler may do (I2).
pub(crate) type Find = fn(fn(&Culprit<'_>));

/// What the handler needs.
struct Handling {
    find: Find,
    /// The action that was installed before.
    before: libc::sigaction,
}

static HANDLING: OnceLock<Option<Handling>> = OnceLock::new();

thread_local! {
    /// The addresses at which this thread overflows its stack.
    static GUARD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Makes an overflow of this thread's stack report the goroutine that `find` finds. The first call
/// decides about `find`.
pub(crate) fn watch_this_thread(find: Find) {
    HANDLING.get_or_init(|| {
        let before = sigaction(None)?;
        let is_handler = ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction);
        is_handler.then_some(Handling { find, before })
    });
    let Some(Some(handling)) = HANDLING.get() else { return };
    if let Some(guard) = guard() {
        GUARD.set((guard.start, guard.end));
    }
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let mut action = handling.before;
        action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
        action.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
        sigaction(Some(&action));
    });
}

/// Returns the guard pages of this thread. Some versions of glibc count them to the stack, so the
/// range extends to both sides of its lower end.
fn guard() -> Option<Range<usize>> {
    // SAFETY: `sysconf` has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // SAFETY: a struct for which zero is a value. The call fills it.
    let mut attributes: libc::pthread_attr_t = unsafe { mem::zeroed() };
    // SAFETY: a valid thread and a struct to fill.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) } != 0 {
        return None;
    }
    let (mut start, mut bytes, mut guard) = (ptr::null_mut(), 0, 0);
    // SAFETY: attributes that the call above filled, and places for the results.
    let known = unsafe {
        let stack =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut bytes);
        let pages = libc::pthread_attr_getguardsize(&raw const attributes, &raw mut guard);
        libc::pthread_attr_destroy(&raw mut attributes);
        stack == 0 && pages == 0
    };
    let guard = guard.max(usize::try_from(page).ok()?);
    known.then(|| start.addr().saturating_sub(guard)..start.addr() + guard)
}

/// Calls `sigaction` with `new`, or only queries. Returns the action before the call.
fn sigaction(new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: I1 — a struct of integers, for which zero is a value. I2 holds for a new handler.
    unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        (libc::sigaction(libc::SIGSEGV, new, &raw mut before) == 0).then_some(before)
    }
}

/// Handles the signal of an overflow. I2.
extern "C" fn on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let Some(Some(handling)) = HANDLING.get() else { return };
    // SAFETY: the kernel passes a valid struct. A positive code says that a memory access failed,
    // and then there is an address.
    let fault = unsafe { ((*info).si_code > 0).then(|| (*info).si_addr().addr()) };
    let (start, end) = GUARD.get();
    if fault.is_some_and(|fault| (start..end).contains(&fault)) {
        // Returns before the next call, which so has the whole stack.
        (handling.find)(report);
    }
    call(&handling.before, signal, info, context);
}

/// Calls the handler that was installed before. I3.
fn call(
    before: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Plain = extern "C" fn(libc::c_int);
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: I3 — neither default nor ignored, and the flag says which type the handler has.
    unsafe {
        if before.sa_flags & libc::SA_SIGINFO == 0 {
            mem::transmute::<usize, Plain>(before.sa_sigaction)(signal);
        } else {
            mem::transmute::<usize, WithInfo>(before.sa_sigaction)(signal, info, context);
        }
    }
}

/// Prints the goroutine by one system call. Restores `errno`. I2.
#[inline(never)]
fn report(culprit: &Culprit<'_>) {
    let (mut goid, mut line) = ([0; 20], [0; 20]);
    let (name_begin, name_end) = if culprit.name.is_some() { (" {name: ", "}") } else { ("", "") };
    let parts = [
        "gmp: goroutine ",
        decimal(culprit.goid, &mut goid),
        name_begin,
        culprit.name.unwrap_or_default(),
        name_end,
        ", spawned at ",
        culprit.file,
        ":",
        decimal(culprit.line.into(), &mut line),
        ", overflows the stack of its thread: box or unroll the recursion, or set ",
        "gmp::runtime::Builder::thread_stack_size\n",
    ];
    let parts = parts
        .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    // SAFETY: the address is that of the `errno` of this thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the vectors are live strings. A failure leaves the report out.
    unsafe { libc::writev(libc::STDERR_FILENO, parts.as_ptr(), parts.len() as libc::c_int) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Writes a number to the end of `digits`. Not by `core::fmt`, which uses more stack.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[at..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{decimal, guard};

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut digits = [0; 20];
        assert_eq!(decimal(0, &mut digits), "0");
        assert_eq!(decimal(907, &mut digits), "907");
        assert_eq!(decimal(u64::MAX, &mut digits), u64::MAX.to_string());
    }

    #[test]
    fn the_guard_is_below_the_stack() {
        // Larger than any stack that the C library reuses.
        const STACK: usize = 64 << 20;
        let run = || {
            let local = 0_u8;
            (std::ptr::from_ref(&local).addr(), guard().unwrap())
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap();
        let (local, guard) = thread.join().unwrap();
        assert!(guard.start < guard.end && guard.end < local, "{guard:x?} above {local:x}");
        assert!(local - guard.end <= STACK, "{guard:x?} is far below {local:x}");
    }
}
