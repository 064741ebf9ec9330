//! Helpers for all layers above: the clock, counters, random numbers, prefetching and boxing of
//! large values.

pub(crate) mod clock;
pub(crate) mod duration_tally;
#[expect(unsafe_code, reason = "a box of a future, I1 of the module")]
pub(crate) mod large;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "an instruction of the CPU")]
#[path = "prefetch_x86.rs"]
pub(crate) mod prefetch;
#[cfg(not(target_arch = "x86_64"))]
#[path = "prefetch_none.rs"]
pub(crate) mod prefetch;
pub(crate) mod rand;
pub(crate) mod tally;
