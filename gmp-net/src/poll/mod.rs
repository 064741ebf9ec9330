//! The netpoller: the state of each descriptor, and its interface to the scheduler.

pub(crate) mod cache;
pub(crate) mod desc;
pub(crate) mod poller;
