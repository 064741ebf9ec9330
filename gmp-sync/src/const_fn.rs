//! Constructors that are `const`, so that primitives can be statics.

/// Declares `const fn`s.
macro_rules! const_fn {
    ($($functions:tt)*) => { $($functions)* };
}
pub(crate) use const_fn;
