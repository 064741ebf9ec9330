//! Values of a task: the keys of `task_local!`.
//!
//! A key is a thread-local pointer to its current value. The value is part of the future that runs
//! in its scope. So a goroutine may go from thread to thread, and nothing is moved or allocated.
//!
//! # Invariants
//!
//! - L1: the pointer of a key is null, or it points to a value that is borrowed until the pointer
//!   is restored to what it was before. Only `LocalKey::set` changes it.

use pin_project_lite::pin_project;
use std::any::type_name;
use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};
use std::thread;

/// The pointer of a key on one thread.
#[derive(Debug)]
pub struct KeyPointer<T>(Cell<*const T>);

impl<T> KeyPointer<T> {
    /// Creates the pointer of a thread.
    pub const fn empty() -> Self {
        Self(Cell::new(ptr::null()))
    }
}

/// A key of [`task_local!`](crate::task_local!).
///
/// Its value is set inside of [`scope`](Self::scope): while the future is polled, and while it is
/// dropped. Outside there is no value. Scopes of one key may be nested. Then the innermost value
/// counts.
///
/// A goroutine that is spawned inside of a scope is not in it. [`carry`](Self::carry) passes the
/// value on.
///
/// # Cost
///
/// Each poll of a scope stores and restores a thread-local pointer. Reading the value is a load of
/// that pointer.
///
/// # Examples
///
/// ```
/// # use gmp_rt as gmp;
/// gmp::task_local! { static NAME: String; }
///
/// gmp::block_on(async {
///     let greeting = NAME.scope("Gopher".into(), async {
///         gmp::yield_now().await;
///         NAME.with(|name| format!("hello, {name}"))
///     });
///     assert_eq!(greeting.await, "hello, Gopher");
///     assert_eq!(NAME.try_get(), None);
/// });
/// ```
pub struct LocalKey<T: 'static> {
    current: thread::LocalKey<KeyPointer<T>>,
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

impl<T: 'static> LocalKey<T> {
    /// Creates a key. For [`task_local!`](crate::task_local!).
    #[doc(hidden)]
    pub const fn __new(current: thread::LocalKey<KeyPointer<T>>) -> Self {
        Self { current }
    }

    /// Runs a future with a value.
    ///
    /// The value is set while the future is polled and while it is dropped. It is dropped after the
    /// future.
    ///
    /// # Cancel safety
    ///
    /// As the future.
    pub fn scope<F: IntoFuture>(
        &'static self,
        value: T,
        future: F,
    ) -> TaskLocalFuture<T, F::IntoFuture> {
        TaskLocalFuture { key: self, value: Some(value), future: Some(future.into_future()) }
    }

    /// Calls a function with a value.
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        self.set(&value, f)
    }

    /// Calls a function with a reference to the value.
    ///
    /// # Panics
    ///
    /// If it is called outside of a scope.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(|value| match value {
            Some(value) => f(value),
            None => no_value::<T>(),
        })
    }

    /// Calls a function with a reference to the value, or with `None` outside of a scope.
    #[track_caller]
    pub fn try_with<R>(&'static self, f: impl FnOnce(Option<&T>) -> R) -> R {
        let current = self.current.with(|pointer| pointer.0.get());
        // SAFETY: L1 — the value is borrowed until `set` returns, and this call is inside of it.
        f(unsafe { current.as_ref() })
    }

    /// Returns a clone of the value.
    ///
    /// # Panics
    ///
    /// If it is called outside of a scope.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Returns a clone of the value, or `None` outside of a scope.
    pub fn try_get(&'static self) -> Option<T>
    where
        T: Clone,
    {
        self.try_with(|value| value.cloned())
    }

    /// Wraps a future with the value of the caller, if there is one: to pass it to a goroutine.
    ///
    /// The value is cloned now. Outside of a scope the future is not changed.
    ///
    /// # Cancel safety
    ///
    /// As the future.
    pub fn carry<F: IntoFuture>(&'static self, future: F) -> TaskLocalFuture<T, F::IntoFuture>
    where
        T: Clone,
    {
        TaskLocalFuture { key: self, value: self.try_get(), future: Some(future.into_future()) }
    }

    /// Calls `f` while the pointer of this thread points to `value`.
    fn set<R>(&'static self, value: &T, f: impl FnOnce() -> R) -> R {
        /// Restores the pointer, also after a panic.
        struct RestoreValue<T: 'static> {
            key: &'static LocalKey<T>,
            previous: *const T,
        }
        impl<T> Drop for RestoreValue<T> {
            fn drop(&mut self) {
                self.key.current.with(|pointer| pointer.0.set(self.previous));
            }
        }
        let previous = self.current.with(|pointer| pointer.0.replace(ptr::from_ref(value)));
        let _restore = RestoreValue { key: self, previous };
        f()
    }
}

#[cold]
#[track_caller]
fn no_value<T>() -> ! {
    panic!(
        "a task-local value of type `{}` is read outside of its scope; set it with \
         `KEY.scope(value, future)`",
        type_name::<T>()
    )
}

pin_project! {
    /// The future of [`LocalKey::scope`] and [`LocalKey::carry`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskLocalFuture<T: 'static, F> {
        key: &'static LocalKey<T>,
        // `None` if the caller of `carry` had none.
        value: Option<T>,
        // `None` after it is done.
        #[pin]
        future: Option<F>,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                in_scope(this.key, this.value.as_ref(), || this.future.set(None));
            }
        }
    }
}

/// Calls `f` with `value`, if there is one.
fn in_scope<T, R>(key: &'static LocalKey<T>, value: Option<&T>, f: impl FnOnce() -> R) -> R {
    match value {
        Some(value) => key.set(value, f),
        None => f(),
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocalFuture").field("is_done", &self.future.is_none()).finish()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        in_scope(this.key, this.value.as_ref(), || {
            let Some(future) = this.future.as_mut().as_pin_mut() else {
                panic!("a `TaskLocalFuture` is polled after it was ready");
            };
            let output = ready!(future.poll(cx));
            // Inside of the scope, as any drop of the future.
            this.future.set(None);
            Poll::Ready(output)
        })
    }
}
