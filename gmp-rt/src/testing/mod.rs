//! Support for tests and micro-benchmarks: goroutines that never run, and a scheduler without
//! threads.

#[cfg(feature = "dev-hooks")]
#[expect(unsafe_code, reason = "fake goroutines for queues that never look behind them")]
pub mod dev_hooks;
#[cfg(test)]
#[expect(unsafe_code, reason = "tests and models make owners and goroutines by hand")]
pub(crate) mod fake;
#[cfg(feature = "dev-hooks")]
pub(crate) mod probe;
