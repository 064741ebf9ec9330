//! The values of a context: a chain, the newest first.
//!
//! Apart from the tree of scopes, so that a look-up passes values only, however deep the tree is,
//! and [`without_cancel`](super::Context::without_cancel) is to leave the scope out.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

/// One value and those before it.
pub(super) struct Values {
    older: Option<Arc<Values>>,
    name: Name,
    value: Box<dyn Any + Send + Sync>,
}

impl Values {
    /// `value` in front of `older`.
    pub(super) fn new<T: Any + Send + Sync>(older: Option<Arc<Self>>, value: T) -> Self {
        Self { older, name: Name(type_name::<T>()), value: Box::new(value) }
    }

    /// The newest value of type `T`.
    pub(super) fn find<T: Any>(&self) -> Option<&T> {
        let wanted = TypeId::of::<T>();
        let mut chain = std::iter::successors(Some(self), |values| values.older.as_deref());
        chain.find(|values| (*values.value).type_id() == wanted)?.value.downcast_ref()
    }
}

impl fmt::Debug for Values {
    /// The types, the newest first: values need not be `Debug`, and may be secret.
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
    /// In a loop: a long chain would overflow the stack by recursion.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut values) = next.and_then(Arc::into_inner) {
            next = values.older.take();
        }
    }
}
