//! The try of a receive case on its own, before its select waits.

use super::case::Attempt;
use crate::chan::RecvError;
use crate::chan::core::Take;
use crate::chan::lock::Locked;
use crate::wait::queue::Fired;
use crate::wait::wakers::Wakers;

/// What a try has found.
#[derive(PartialEq, Eq)]
enum TakenAlone {
    /// A value, or the end of the channel.
    End,
    /// A sender in another select, which was summoned.
    Sender,
    Nothing,
}

/// Tries to receive from a channel that is locked, and unlocks it, except after
/// [`Attempt::Promised`].
///
/// On a busy channel a sender waits, so this path is a usual one. It wakes the sender itself. A
/// waker in the result would go through memory.
#[inline(always)]
pub(super) fn take_alone<T>(
    locked: Locked<'_, T>,
    output: &mut Option<Result<T, RecvError>>,
) -> Attempt {
    let chan = locked.keep();
    let (mut value, mut fired) = (None, Fired::NONE);
    // SAFETY: still locked.
    let found = unsafe {
        chan.locked(|core| match core.take() {
            Take::Value(taken, woken) => {
                (value, fired) = (Some(taken), woken);
                TakenAlone::End
            }
            Take::Closed => TakenAlone::End,
            // Even with a default: a waiting sender makes this case possible.
            Take::Summoned(woken) => {
                fired = woken;
                TakenAlone::Sender
            }
            Take::Empty => TakenAlone::Nothing,
        })
    };
    if found == TakenAlone::Sender {
        return Attempt::Promised(fired.into());
    }
    // SAFETY: still locked.
    let rung = unsafe { chan.unlock() };
    fired.wake();
    rung.wake_all();
    if found == TakenAlone::Nothing {
        return Attempt::No(Wakers::None);
    }
    *output = Some(value.ok_or(RecvError));
    Attempt::Done(Wakers::None)
}
