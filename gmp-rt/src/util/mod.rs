//! Small things every layer above uses.

pub(crate) mod clock;
pub(crate) mod rand;
