//! Catches panics of user code inside the runtime.
//!
//! The runtime wakes, drops and calls values of the program: foreign wakers, panic payloads, hooks.
//! A panic in one of them must not unwind through the scheduler or through another goroutine. The
//! panic hook reports the panic before it is caught here.

use super::debug_assert_no_lock_held;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`, which calls user code. Catches a panic of `f`.
pub fn contain(f: impl FnOnce()) {
    // Outside of the `catch_unwind`, which would catch its panic.
    debug_assert_no_lock_held("runs user code");
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        drop_payload(payload);
    }
}

/// Drops the payload of a panic that was caught. Catches a panic of its destructor.
///
/// It leaks the payload of that second panic, as std does, because its destructor could panic too.
#[cold]
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

#[cfg(test)]
mod tests {
    use super::contain;

    /// Panics when it is dropped, if `.0` is not 0. The payload is the same with `.0` reduced by
    /// one.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Self(self.0 - 1));
            }
        }
    }

    #[test]
    fn a_payload_whose_drop_panics_is_contained() {
        for depth in 0..4 {
            contain(|| std::panic::panic_any(Bomb(depth)));
        }
    }
}
