//! The reaction to a broken invariant: a report with all data for its analysis, and the end of the
//! process.

use crate::world::{World, world};
use parking_lot::Mutex;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Text of every panic that is part of an operation.
pub(crate) const EXPECTED: &str = "soak: expected panic";

static REPORTING: AtomicBool = AtomicBool::new(false);

/// Reports a violation and ends the process with status 1.
#[track_caller]
pub(crate) fn violation(what: impl std::fmt::Display) -> ! {
    if REPORTING.swap(true, Relaxed) {
        // Another thread reports the first violation and ends the process.
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
    let caller = std::panic::Location::caller();
    print(&format!("\nVIOLATION at {caller}: {what}\n"));
    if let Some(world) = world() {
        report(world);
    }
    std::process::exit(1);
}

/// [`violation`] for places that need a function of this type.
pub(crate) fn fault(what: String) {
    violation(what);
}

/// Panics as a part of an operation.
pub(crate) fn expected_panic() -> ! {
    panic!("{EXPECTED}");
}

/// Turns unexpected panics into violations and suppresses the messages of expected ones.
pub(crate) fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains(EXPECTED) {
            default(info);
            violation(format!("unexpected {info}"));
        }
    }));
}

fn report(world: &World) {
    print(&format!("seed {}\noptions {:?}\n", world.options.seed, world.options));
    print(&format!("trace, newest first:\n{}", world.traces.tail()));
    print(&world.lateness.to_string());
    // A dump takes locks of a runtime, which may be the broken one. It runs on its own thread, so
    // that the process ends in any case.
    let dumps = std::thread::spawn(|| {
        for (name, dump) in crate::world::dumps() {
            print(&format!("--- goroutines of runtime {name}\n{dump}\n"));
        }
    });
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while !dumps.is_finished() && std::time::Instant::now() < limit {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    if !dumps.is_finished() {
        print("--- the dump did not end within 5 s\n");
    }
}

/// Prints to stdout. A closed stdout is no reason to panic.
pub(crate) fn print(text: &str) {
    // ThreadSanitizer does not see into the lock of stdout.
    static PRINTING: Mutex<()> = Mutex::new(());
    let _printing = PRINTING.lock();
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
