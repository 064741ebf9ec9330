//! What the expansion of `go!` uses. Not for programs.
//!
//! The value of a block or of a closure is awaited if it is a future. The macro cannot see types, so
//! it calls `(&Probe(&future)).tag()`. If the output is a future, [`IsNested::tag`] fits without
//! another reference, and is preferred. Otherwise [`IsPlain::tag`] is called.

/// The future of a block or closure.
#[derive(Debug)]
pub struct Probe<'f, F>(pub &'f F);

/// Says that the output is a future.
#[derive(Debug)]
pub struct Nested;

/// Says that the output is the value of the goroutine.
#[derive(Debug)]
pub struct Plain;

/// Probes for a future whose output is a future.
pub trait IsNested {
    /// Returns the kind of the future.
    fn tag(&self) -> Nested {
        Nested
    }
}

/// Probes for any other future.
pub trait IsPlain {
    /// Returns the kind of the future.
    fn tag(&self) -> Plain {
        Plain
    }
}

impl<F: Future<Output: Future>> IsNested for Probe<'_, F> {}
impl<F> IsPlain for &Probe<'_, F> {}

impl Nested {
    /// Returns a future that awaits the output too.
    pub async fn flatten<F>(self, future: F) -> <F::Output as Future>::Output
    where
        F: Future<Output: Future>,
    {
        future.await.await
    }
}

impl Plain {
    /// Returns `future`.
    pub fn flatten<F>(self, future: F) -> F {
        future
    }
}

/// What runs as a goroutine.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a future, so it cannot run as a goroutine",
    label = "not a future",
    note = "for a plain function or macro write `go!({{ f(x) }})` or `go!(move || f(x))`"
)]
pub trait Goroutine: Future {}

impl<F: Future> Goroutine for F {}

/// Returns `future`. For anything else the compile error is that of [`Goroutine`].
pub fn future<F: Goroutine>(future: F) -> F {
    future
}
