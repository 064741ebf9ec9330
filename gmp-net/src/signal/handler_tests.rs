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
fn listeners_below_a_later_handler_get_signals() {
    static FIRST_CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn first(_: libc::c_int) {
        FIRST_CALLS.fetch_add(1, SeqCst);
    }
    let kind = kind(5);
    let first = first as *const () as usize;
    set(kind, first, 0);
    let (listening, before) = Listening::begin(kind).unwrap();
    let replaced = set(kind, later as *const () as usize, libc::SA_SIGINFO);
    assert!(layer_of(&replaced).is_some());
    LATER_REPLACED.get_or_init(|| replaced.sa_sigaction);
    let calls =
        || (FIRST_CALLS.load(SeqCst), LATER_CALLS.load(SeqCst), count(index(kind)) - before);
    raise(kind);
    assert_eq!(calls(), (1, 1, 1));
    drop(listening);
    raise(kind);
    assert_eq!((calls().0, calls().1), (2, 2), "the later handler stays and reaches the first");
    // One over `first`, and one over `later`.
    let made = || (0..LAYERS).filter(|layer| chain::replaced_by(index(kind), *layer).is_some());
    for round in 3..10 {
        let seen = count(index(kind));
        let (listening, _) = Listening::begin(kind).unwrap();
        raise(kind);
        assert_eq!((calls().0, calls().1), (round, round), "each handler is called once");
        assert_eq!(count(index(kind)), seen + 1, "the signal counts once");
        drop(listening);
        let now = sigaction(kind.as_raw(), None).unwrap();
        assert_eq!(now.sa_sigaction, later as *const () as usize);
        assert_eq!(made().count(), 2, "listeners share layers");
    }
}

#[test]
fn a_later_handler_that_is_removed_leaves_the_listener() {
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

/// A handler reaches the previous one wherever its thread is when the last listener goes.
#[test]
fn no_handler_of_the_chain_misses_or_repeats_a_signal_while_listeners_come_and_go() {
    const SENDERS: usize = 2;
    static BELOW: AtomicUsize = AtomicUsize::new(0);
    static ABOVE: AtomicUsize = AtomicUsize::new(0);
    static ABOVE_REPLACED: OnceLock<Handler> = OnceLock::new();
    extern "C" fn below(_: libc::c_int) {
        BELOW.fetch_add(1, SeqCst);
    }
    extern "C" fn above(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        ABOVE.fetch_add(1, SeqCst);
        ABOVE_REPLACED.get().unwrap()(signal, info, context);
    }
    /// Raises the signal on several threads while listeners come and go. Returns how often.
    fn storm(kind: SignalKind) -> usize {
        let (over, raised) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| {
                    while over.load(SeqCst) == 0 {
                        raise(kind);
                        raised.fetch_add(1, SeqCst);
                    }
                });
            }
            // The handlers of the senders are interrupted at any point by the end of a time slice.
            for _ in 0..20_000 {
                drop(Listening::begin(kind).unwrap());
            }
            over.store(1, SeqCst);
        });
        raised.into_inner()
    }
    let kind = kind(7);
    set(kind, below as *const () as usize, libc::SA_RESTART);
    let raised = storm(kind);
    assert_eq!(BELOW.load(SeqCst), raised);
    // A handler that is installed over a listener stays, and calls it.
    let (listening, _) = Listening::begin(kind).unwrap();
    let now = sigaction(kind.as_raw(), None).unwrap();
    ABOVE_REPLACED.get_or_init(|| ENTRIES[layer_of(&now).unwrap()]);
    set(kind, above as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART);
    drop(listening);
    let raised_above = storm(kind);
    assert_eq!(ABOVE.load(SeqCst), raised_above);
    assert_eq!(BELOW.load(SeqCst), raised + raised_above);
}

