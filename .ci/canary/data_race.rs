//! Two threads write one variable without synchronisation. ThreadSanitizer must report it: the
//! stack of each thread ends in frames of std, as in every other report.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static mut SHARED: u64 = 0;
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

fn write() {
    // The defect.
    unsafe { SHARED += 1 }
    // Both threads live until both have written: ThreadSanitizer forgets the stacks of a thread
    // that has ended. `Relaxed` orders nothing.
    WRITTEN.fetch_add(1, Relaxed);
    while WRITTEN.load(Relaxed) < 2 {
        std::thread::yield_now();
    }
}

fn main() {
    let threads = [std::thread::spawn(write), std::thread::spawn(write)];
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{}", unsafe { *&raw const SHARED });
}
