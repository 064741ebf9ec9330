//! Waiting for time to pass.
//!
//! All futures here work on any executor: outside of a goroutine the default runtime keeps their
//! time.

mod after_func;
mod alarm;
mod sleep;
mod ticker;
mod timeout;
mod timer;

pub use self::after_func::{AfterFunc, after_func};
#[doc(hidden)]
pub use self::alarm::Alarm;
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::ticker::Ticker;
pub use self::timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use self::timer::Timer;
