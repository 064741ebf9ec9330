//! `AfterDone`: a call that is made when a context has ended.

use super::scope::{Scope, ScopeCall};
use gmp_rt::prim::Mutex;
use std::fmt;
use std::sync::Arc;

/// A call of [`Context::after_func`](super::Context::after_func), which may be pending. Dropping it
/// does not stop the call.
pub struct AfterDone {
    scope: Arc<Scope>,
    /// Key of the call in the scope. `None` if the call was made at once or stopped, because the
    /// key may belong to another call then.
    key: Mutex<Option<usize>>,
}

impl AfterDone {
    /// Registers `call` for the end of `scope`, or makes it now if `scope` has ended.
    pub(super) fn new(scope: Arc<Scope>, call: ScopeCall) -> Self {
        let key = match scope.add_call(call) {
            Ok(key) => Some(key),
            Err(call) => {
                call();
                None
            }
        };
        Self { scope, key: Mutex::new(key) }
    }

    /// Prevents the call. Returns `false` if its goroutine was started already, or the call was
    /// stopped before. Does not wait for a running call.
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
