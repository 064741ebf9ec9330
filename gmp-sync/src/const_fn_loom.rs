//! In the models constructors are not `const`: loom's types have none.

/// Declares functions that are `const` elsewhere.
macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis const fn $name:ident ($($args:tt)*) -> $result:ty $body:block)*) => {
        $($(#[$meta])* $vis fn $name($($args)*) -> $result $body)*
    };
}
pub(crate) use const_fn;
