//! A mutex that ThreadSanitizer sees through.
//!
//! A contended lock of std's `Mutex` is taken inside std, which is not compiled with the sanitizer:
//! every access behind it would be reported as a race.

use std::convert::Infallible;

/// `parking_lot`'s mutex with the interface of std's.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Result<parking_lot::MutexGuard<'_, T>, Infallible> {
        Ok(self.0.lock())
    }

    pub(crate) fn into_inner(self) -> Result<T, Infallible> {
        Ok(self.0.into_inner())
    }
}
