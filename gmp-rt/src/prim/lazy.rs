//! A value that is made at the first access. `once_lock.rs` explains why it is not std's.

use super::once_lock::OnceLock;
use std::fmt;
use std::ops::Deref;

/// A value that is made at the first access.
pub struct Lazy<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Lazy<T> {
    /// Creates a value that `make` returns at the first access.
    pub const fn new(make: fn() -> T) -> Self {
        Self { value: OnceLock::new(), make }
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.get_or_init(self.make)
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lazy").field(&self.value).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Lazy;
    use crate::prim::fixed::Mutex;

    #[test]
    fn the_first_access_makes_the_value_once() {
        static MADE: Mutex<u32> = Mutex::new(0);
        static VALUE: Lazy<u32> = Lazy::new(|| {
            *MADE.lock() += 1;
            7
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(*VALUE, 7));
            }
        });
        assert_eq!(*MADE.lock(), 1);
    }
}
