//! Tests of the stall hook.

use crate::g::Ids;
use crate::prim::debug_assert_no_lock_held;
use crate::sched::Config;
use crate::sched::Sched;

/// A number that no runtime has.
const RUNTIME: u16 = (Ids::MAX_RUNTIMES - 4) as u16;

/// Checks that no lock is held as it is dropped.
struct Checked;

impl Checked {
    fn is_used(&self) {}
}

impl Drop for Checked {
    fn drop(&mut self) {
        debug_assert_no_lock_held("drops a hook");
    }
}

#[test]
fn a_replaced_hook_is_dropped_without_a_lock() {
    let sched = Sched::new(RUNTIME, Config::default());
    for _ in 0..2 {
        let value = Checked;
        sched.stalls.set_hook(move |_| value.is_used());
    }
}
