//! Two threads write to a value in an `Arc`, and its destructor reads what they wrote. The counts
//! of the `Arc` order that, so ThreadSanitizer must report nothing.

use std::cell::UnsafeCell;
use std::sync::{Arc, Weak};

struct Written([UnsafeCell<u64>; 2]);

// SAFETY: each thread writes a field of its own.
unsafe impl Sync for Written {}

impl Drop for Written {
    fn drop(&mut self) {
        let [a, b] = &mut self.0;
        assert_eq!(*a.get_mut() + *b.get_mut(), 2);
    }
}

fn write(value: Arc<Written>, at: usize) -> Weak<Written> {
    // SAFETY: see `Written`.
    unsafe { *value.0[at].get() += 1 };
    Arc::downgrade(&value)
}

fn main() {
    // Often, so that each thread is the last one at some time, also for the memory.
    for _ in 0..100 {
        let value = Arc::new(Written([const { UnsafeCell::new(0) }; 2]));
        let threads = [0, 1].map(|at| {
            let value = value.clone();
            std::thread::spawn(move || drop(write(value, at)))
        });
        drop(value);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
