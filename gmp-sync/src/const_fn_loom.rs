//! Constructors in the models. They are not `const`, because loom's constructors are not.

/// Declares functions that are `const` in other builds.
macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis const fn $name:ident ($($args:tt)*) -> $result:ty $body:block)*) => {
        $($(#[$meta])* $vis fn $name($($args)*) -> $result $body)*
    };
}
pub(crate) use const_fn;
