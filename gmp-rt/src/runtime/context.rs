//! Which runtime a call without a handle means.
//!
//! In a goroutine: its own. On a thread inside [`Runtime::block_on`](crate::Runtime::block_on):
//! that one. Anywhere else: the default runtime, which starts at its first use.

use super::Runtime;
use super::builder::Builder;
use crate::sched::Sched;
use crate::sched::current;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

static DEFAULT: OnceLock<Runtime> = OnceLock::new();

thread_local! {
    /// The runtimes whose `block_on` this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<Arc<Sched>>> = const { RefCell::new(Vec::new()) };
}

/// The scheduler a call without a handle means.
pub(crate) fn sched() -> Arc<Sched> {
    current::with_home(|local| local.map(|local| local.sched.clone()))
        .or_else(entered)
        .unwrap_or_else(|| default_runtime().sched().clone())
}

fn entered() -> Option<Arc<Sched>> {
    // A thread that runs its destructors has left everything.
    ENTERED.try_with(|entered| entered.borrow().last().cloned()).ok().flatten()
}

/// Runs `f` on this thread as if inside the runtime of `sched`.
pub(crate) fn enter<R>(sched: &Arc<Sched>, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            ENTERED.with(|entered| entered.borrow_mut().pop());
            count_elsewhere(u32::wrapping_sub);
        }
    }
    ENTERED.with(|entered| entered.borrow_mut().push(sched.clone()));
    count_elsewhere(u32::wrapping_add);
    let _leave = Leave;
    f()
}

/// Tells the M that this thread may be that it is inside another runtime's `block_on`, or back.
fn count_elsewhere(change: fn(u32, u32) -> u32) {
    current::with(|local| {
        if let Some(local) = local {
            local.elsewhere.set(change(local.elsewhere.get(), 1));
        }
    });
}

/// The default runtime; started now if it was not.
///
/// # Panics
///
/// If no thread can be started at all.
pub(super) fn default_runtime() -> &'static Runtime {
    DEFAULT.get_or_init(|| match Builder::new().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("gmp: cannot start the default runtime: {error}"),
    })
}

/// Makes `runtime` the default if there is none yet; else gives it back.
pub(crate) fn set_default(runtime: Runtime) -> Result<&'static Runtime, Runtime> {
    DEFAULT.set(runtime)?;
    Ok(default_runtime())
}
