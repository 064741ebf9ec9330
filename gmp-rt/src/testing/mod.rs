//! Support for tests and micro-benchmarks: goroutines that never run, and a scheduler without
//! threads.

#[cfg(feature = "dev-hooks")]
#[expect(unsafe_code, reason = "access to the owner's side of a queue")]
pub mod dev_hooks;
#[expect(unsafe_code, reason = "goroutines that are made by hand")]
#[cfg_attr(gmp_loom, allow(dead_code, reason = "some models use it"))]
pub(crate) mod fake;
#[cfg(any(feature = "dev-hooks", all(test, not(gmp_loom))))]
pub(crate) mod goroutine;
#[cfg(test)]
#[expect(unsafe_code, reason = "tests and models use an owner on one thread")]
pub(crate) mod owner;
#[cfg(feature = "dev-hooks")]
pub(crate) mod probe;
