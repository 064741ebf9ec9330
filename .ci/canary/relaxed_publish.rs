//! A flag that is stored with `Relaxed` does not publish the data before it. ThreadSanitizer must
//! report the read, which is correct on x86 only by luck.

use std::sync::atomic::{AtomicBool, Ordering};

static mut DATA: u64 = 0;
static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let reader = std::thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        unsafe { *&raw const DATA }
    });
    unsafe { DATA = 7 };
    // The defect: it should be `Release`.
    READY.store(true, Ordering::Relaxed);
    println!("{}", reader.join().unwrap());
}