/// It calls itself through the listener, once.
#[test]
fn a_handler_that_is_installed_twice_is_not_called_for_ever() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static REPLACED: Mutex<Option<Handler>> = Mutex::new(None);
    extern "C" fn twice(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        CALLS.fetch_add(1, SeqCst);
        let replaced = *REPLACED.lock();
        if let Some(replaced) = replaced {
            replaced(signal, info, context);
        }
    }
    let kind = kind(8);
    let twice = twice as *const () as usize;
    set(kind, twice, libc::SA_SIGINFO);
    let (_listening, before) = Listening::begin(kind).unwrap();
    let replaced = set(kind, twice, libc::SA_SIGINFO);
    *REPLACED.lock() = layer_of(&replaced).map(|layer| ENTRIES[layer]);
    raise(kind);
    assert_eq!((CALLS.load(SeqCst), count(index(kind))), (2, before + 1));
}

/// A later handler may choose that the signal interrupts its own handler.
#[test]
fn a_signal_that_interrupts_its_handler_reaches_all_handlers() {
    static BELOW: AtomicUsize = AtomicUsize::new(0);
    static REPLACED: OnceLock<Handler> = OnceLock::new();
    extern "C" fn below(signal: libc::c_int) {
        if BELOW.fetch_add(1, SeqCst) == 0 {
            // SAFETY: takes no memory.
            unsafe { libc::raise(signal) };
        }
    }
    extern "C" fn above(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        REPLACED.get().unwrap()(signal, info, context);
    }
    let kind = kind(11);
    set(kind, below as *const () as usize, 0);
    let (_listening, before) = Listening::begin(kind).unwrap();
    let now = sigaction(kind.as_raw(), None).unwrap();
    REPLACED.get_or_init(|| ENTRIES[layer_of(&now).unwrap()]);
    set(kind, above as *const () as usize, libc::SA_SIGINFO | libc::SA_NODEFER);
    raise(kind);
    assert_eq!((BELOW.load(SeqCst), count(index(kind))), (2, before + 2));
}

#[test]
fn the_flags_of_a_previous_handler_stay() {
    extern "C" fn previous(_: libc::c_int) {}
    let kind = kind(9);
    let kept = libc::SA_RESTART | libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT | libc::SA_ONSTACK;
    let installed = || sigaction(kind.as_raw(), None).unwrap().sa_flags & kept;
    let (listening, _) = Listening::begin(kind).unwrap();
    assert_eq!(installed(), libc::SA_RESTART | libc::SA_ONSTACK, "over the default action");
    drop(listening);
    for flags in [0, libc::SA_RESTART, libc::SA_NOCLDSTOP | libc::SA_NOCLDWAIT, libc::SA_ONSTACK] {
        set(kind, previous as *const () as usize, flags);
        let (listening, _) = Listening::begin(kind).unwrap();
        assert_eq!(installed(), flags);
        drop(listening);
        assert_eq!(installed(), flags);
    }
}

#[test]
fn too_many_different_handlers_are_an_error_and_the_last_one_stays() {
    extern "C" fn previous(_: libc::c_int) {}
    let kind = kind(10);
    let previous = previous as *const () as usize;
    let mask = |signal| {
        // SAFETY: a struct of integers, for which zero is a valid value. The call writes the set.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = previous;
            libc::sigaddset(&raw mut action.sa_mask, signal);
            action
        }
    };
    for layer in 0..LAYERS {
        sigaction(kind.as_raw(), Some(&mask(layer as libc::c_int + 1))).unwrap();
        drop(Listening::begin(kind).unwrap());
    }
    sigaction(kind.as_raw(), Some(&mask(libc::SIGWINCH))).unwrap();
    let error = Listening::begin(kind).unwrap_err();
    assert!(error.to_string().contains("8 different handlers were replaced already"), "{error}");
    assert_eq!(sigaction(kind.as_raw(), None).unwrap().sa_sigaction, previous);
    // A handler that has a layer can be replaced again.
    sigaction(kind.as_raw(), Some(&mask(1))).unwrap();
    drop(Listening::begin(kind).unwrap());
}
