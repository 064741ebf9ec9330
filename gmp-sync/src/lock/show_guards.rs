//! `show_guards!`: guards are shown as their values.

/// Implements `Debug` and `Display` for guards, by those of the values.
macro_rules! show_guards {
    ($([$($generics:tt)*] $value:ident in $guard:ty;)*) => {$(
        impl<$($generics)*> fmt::Debug for $guard
        where
            $value: fmt::Debug,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> fmt::Display for $guard
        where
            $value: fmt::Display,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

pub(crate) use show_guards;
