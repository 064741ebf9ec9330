//! Large futures and closures move once: to the heap, at the entry of the call that takes them.
//!
//! Each call that passes a value on may copy it to its own frame; debug builds always do. A future
//! of 100 KiB can overflow a stack that way. So each public function that takes a future or a
//! closure checks its size first, and passes a box on.

/// Size above which a future is boxed, so that its cell fits a slab class.
pub(crate) const BOX_ABOVE: usize = 16 * 1024;

/// Whether a value of type `T` is boxed before it moves through several calls.
#[doc(hidden)]
#[must_use]
pub const fn is_large<T>() -> bool {
    size_of::<T>() > BOX_ABOVE
}

/// Evaluates `$run`, in which `$value` is a pinned box if its type `$type` is large.
///
/// A small value is not boxed. Only one of the two branches is compiled for a type.
macro_rules! box_future {
    ($value:ident: $type:ty => $run:expr) => {
        if const { $crate::util::large::is_large::<$type>() } {
            let $value = Box::pin($value);
            $run
        } else {
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
