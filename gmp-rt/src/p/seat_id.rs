//! The place of a thread in the table of threads that can be paused.

/// A place in the table of [`crate::sched::pause`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeatId(pub(super) u32);

impl SeatId {
    /// No place: the thread cannot be paused.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Returns the id of the place `at`.
    #[cfg_attr(gmp_loom, expect(dead_code, reason = "no thread of a model is paused"))]
    pub(crate) fn new(at: usize) -> Self {
        u32::try_from(at).map_or(Self::NONE, Self)
    }

    /// Returns the place.
    #[cfg_attr(gmp_loom, expect(dead_code, reason = "no thread of a model is paused"))]
    pub(crate) fn place(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}
