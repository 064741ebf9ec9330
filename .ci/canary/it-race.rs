//! Two threads of a test write one variable without synchronisation. ThreadSanitizer must report
//! it, although the accesses of libtest's main thread are ignored.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static mut SHARED: u64 = 0;
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

fn write() {
    // The defect.
    unsafe { SHARED += 1 }
    WRITTEN.fetch_add(1, Relaxed);
    while WRITTEN.load(Relaxed) < 2 {
        std::thread::yield_now();
    }
}

#[test]
fn race() {
    let other = std::thread::spawn(write);
    write();
    other.join().unwrap();
}
