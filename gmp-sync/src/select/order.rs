//! Orders in which the cases of a select are looked at and locked.

use gmp_rt::park::random_below;

/// So many cases need no allocation.
const INLINE: usize = 8;

/// Indices of cases, in some order.
#[derive(Debug, Default)]
pub(super) struct Order {
    inline: [u32; INLINE],
    len: usize,
    /// All of them, if they are too many to lie inline.
    heap: Vec<u32>,
}

impl Order {
    pub(super) fn push(&mut self, index: u32) {
        if self.len < INLINE {
            self.inline[self.len] = index;
        } else {
            if self.heap.is_empty() {
                self.heap.extend_from_slice(&self.inline);
            }
            self.heap.push(index);
        }
        self.len += 1;
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        if self.heap.is_empty() { &self.inline[..self.len] } else { &self.heap }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u32] {
        if self.heap.is_empty() { &mut self.inline[..self.len] } else { &mut self.heap }
    }

    /// All indices below `len`, each permutation as likely as the others.
    pub(super) fn random(len: usize) -> Self {
        let mut order = if len <= INLINE {
            Self { inline: std::array::from_fn(|n| n as u32), len, heap: Vec::new() }
        } else {
            Self { inline: [0; INLINE], len, heap: (0..len as u32).collect() }
        };
        let indices = order.as_mut_slice();
        for last in (1..indices.len()).rev() {
            let other = random_below(last as u32 + 1) as usize;
            (indices[last], indices[other]) = (indices[other], indices[last]);
        }
        order
    }
}
