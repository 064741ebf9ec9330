//! The handler beside handlers that other parts of the program install.

use super::*;
use gmp_rt::prim::fixed::AtomicUsize;

/// A real-time signal for each test, because the tests run concurrently.
fn kind(n: libc::c_int) -> SignalKind {
    SignalKind::from_raw(libc::SIGRTMIN() + n)
}

fn index(kind: SignalKind) -> usize {
    kind.index().unwrap()
}

/// Installs `handler` and returns the action that it replaces.
fn set(kind: SignalKind, handler: libc::sighandler_t, flags: libc::c_int) -> libc::sigaction {
    // SAFETY: a struct of integers, for which zero is a valid value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    sigaction(kind.as_raw(), Some(&action)).unwrap()
}

/// Sends the signal to this thread. The handlers have run when this returns.
fn raise(kind: SignalKind) {
    // SAFETY: takes no memory.
    assert_eq!(unsafe { libc::raise(kind.as_raw()) }, 0);
}

#[test]
fn a_handler_without_siginfo_is_called() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn plain(signal: libc::c_int) {
        assert!(signal > 0);
        CALLS.fetch_add(1, SeqCst);
    }
    let kind = kind(3);
    set(kind, plain as *const () as usize, 0);
    let (listening, before) = Listening::begin(kind).unwrap();
    raise(kind);
    assert_eq!((CALLS.load(SeqCst), count(index(kind))), (1, before + 1));
    drop(listening);
    raise(kind);
    assert_eq!((CALLS.load(SeqCst), count(index(kind))), (2, before + 1));
}

#[test]
fn a_handler_with_siginfo_gets_its_arguments_and_mask() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn with_info(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes a valid struct, and the sets are written by the calls.
        unsafe {
            assert_eq!((*info).si_signo, signal);
            let mut blocked: libc::sigset_t = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut blocked);
            assert_eq!(libc::sigismember(&raw const blocked, libc::SIGWINCH), 1);
        }
        assert!(!context.is_null());
        CALLS.fetch_add(1, SeqCst);
    }
    let kind = kind(4);
    // SAFETY: a struct of integers, for which zero is a valid value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = with_info as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: writes the set.
    unsafe { libc::sigaddset(&raw mut action.sa_mask, libc::SIGWINCH) };
    sigaction(kind.as_raw(), Some(&action)).unwrap();
    let (_listening, _) = Listening::begin(kind).unwrap();
    raise(kind);
    assert_eq!(CALLS.load(SeqCst), 1);
}

/// The handler of a library that calls the one that it has replaced, and never goes away.
static LATER_CALLS: AtomicUsize = AtomicUsize::new(0);
static LATER_REPLACED: OnceLock<usize> = OnceLock::new();

extern "C" fn later(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type WithInfo = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    LATER_CALLS.fetch_add(1, SeqCst);
    // SAFETY: the address is that of `on_signal`.
    let replaced = unsafe { mem::transmute::<usize, WithInfo>(*LATER_REPLACED.get().unwrap()) };
    replaced(signal, info, context);
}

#[test]
fn listeners_come_and_go_below_a_later_handler() {
    static FIRST_CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn first(_: libc::c_int) {
        FIRST_CALLS.fetch_add(1, SeqCst);
    }
    let kind = kind(5);
    let first = first as *const () as usize;
    set(kind, first, 0);
    let (listening, before) = Listening::begin(kind).unwrap();
    let replaced = set(kind, later as *const () as usize, libc::SA_SIGINFO);
    assert!(is_ours(&replaced));
    LATER_REPLACED.get_or_init(|| replaced.sa_sigaction);
    let calls =
        || (FIRST_CALLS.load(SeqCst), LATER_CALLS.load(SeqCst), count(index(kind)) - before);
    raise(kind);
    assert_eq!(calls(), (1, 1, 1));
    drop(listening);
    raise(kind);
    assert_eq!((calls().0, calls().1), (2, 2), "the later handler stays and reaches the first");
    let made = || chain::LINKS.lock().len();
    let mut links = 0;
    for round in 3..10 {
        let seen = count(index(kind));
        let (listening, _) = Listening::begin(kind).unwrap();
        raise(kind);
        assert_eq!((calls().0, calls().1), (round, round), "each handler is called once");
        assert_eq!(count(index(kind)), seen + 1, "the signal counts once");
        drop(listening);
        let now = sigaction(kind.as_raw(), None).unwrap();
        assert_eq!(now.sa_sigaction, later as *const () as usize);
        if round > 3 {
            assert!(made() <= links + 3, "a link for each listener");
        }
        links = made();
    }
}

#[test]
fn a_later_handler_that_gives_way_leaves_the_listener() {
    extern "C" fn other(_: libc::c_int) {}
    let kind = kind(6);
    let (listening, before) = Listening::begin(kind).unwrap();
    let ours = set(kind, other as *const () as usize, 0);
    drop(listening);
    // It puts back what it has replaced, after the last listener has gone.
    sigaction(kind.as_raw(), Some(&ours)).unwrap();
    let (listening, _) = Listening::begin(kind).unwrap();
    raise(kind);
    assert_eq!(count(index(kind)), before + 1);
    drop(listening);
    let now = sigaction(kind.as_raw(), None).unwrap();
    assert_eq!(now.sa_sigaction, libc::SIG_DFL);
}
