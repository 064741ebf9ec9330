//! `Builder`: starts a goroutine with options.

use crate::api::blocking::within_limit;
use crate::api::runtime::Handle;
use crate::api::spawn::spawn_from;
use crate::g::join::JoinHandle;
use crate::g::origin::Origin;
use crate::util::large::{box_closure, box_future};
use std::borrow::Cow;
use std::panic::Location;

/// Starts a goroutine with a name, or on another runtime.
///
/// [`go!`](crate::go) with `name = "…"` is the short form for a name. The goroutine runs on the
/// current runtime if [`on`](Self::on) names no other one. A clone starts another goroutine with
/// the same options.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// use gmp::task;
///
/// let handle = task::Builder::new().name("sleeper").spawn(std::future::pending::<()>());
/// assert!(gmp::runtime::dump().contains("{name: sleeper}"));
/// # handle.abort();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `spawn`"]
#[doc(alias = "spawn_named")]
pub struct Builder {
    name: Option<Cow<'static, str>>,
    /// `None` means the current runtime.
    runtime: Option<Handle>,
}

impl Builder {
    /// Returns a builder without options.
    pub const fn new() -> Self {
        Self { name: None, runtime: None }
    }

    /// Sets the name of the goroutine, which dumps, reports and its
    /// [`JoinError`](crate::JoinError) show.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the runtime that runs the goroutine.
    ///
    /// If that runtime shuts down, [`Handle::spawn`] describes what happens.
    pub fn on(mut self, runtime: &Handle) -> Self {
        self.runtime = Some(runtime.clone());
        self
    }

    /// Starts a goroutine that runs `future`. See [`spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
    {
        let site = Location::caller();
        box_future!(future: F => self.start(future, site))
    }

    /// Starts a goroutine that runs a blocking closure. See
    /// [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// # Examples
    ///
    /// ```
    /// # use gmp_rt as gmp;
    /// let builder = gmp::task::Builder::new().name("adder");
    /// let sum = builder.spawn_blocking(|| (1..=1000u64).sum::<u64>());
    /// assert_eq!(gmp::block_on(sum).unwrap(), 500_500);
    /// ```
    #[track_caller]
    pub fn spawn_blocking<R, F>(self, f: F) -> JoinHandle<R>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let site = Location::caller();
        box_closure!(f: F => self.start(within_limit(f), site))
    }

    fn start<F>(self, future: F, site: &'static Location<'static>) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let origin = match self.name {
            Some(name) => Origin::named(site, name.into_owned().into_boxed_str()),
            None => Origin::site_only(site),
        };
        match self.runtime {
            Some(runtime) => runtime.spawn_from(future, origin),
            None => spawn_from(future, origin),
        }
    }
}
