//! Children that were dropped before their end.
//!
//! An orphan has no goroutine: it is itself the waker of its event. The thread that polls the
//! network wakes it, and it asks for its status there. The netpoller has the only reference to it.
//!
//! The event is lost if the runtime of its netpoller ends. Then a thread waits for the orphan. That
//! is more than an orphan needs, but no other runtime may be running, and such orphans are few.

use super::waited::{WaitedChild, has_ended};
use gmp_rt::prim::fixed::Mutex;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread;

/// What happens with an orphan.
#[derive(Debug)]
enum OrphanState {
    /// It waits for its event.
    Waits(WaitedChild),
    /// A thread asks for its status. `true` if the event has come once more.
    Asks(bool),
    /// It is reaped, or a thread of its own does that.
    Done,
}

/// A child that was dropped. See the [module](self).
#[derive(Debug)]
struct Orphan(Mutex<OrphanState>);

/// Reaps `child` when it ends.
pub(super) fn reap(child: WaitedChild) {
    Arc::new(Orphan(Mutex::new(OrphanState::Waits(child)))).wake();
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        let Some(mut child) = self.begin() else { return };
        let waker = Waker::from(self.clone());
        loop {
            match child.poll_reap(&waker) {
                Poll::Pending => match self.end(child) {
                    Some(again) => child = again,
                    None => return,
                },
                Poll::Ready(Err(error)) if has_ended(&error) => {
                    self.finish();
                    return reap_by_thread(child);
                }
                // An error says that another part of the program has reaped it.
                Poll::Ready(_) => return self.finish(),
            }
        }
    }
}

impl Orphan {
    /// Takes the child, unless another thread has it. That thread then asks again.
    fn begin(&self) -> Option<WaitedChild> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, OrphanState::Asks(false)) {
            OrphanState::Waits(child) => Some(child),
            OrphanState::Asks(_) => {
                *state = OrphanState::Asks(true);
                None
            }
            OrphanState::Done => {
                *state = OrphanState::Done;
                None
            }
        }
    }

    /// Puts the child back. Returns it if its event has come meanwhile.
    fn end(&self, child: WaitedChild) -> Option<WaitedChild> {
        let mut state = self.0.lock();
        if let OrphanState::Asks(true) = *state {
            *state = OrphanState::Asks(false);
            return Some(child);
        }
        *state = OrphanState::Waits(child);
        None
    }

    fn finish(&self) {
        *self.0.lock() = OrphanState::Done;
    }
}

/// Waits for `child` in a thread. If the OS gives no thread, the child stays a zombie until this
/// process ends.
fn reap_by_thread(mut child: WaitedChild) {
    let wait = move || drop(child.wait_blocking());
    let _ = thread::Builder::new().name("gmp-reap".into()).stack_size(64 << 10).spawn(wait);
}
