//! The Ps of a trace.
//!
//! The viewer draws a row for every number up to the largest, so the numbers are dense in the
//! process: each right to run of a runtime gets the next one when it is first used. A thread that
//! has no right, but an event that needs a P, takes an *extra* P, the lowest that is free.
//!
//! A P of the trace is a token that its thread holds. So a right whose number changes while its
//! thread runs cannot break a trace: the next thread that wants the token gets an extra P.

use super::fact::Right;
use std::collections::HashMap;

/// A P, as the trace knows it. The thread that uses it holds it; [`Procs`] holds the idle ones.
#[derive(Debug)]
pub(super) struct Proc {
    pub(super) id: u64,
    /// The last generation that has its status, and its last sequence number there.
    pub(super) generation: u64,
    pub(super) seq: u64,
    pub(super) is_extra: bool,
}

impl Proc {
    /// Returns the next sequence number.
    pub(super) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
}

/// The idle Ps.
#[derive(Debug, Default)]
pub(super) struct Procs {
    /// By id; `None` while a thread holds it.
    all: Vec<Option<Proc>>,
    rights: HashMap<Right, usize>,
    extras: Vec<usize>,
}

impl Procs {
    /// Takes the P of `right`, or an extra one if there is no right or its P is in use.
    pub(super) fn take(&mut self, right: Option<Right>) -> Proc {
        if let Some(right) = right {
            let id = match self.rights.get(&right) {
                Some(id) => *id,
                None => {
                    let id = self.make(false);
                    self.rights.insert(right, id);
                    id
                }
            };
            if let Some(proc) = self.all[id].take() {
                return proc;
            }
        }
        if let Some(proc) = self.extras.iter().find_map(|id| self.all[*id].take()) {
            return proc;
        }
        let id = self.make(true);
        self.extras.push(id);
        self.all[id].take().expect("a P that was just made is idle")
    }

    fn make(&mut self, is_extra: bool) -> usize {
        let id = self.all.len();
        self.all.push(Some(Proc { id: id as u64, generation: 0, seq: 0, is_extra }));
        id
    }

    /// Takes a P back.
    pub(super) fn give(&mut self, proc: Proc) {
        let at = proc.id as usize;
        // A P of a trace that has ended is not in the table.
        if let Some(slot) = self.all.get_mut(at) {
            *slot = Some(proc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(number: usize) -> Option<Right> {
        Some(Right { runtime: 1, number })
    }

    #[test]
    fn ids_are_dense_and_extras_are_used_again() {
        let mut procs = Procs::default();
        let (a, b) = (procs.take(right(7)), procs.take(None));
        assert_eq!((a.id, a.is_extra, b.id, b.is_extra), (0, false, 1, true));
        let c = procs.take(right(0));
        procs.give(b);
        assert_eq!((c.id, procs.take(None).id), (2, 1));
        procs.give(a);
        assert_eq!(procs.take(right(7)).id, 0);
    }

    #[test]
    fn a_p_in_use_gets_an_extra_id() {
        let mut procs = Procs::default();
        let a = procs.take(right(0));
        let b = procs.take(right(0));
        assert!(!a.is_extra && b.is_extra);
    }
}
