//! `AfterDone`: a call to be made when a context has ended.

use super::scope::{Call, Scope};
use gmp_rt::prim::Mutex;
use std::fmt;
use std::sync::Arc;

/// A call of [`Context::after_func`](super::Context::after_func) that may be pending. Dropping
/// it does not stop the call.
pub struct AfterDone {
    scope: Arc<Scope>,
    /// Where the scope has the call. `None` if it was made at once, or stopped: the place may be
    /// another call's by then.
    key: Mutex<Option<usize>>,
}

impl AfterDone {
    /// Lets `call` be made when `scope` ends; now if it has.
    pub(super) fn new(scope: Arc<Scope>, call: Call) -> Self {
        let key = match scope.add_call(call) {
            Ok(key) => Some(key),
            Err(call) => {
                call();
                None
            }
        };
        Self { scope, key: Mutex::new(key) }
    }

    /// Keeps the call from being made. `false` if its goroutine was started already, or it was
    /// stopped before. Does not wait for a call that is being made.
    pub fn stop(&self) -> bool {
        let key = self.key.lock().take();
        key.is_some_and(|key| self.scope.remove_call(key).is_some())
    }
}

impl fmt::Debug for AfterDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterDone").field("err", &self.scope.err()).finish_non_exhaustive()
    }
}
