//! Copying in the kernel, where the kernel has no calls for it: it never can.

use super::tally::Tally;
use std::io;
use std::task::{Context, Poll};

/// How a copy in the kernel ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// At the end of the reader.
    #[expect(dead_code, reason = "for kernels that can")]
    AtEnd,
    /// These two cannot be joined in the kernel; these bytes were read and not written.
    Cannot(Vec<u8>),
}

/// A copy that never begins.
#[derive(Debug, Default)]
pub(super) struct Direct;

impl Direct {
    #[expect(clippy::unused_self, reason = "the same call on all systems")]
    pub(super) fn poll<R: ?Sized, W: ?Sized>(
        &mut self,
        _: &R,
        _: &W,
        _: &mut Context<'_>,
        _: &mut Tally,
    ) -> Poll<io::Result<Outcome>> {
        Poll::Ready(Ok(Outcome::Cannot(Vec::new())))
    }
}
