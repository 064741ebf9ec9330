//! Stub of the copy in the kernel, for kernels without calls for it: it always refuses.

use super::tally::Tally;
use std::io;
use std::task::{Context, Poll};

/// The result of a copy in the kernel.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The reader is at its end.
    #[expect(dead_code, reason = "for kernels that can")]
    AtEnd,
    /// The kernel cannot copy between these two. The bytes were read and not written.
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
