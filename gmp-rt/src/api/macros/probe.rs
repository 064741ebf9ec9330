//! What the expansion of `go!` uses. Not for programs.
//!
//! The value of a block or of a closure is awaited if it is a future. The macro cannot see types,
//! so it calls `(&Probe(&future)).tag()`. If the output is a future, [`IsNested::tag`] fits without
//! another reference, and is preferred. Otherwise [`IsPlain::tag`] is called.

use crate::api::spawn::{spawn, spawn_from};
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::util::large::{box_future, is_large};
use std::panic::Location;

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

/// Returns the origin of a goroutine that `go!` starts.
#[inline]
#[track_caller]
fn origin(name: Option<String>) -> Origin {
    match name {
        Some(name) => Origin::named(Location::caller(), name.into_boxed_str()),
        None => Origin::site_only(Location::caller()),
    }
}

/// Starts a goroutine with a name that runs `future`.
#[track_caller]
pub fn spawn_named<F>(name: impl Into<String>, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let origin = origin(Some(name.into()));
    box_future!(future: F => spawn_from(future, origin))
}

impl Plain {
    /// Starts a goroutine that runs `future`.
    #[track_caller]
    pub fn spawn<F>(self, name: Option<String>, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let origin = origin(name);
        box_future!(future: F => spawn_from(future, origin))
    }
}

impl Nested {
    /// Starts a goroutine that runs `future`, and then the future that it returns.
    #[track_caller]
    pub fn spawn<F, T>(self, name: Option<String>, future: F) -> JoinHandle<T>
    where
        F: Future<Output: Future<Output = T>> + Send + 'static,
        F::Output: Send,
        T: Send + 'static,
    {
        let origin = origin(name);
        // The future holds both. With a large inner one it is large, and not named.
        if const { is_large::<F::Output>() } {
            return spawn_from(Box::pin(async move { future.await.await }), origin);
        }
        box_future!(future: F => spawn_from(async move { future.await.await }, origin))
    }
}

/// What runs as a goroutine.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a future, so it cannot run as a goroutine",
    label = "not a future",
    note = "for a plain function or macro write `go!({{ f(x) }})` or `go!(move || f(x))`"
)]
pub trait Goroutine {
    /// The output.
    type Output;

    /// The type itself.
    type Future: Future<Output = Self::Output>;

    /// Returns the future.
    fn into_goroutine(self) -> Self::Future;
}

#[diagnostic::do_not_recommend]
impl<F: Future> Goroutine for F {
    type Output = F::Output;
    type Future = F;

    #[inline]
    fn into_goroutine(self) -> F {
        self
    }
}

/// Starts a goroutine that runs `future`. For anything else the only compile error is that of
/// [`Goroutine`].
#[track_caller]
pub fn start<F>(future: F) -> JoinHandle<F::Output>
where
    F: Goroutine<Future: Send + 'static, Output: Send + 'static>,
{
    spawn(future.into_goroutine())
}

/// Starts a goroutine with a name, as [`start`] does.
#[track_caller]
pub fn start_named<F>(name: impl Into<String>, future: F) -> JoinHandle<F::Output>
where
    F: Goroutine<Future: Send + 'static, Output: Send + 'static>,
{
    spawn_named(name, future.into_goroutine())
}
