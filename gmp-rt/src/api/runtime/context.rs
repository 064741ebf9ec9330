//! The current runtime: the one that a call without a handle uses.
//!
//! It is the runtime of the innermost [`Runtime::block_on`](crate::Runtime::block_on) that this
//! thread is in, else that of the goroutine that runs, else the default runtime. The default
//! runtime starts at its first use.

use super::Runtime;
use super::builder::Builder;
use crate::prim::fixed::OnceLock;
use crate::prim::thread_wide;
use crate::sched::Sched;
use crate::sched::guest::in_context;
use crate::sched::local;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

static DEFAULT: OnceLock<Runtime> = OnceLock::new();

thread_wide! {
    /// The runtime of the innermost `block_on` that this thread is in.
    ///
    /// It has no destructor, so the destructors of other thread-locals can use it. Nothing leaks,
    /// because it is `None` again when the outermost `block_on` has returned.
    static ENTERED: ManuallyDrop<RefCell<Option<Arc<Sched>>>> =
        ManuallyDrop::new(RefCell::new(None));
}

/// Returns the scheduler of the current runtime.
pub(crate) fn sched() -> Arc<Sched> {
    local::with_home(|local| local.map(|local| local.sched.clone()))
        .or_else(entered)
        .unwrap_or_else(unending_sched)
}

/// Returns the scheduler of the default runtime, which never ends.
pub(crate) fn unending_sched() -> Arc<Sched> {
    default_runtime().sched().clone()
}

fn entered() -> Option<Arc<Sched>> {
    ENTERED.with(|entered| entered.borrow().clone())
}

/// Runs `f` on this thread as if inside the runtime of `sched`, in the context of its guest.
#[track_caller]
pub(crate) fn enter<R>(sched: &Arc<Sched>, f: impl FnOnce() -> R) -> R {
    /// Restores the runtime of the `block_on` around this one.
    struct LeaveRuntime(Option<Arc<Sched>>);
    impl Drop for LeaveRuntime {
        fn drop(&mut self) {
            ENTERED.with(|entered| entered.replace(self.0.take()));
            count_elsewhere(u32::wrapping_sub);
        }
    }
    sched.assert_not_forked();
    let outer = ENTERED.with(|entered| entered.replace(Some(sched.clone())));
    count_elsewhere(u32::wrapping_add);
    let _leave = LeaveRuntime(outer);
    sched.in_guest(f)
}

/// Makes `sched` the runtime of this external thread, which is in no `block_on`, until
/// [`leave_thread`].
pub(super) fn enter_thread(sched: Arc<Sched>) {
    ENTERED.with(|entered| entered.replace(Some(sched)));
}

/// Ends what [`enter_thread`] began.
pub(super) fn leave_thread() {
    let left = ENTERED.with(|entered| entered.replace(None));
    drop(left);
}

/// Runs `f`, a `block_on` that names no runtime.
///
/// If the calls inside mean the default runtime, and it runs and has a guest, they are in the
/// context of the guest. A context of the same kind that this thread has entered comes first.
pub(super) fn in_default_guest<R>(f: impl FnOnce() -> R) -> R {
    let is_external = local::with(|local| local.is_none());
    let default = DEFAULT.get().filter(|_| is_external && entered().is_none());
    let guest = default.and_then(|runtime| runtime.sched().guest.get());
    in_context(guest.as_deref().filter(|guest| !guest.is_entered()), f)
}

/// Changes by one how many `block_on` calls this worker thread is in. Does nothing on an external
/// thread.
fn count_elsewhere(change: fn(u32, u32) -> u32) {
    local::with(|local| {
        if let Some(local) = local {
            local.elsewhere.set(change(local.elsewhere.get(), 1));
        }
    });
}

/// Returns the default runtime. Starts it at the first call.
///
/// # Panics
///
/// If the runtime cannot be built.
pub(super) fn default_runtime() -> &'static Runtime {
    DEFAULT.get_or_init(|| match Builder::new().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("gmp: cannot start the default runtime: {error}"),
    })
}

/// Makes `runtime` the default runtime. Returns it as the error if there is one already.
pub(crate) fn set_default(runtime: Runtime) -> Result<&'static Runtime, Runtime> {
    DEFAULT.set(runtime)?;
    Ok(default_runtime())
}
