//! The values of a context: a chain, the newest first.
//!
//! The chain is separate from the tree of scopes. So a look-up visits only values, however deep the
//! tree is, and [`without_cancel`](super::Context::without_cancel) just omits the scope.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

/// One value and the older ones.
pub(super) struct Values {
    older: Option<Arc<Values>>,
    name: Name,
    value: Box<dyn Any + Send + Sync>,
}

impl Values {
    /// Adds `value` in front of `older`.
    pub(super) fn new<T: Any + Send + Sync>(older: Option<Arc<Self>>, value: T) -> Self {
        Self { older, name: Name(type_name::<T>()), value: Box::new(value) }
    }

    /// Returns the newest value of type `T`.
    pub(super) fn find<T: Any>(&self) -> Option<&T> {
        let wanted = TypeId::of::<T>();
        let mut chain = std::iter::successors(Some(self), |values| values.older.as_deref());
        chain.find(|values| (*values.value).type_id() == wanted)?.value.downcast_ref()
    }
}

impl fmt::Debug for Values {
    /// Shows the types, the newest first. Values need not be `Debug`, and may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = std::iter::successors(Some(self), |values| values.older.as_deref());
        f.debug_list().entries(chain.map(|values| &values.name)).finish()
    }
}

/// The name of a type, shown without quotes.
struct Name(&'static str);

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Drop for Values {
    /// Runs in a loop: recursion would overflow the stack in a long chain.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut values) = next.and_then(Arc::into_inner) {
            next = values.older.take();
        }
    }
}
