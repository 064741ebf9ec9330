//! Large futures and closures move once: to the heap, at the entry of the call that takes them.
//!
//! Each call that passes a value on may copy it to its own frame; debug builds always do. A future
//! of 100 KiB can overflow a stack that way. So each public function that takes a future or a
//! closure checks its size first, and passes a box on.
//!
//! # Invariants
//!
//! - I1: if `F` and `F::IntoFuture` differ in lifetimes at most, they are one type. `F::IntoFuture`
//!   is a future, so std implements `IntoFuture` for it, as itself. An implementation of another
//!   crate for the same type with other lifetimes would overlap with that one.

use std::pin::Pin;

/// Size above which a future is boxed, so that its cell fits a slab class.
pub(crate) const BOX_ABOVE: usize = 16 * 1024;

/// Whether a value of type `T` is boxed before it moves through several calls.
#[doc(hidden)]
#[must_use]
pub const fn is_large<T>() -> bool {
    size_of::<T>() > BOX_ABOVE
}

/// Converts what becomes a future. A future itself stays in its box, without a copy.
#[doc(hidden)]
#[must_use]
pub fn boxed_future<F: IntoFuture>(from: Box<F>) -> Pin<Box<F::IntoFuture>> {
    // In a function of its own: a debug build keeps room for the copies in its frame.
    #[inline(never)]
    #[expect(clippy::boxed_local, reason = "the caller's frame has no room for the value")]
    fn convert<F: IntoFuture>(from: Box<F>) -> Pin<Box<F::IntoFuture>> {
        Box::pin((*from).into_future())
    }
    if typeid::of::<F>() != typeid::of::<F::IntoFuture>() {
        return convert(from);
    }
    let future = Box::into_raw(from).cast::<F::IntoFuture>();
    // SAFETY: I1 — the types are the same, and the pointer is from a box.
    Box::into_pin(unsafe { Box::from_raw(future) })
}

/// Evaluates `$run`, in which `$value` is the future that `$value`, of the type `$type`, converts
/// into. The future is in a pinned box if it is large.
///
/// A small future is not boxed. Only one of the two branches is compiled for a type.
macro_rules! box_future {
    ($value:ident: $type:ty => $run:expr) => {
        if const { $crate::util::large::is_large::<<$type as IntoFuture>::IntoFuture>() } {
            let $value = $crate::util::large::boxed_future(Box::new($value));
            $run
        } else {
            let $value = $value.into_future();
            $run
        }
    };
}

/// `box_future!` for a closure.
macro_rules! box_closure {
    ($value:ident: $type:ty => $run:expr) => {
        if const { $crate::util::large::is_large::<$type>() } {
            let $value = Box::new($value);
            $run
        } else {
            $run
        }
    };
}

pub(crate) use {box_closure, box_future};

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;
    use std::future::{Ready, ready};

    /// Becomes a future of another type.
    struct Request<'a>(&'a [u8; 64]);

    impl<'a> IntoFuture for Request<'a> {
        type Output = [u8; 64];
        type IntoFuture = Ready<[u8; 64]>;

        fn into_future(self) -> Ready<[u8; 64]> {
            ready(*self.0)
        }
    }

    #[test]
    fn a_future_stays_where_it_is_and_anything_else_is_converted() {
        let bytes = [7; 64];
        let text = &String::from("borrowed");
        let future = Box::new(async move { (text.len(), bytes) });
        let place = (&raw const *future).cast::<()>();
        let future = boxed_future(future);
        assert_eq!((&raw const *future).cast::<()>(), place);
        assert_eq!(crate::block_on(future), (8, bytes));
        assert_eq!(crate::block_on(boxed_future(Box::new(Request(&bytes)))), bytes);
    }
}
