//! Waiting for time to pass.
//!
//! All futures here work on any executor.
//!
//! # Which runtime keeps the time
//!
//! The current runtime of the thread that polls the future: that of the innermost `block_on`, else
//! that of the goroutine, else the default runtime. So the default runtime keeps the time of
//! foreign executors.
//!
//! No deadline is lost when a runtime ends. Its pending timers wake their tasks early, and the next
//! poll of each future sets a new timer. A timer that would be set on a runtime that has ended is
//! set on the default runtime, which never ends. The same holds for the deadlines of contexts and
//! sockets. A runtime that shuts down keeps the time until its last goroutine is dropped, so
//! destructors may wait too.
//!
//! [`after_func()`] is the exception: it starts a goroutine of the runtime on which it was called.
//! So the shutdown of that runtime drops a pending call.

pub use gmp_rt::time::{
    AfterFunc, DelayKey, DelayQueue, Elapsed, Expired, MissedTicks, Sleep, Timeout, TimerWait, tick,
};
#[doc(no_inline)]
pub use gmp_rt::{Ticker, Timer, after, after_func, sleep, sleep_until, timeout, timeout_at};
#[doc(no_inline)]
pub use std::time::{Duration, Instant};
