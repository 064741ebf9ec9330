//! The current runtime: the one that a call without a handle uses.
//!
//! It is the runtime of the innermost [`Runtime::block_on`](crate::Runtime::block_on) or
//! [`Runtime::enter`](crate::Runtime::enter) that this thread is in, else that of the goroutine
//! that runs, else the default runtime. The default runtime starts at its first use.

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
    /// The runtime that this thread is inside of, by a `block_on` or an `enter`.
    ///
    /// It has no destructor, so the destructors of other thread-locals can use it. Nothing leaks,
    /// because there is no runtime again when the outermost `block_on` has returned.
    static ENTERED: ManuallyDrop<RefCell<EnteredRuntime>> =
        ManuallyDrop::new(RefCell::new(EnteredRuntime { sched: None, entry: 0, entries: 0 }));
}

/// The state of [`ENTERED`].
struct EnteredRuntime {
    sched: Option<Arc<Sched>>,
    /// The number of the [`InRuntime`] that set `sched`; 0 outside of all of them.
    entry: u64,
    /// How often the thread has entered a runtime.
    entries: u64,
}

/// Returns the scheduler of the current runtime.
pub(crate) fn sched() -> Arc<Sched> {
    local::with_home(|local| local.map(|local| local.sched.clone()))
        .or_else(entered)
        .unwrap_or_else(unending_sched)
}

/// Returns the scheduler of the current runtime, unless that is a default runtime that has not
/// started.
pub(super) fn try_sched() -> Option<Arc<Sched>> {
    local::with_home(|local| local.map(|local| local.sched.clone()))
        .or_else(entered)
        .or_else(|| DEFAULT.get().map(|runtime| runtime.sched().clone()))
}

/// Returns the scheduler of the default runtime, which never ends.
pub(crate) fn unending_sched() -> Arc<Sched> {
    default_runtime().sched().clone()
}

fn entered() -> Option<Arc<Sched>> {
    ENTERED.with(|entered| entered.borrow().sched.clone())
}

/// Runs `f` on this thread as if inside the runtime of `sched`, in the context of its guest.
#[track_caller]
pub(crate) fn enter<R>(sched: &Arc<Sched>, f: impl FnOnce() -> R) -> R {
    let _inside = InRuntime::enter(sched);
    sched.in_guest(f)
}

/// The thread that made it is inside a runtime until this is dropped. Then the runtime around it is
/// the current one again, also if an [`EnterGuard`](super::EnterGuard) inside was leaked.
pub(super) struct InRuntime {
    outer: Option<Arc<Sched>>,
    outer_entry: u64,
    /// What `elsewhere` of a worker thread was before.
    outer_elsewhere: u32,
    entry: u64,
}

impl InRuntime {
    #[track_caller]
    pub(super) fn enter(sched: &Arc<Sched>) -> Self {
        sched.assert_not_forked();
        let (outer, outer_entry, entry) = ENTERED.with(|entered| {
            let mut entered = entered.borrow_mut();
            entered.entries += 1;
            let entry = entered.entries;
            let outer = entered.sched.replace(sched.clone());
            (outer, std::mem::replace(&mut entered.entry, entry), entry)
        });
        let outer_elsewhere = elsewhere();
        set_elsewhere(outer_elsewhere + 1);
        Self { outer, outer_entry, outer_elsewhere, entry }
    }

    /// Whether it is the innermost one of this thread.
    pub(super) fn is_innermost(&self) -> bool {
        ENTERED.with(|entered| entered.borrow().entry == self.entry)
    }
}

impl Drop for InRuntime {
    fn drop(&mut self) {
        let left = ENTERED.with(|entered| {
            let mut entered = entered.borrow_mut();
            entered.entry = self.outer_entry;
            std::mem::replace(&mut entered.sched, self.outer.take())
        });
        // After the borrow: the last reference may run code of the program.
        drop(left);
        set_elsewhere(self.outer_elsewhere);
    }
}

/// Makes `sched` the runtime of this external thread, which is in no `block_on`, until
/// [`leave_thread`].
pub(super) fn enter_thread(sched: Arc<Sched>) {
    ENTERED.with(|entered| entered.borrow_mut().sched = Some(sched));
}

/// Ends what [`enter_thread`] began.
pub(super) fn leave_thread() {
    let left = ENTERED.with(|entered| entered.borrow_mut().sched.take());
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

/// Returns how many runtimes this worker thread is inside of. 0 on an external thread.
fn elsewhere() -> u32 {
    local::with(|local| local.map_or(0, |local| local.elsewhere.get()))
}

/// Sets what [`elsewhere`] returns. Does nothing on an external thread.
fn set_elsewhere(runtimes: u32) {
    local::with(|local| {
        if let Some(local) = local {
            local.elsewhere.set(runtimes);
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
