//! The error of an `ErrGroup`.

use crate::context::Cause;
use gmp_rt::JoinError;
use gmp_rt::runtime::BuildError;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The first failure in an [`ErrGroup`](super::ErrGroup).
///
/// Its `wait` returns it, and it is the cause of its context's end. Clones share the member's
/// error.
///
/// # Examples
///
/// ```
/// # use gmp_sync as sync;
/// use sync::{ErrGroup, GroupError};
///
/// gmp_rt::block_on(async {
///     let group = ErrGroup::<String>::new();
///     group.go(async { Err("no luck".to_string()) }).await;
///     let error = group.wait().await.unwrap_err();
///     assert!(matches!(&error, GroupError::Member(text) if **text == "no luck"));
///     assert_eq!(error.to_string(), "no luck");
/// });
/// ```
#[non_exhaustive]
pub enum GroupError<E> {
    /// A member returned an error.
    Member(Arc<E>),
    /// A member panicked, with this text.
    Panic(Arc<str>),
    /// A member was dropped before it was done, because its runtime shut down.
    Cancelled,
}

impl<E> GroupError<E> {
    /// Returns the error of the member, if it is one.
    #[must_use]
    pub fn member(&self) -> Option<&E> {
        match self {
            Self::Member(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of the member by value.
    ///
    /// # Errors
    ///
    /// This error itself, if clones of it exist or it is no member's. The group keeps a clone of
    /// its first error, and its context keeps one as the cause: drop them first.
    ///
    /// # Examples
    ///
    /// ```
    /// # mod gmp { pub use gmp_rt::block_on; pub mod sync { pub use gmp_sync::ErrGroup; } }
    /// use gmp::sync::ErrGroup;
    ///
    /// gmp::block_on(async {
    ///     let group = ErrGroup::<String>::new();
    ///     group.go(async { Err("no luck".to_string()) });
    ///     let error = group.wait().await.unwrap_err();
    ///     drop(group);
    ///     assert_eq!(error.into_member().unwrap(), "no luck");
    /// });
    /// ```
    pub fn into_member(self) -> Result<E, Self> {
        match self {
            Self::Member(error) => Arc::try_unwrap(error).map_err(Self::Member),
            other => Err(other),
        }
    }

    /// Whether a member panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self, Self::Panic(_))
    }
}

impl<E> Clone for GroupError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Member(error) => Self::Member(error.clone()),
            Self::Panic(text) => Self::Panic(text.clone()),
            Self::Cancelled => Self::Cancelled,
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for GroupError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(error) => f.debug_tuple("Member").field(error).finish(),
            Self::Panic(text) => f.debug_tuple("Panic").field(text).finish(),
            Self::Cancelled => f.write_str("Cancelled"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for GroupError<E> {
    /// Shows the member's own text without additions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(error) => error.fmt(f),
            Self::Panic(text) => write!(f, "a member of the group panicked: {text}"),
            Self::Cancelled => f.write_str("a member of the group was cancelled"),
        }
    }
}

/// For any error that can be displayed, also for boxed errors and strings, which are not `Error`.
impl<E: fmt::Debug + fmt::Display + 'static> Error for GroupError<E> {
    /// Returns the source of the member's error, because the text is already that of the member's
    /// error. Known are the sources of `io::Error`, of boxed and shared errors, and of the errors
    /// of gmp.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let member: &dyn Any = self.member()?;
        source_of::<io::Error>(member)
            .or_else(|| member.downcast_ref::<Box<dyn Error + Send + Sync>>()?.source())
            .or_else(|| member.downcast_ref::<Cause>()?.source())
            .or_else(|| source_of::<JoinError>(member))
            .or_else(|| source_of::<BuildError>(member))
            .or_else(|| source_of::<GroupError<io::Error>>(member))
            .or_else(|| source_of::<GroupError<Box<dyn Error + Send + Sync>>>(member))
    }
}

fn source_of<T: Error + 'static>(error: &dyn Any) -> Option<&(dyn Error + 'static)> {
    error.downcast_ref::<T>()?.source()
}

impl From<GroupError<io::Error>> for io::Error {
    /// Returns the error of the member, or, if clones of it exist, an error of the same kind with
    /// the same text. A panic or a cancellation becomes an error of the kind
    /// [`Other`](io::ErrorKind::Other).
    fn from(error: GroupError<io::Error>) -> Self {
        error.into_member().unwrap_or_else(|shared| {
            let kind = shared.member().map_or(io::ErrorKind::Other, io::Error::kind);
            Self::new(kind, shared)
        })
    }
}

#[cfg(all(test, not(gmp_loom)))]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(fmt::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    /// Returns the texts of an error and of its sources.
    fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
        std::iter::successors(Some(error), |error| (*error).source())
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn the_sources_of_a_member_follow_its_text() {
        let expected = ["outer".to_owned(), fmt::Error.to_string()];
        let io = GroupError::Member(Arc::new(io::Error::other(Outer(fmt::Error))));
        assert_eq!(chain(&io), expected);
        let boxed: Box<dyn Error + Send + Sync> = Box::new(Outer(fmt::Error));
        assert_eq!(chain(&GroupError::Member(Arc::new(boxed))), expected);
        let shared: Cause = Arc::new(Outer(fmt::Error));
        assert_eq!(chain(&GroupError::Member(Arc::new(shared))), expected);
        let inner = GroupError::Member(Arc::new(io::Error::other(Outer(fmt::Error))));
        assert_eq!(chain(&GroupError::Member(Arc::new(inner))), expected);
        let text = GroupError::Member(Arc::new("no luck".to_owned()));
        assert_eq!(chain(&text), ["no luck"]);
        assert_eq!(chain(&GroupError::<String>::Cancelled).len(), 1);
    }
}
