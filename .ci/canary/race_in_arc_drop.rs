//! The destructors of two values, each in an `Arc` of its own, write one variable without
//! synchronisation. ThreadSanitizer must report it: a line for the drop of an `Arc` would suppress
//! it, and all races of destructors with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static mut SHARED: u64 = 0;
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

struct WritesShared;

impl Drop for WritesShared {
    fn drop(&mut self) {
        // The defect.
        unsafe { SHARED += 1 }
        // Both threads live until both have written: ThreadSanitizer forgets the stacks of a thread
        // that has ended. `Relaxed` orders nothing.
        WRITTEN.fetch_add(1, Relaxed);
        while WRITTEN.load(Relaxed) < 2 {
            std::thread::yield_now();
        }
    }
}

fn main() {
    let threads = [(), ()].map(|()| std::thread::spawn(|| drop(Arc::new(WritesShared))));
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{}", unsafe { *&raw const SHARED });
}
