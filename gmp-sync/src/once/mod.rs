//! What happens once: actions, values that are set once, lazy values.

pub(crate) mod action;
#[expect(unsafe_code, reason = "a value that is set once")]
pub(crate) mod cell;
#[expect(unsafe_code, reason = "implements `WaitList`")]
pub(crate) mod init;
#[expect(unsafe_code, reason = "a place that one at a time may change")]
pub(crate) mod lazy;
