//! The origin of a goroutine: its spawn site and an optional name.
//!
//! One word holds both: the address of the `Location`, or, with the lowest bit set, the address of
//! a boxed pair. Most goroutines have no name, and these allocate nothing.
//!
//! # Invariants
//!
//! - I1: the word is the address of a `'static` `Location`, or, tagged, of a `Named` leaked from
//!   a box that this `Origin` owns. Both are aligned to 2 or more, so the tag bit is free.

use std::panic::Location;
use std::ptr::NonNull;

/// Spawn site and optional name. See the [module](self).
pub(crate) struct Origin(NonNull<()>);

#[derive(Debug)]
struct Named {
    site: &'static Location<'static>,
    name: Box<str>,
}

const TAG: usize = 1;
const _: () = assert!(align_of::<Location<'static>>() > TAG && align_of::<Named>() > TAG);

enum View<'a> {
    Site(&'static Location<'static>),
    Named(&'a Named),
}

impl Origin {
    /// Makes the origin of an unnamed goroutine.
    #[inline]
    pub(crate) fn site_only(site: &'static Location<'static>) -> Self {
        Self(NonNull::from(site).cast())
    }

    /// Makes the origin of a goroutine with the name `name`.
    pub(crate) fn named(site: &'static Location<'static>, name: Box<str>) -> Self {
        let named = NonNull::from(Box::leak(Box::new(Named { site, name })));
        Self(named.cast::<()>().map_addr(|addr| addr | TAG))
    }

    fn view(&self) -> View<'_> {
        if self.0.addr().get() & TAG == 0 {
            // SAFETY: I1 — untagged, so a `'static` location.
            View::Site(unsafe { self.0.cast::<Location<'static>>().as_ref() })
        } else {
            // SAFETY: I1 — tagged, so the box of this `Origin`, alive as long as `self`.
            View::Named(unsafe { self.boxed().as_ref() })
        }
    }

    /// Returns the box behind a tagged word.
    fn boxed(&self) -> NonNull<Named> {
        let Some(addr) = std::num::NonZero::new(self.0.addr().get() & !TAG) else {
            unreachable!("I1: a box is not at address 0")
        };
        self.0.with_addr(addr).cast()
    }

    /// Returns the place in the source that spawned the goroutine.
    pub(crate) fn site(&self) -> &'static Location<'static> {
        match self.view() {
            View::Site(site) => site,
            View::Named(named) => named.site,
        }
    }

    /// Returns the goroutine's name, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.view() {
            View::Site(_) => None,
            View::Named(named) => Some(&named.name),
        }
    }
}

impl Drop for Origin {
    #[inline]
    fn drop(&mut self) {
        if self.0.addr().get() & TAG != 0 {
            // SAFETY: I1 — tagged, so the box of this `Origin`, dropped once.
            drop(unsafe { Box::from_raw(self.boxed().as_ptr()) });
        }
    }
}

// SAFETY: I1 — a shared location or an owned box of plain data. With an `Rc` in it this would be
// unsound.
unsafe impl Send for Origin {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Origin {}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin").field("site", self.site()).field("name", &self.name()).finish()
    }
}
