//! Known defects of gmp, and the operations that are left out because of them.
//!
//! Each row is one point of an issue. Delete the row when the point is fixed.

/// A row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Issue and point.
    pub(crate) point: &'static str,
    pub(crate) reason: &'static str,
    /// Operations of the table that are left out.
    pub(crate) left_out: &'static [&'static str],
}

/// The table.
pub(crate) const KNOWN: &[Known] = &[];

/// Operations that a sanitizer does not support, with the reason.
pub(crate) const UNDER_SANITIZER: &[(&str, &str)] = &[
    ("signals", "ThreadSanitizer holds a signal back while its thread sleeps in a bare futex call"),
    ("edge_payload_bomb", "the payload of a second panic is leaked, as std does"),
];

/// Whether an operation is left out because of a known defect.
pub(crate) fn is_left_out(name: &str) -> bool {
    KNOWN.iter().any(|known| known.left_out.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TABLE;

    #[test]
    fn every_row_leaves_out_something_that_exists() {
        for known in KNOWN {
            for name in known.left_out {
                assert!(TABLE.iter().any(|op| op.name == *name), "{}: {name}", known.point);
            }
        }
        for (name, _) in UNDER_SANITIZER {
            assert!(TABLE.iter().any(|op| op.name == *name), "{name}");
        }
    }
}
