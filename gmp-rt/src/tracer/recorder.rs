//! The flight recorder: the last generations, in bounded memory.
//!
//! A file may begin with any generation, but its first one has to name every goroutine that a later
//! one names. A goroutine that a generation does not mention has the same status at its end. So a
//! status that a later generation has is also written into the first one: no generation has to name
//! all goroutines, and goroutines that do nothing take no memory here.

use super::generation::{Batch, Generation};
use super::goroutines::TracedStatus;
use super::wire::{self, HEADER, op, p_status};
use crate::util::clock;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The generations that are kept. See the [module](self).
#[derive(Debug)]
pub(super) struct GenerationRing {
    span: u64,
    max_bytes: usize,
    kept: VecDeque<Arc<Generation>>,
}

impl GenerationRing {
    pub(super) fn new(span: Duration, max_bytes: usize) -> Self {
        Self { span: clock::nanos(span), max_bytes, kept: VecDeque::new() }
    }

    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Adds a generation that has ended at the time `now`. Drops old ones.
    pub(super) fn push(&mut self, generation: Arc<Generation>, now: u64) {
        self.kept.push_back(generation);
        while self.kept.len() > 1 && (self.covers_without_first(now) || self.is_too_large()) {
            self.kept.pop_front();
        }
    }

    fn covers_without_first(&self, now: u64) -> bool {
        now.saturating_sub(self.kept[1].began.time) >= self.span
    }

    fn is_too_large(&self) -> bool {
        self.kept.iter().map(|generation| generation.bytes).sum::<usize>() > self.max_bytes
    }

    /// Forgets all generations, because one after them is lost.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Returns the generations.
    pub(super) fn snapshot(&self) -> Vec<Arc<Generation>> {
        self.kept.iter().cloned().collect()
    }
}

/// Returns the generations as a file.
pub(super) fn encode(kept: &[Arc<Generation>]) -> Vec<u8> {
    let bytes: usize = kept.iter().map(|generation| generation.bytes).sum();
    let mut out = Vec::with_capacity(bytes + bytes / 8 + 1024);
    out.extend_from_slice(HEADER);
    if let Some((first, rest)) = kept.split_first() {
        first.encode(&mut out, &moved_up(first, rest));
        rest.iter().for_each(|generation| generation.encode(&mut out, &[]));
    }
    out
}

/// The goroutines and Ps that a generation names.
#[derive(Debug, Default)]
struct Known {
    goroutines: HashSet<u64>,
    procs: HashSet<u64>,
}

/// Returns the statuses that are in `rest` only, for the first generation.
fn moved_up(first: &Generation, rest: &[Arc<Generation>]) -> Vec<Batch> {
    let mut known = Known::default();
    let mut moved = Moved::default();
    moved.look(first, &mut known, false);
    rest.iter().for_each(|generation| moved.look(generation, &mut known, true));
    moved.batches(first)
}

/// The statuses to move, by thread. A goroutine that runs is moved with its thread.
#[derive(Debug, Default)]
struct Moved(BTreeMap<u64, Vec<(u8, Vec<u64>)>>);

/// The thread of statuses that belong to none. No thread of an OS has this number.
const ANY_THREAD: u64 = 0;

impl Moved {
    /// Collects the statuses of goroutines and Ps that `known` does not have, if `moves`. Adds them
    /// to `known`.
    fn look(&mut self, generation: &Generation, known: &mut Known, moves: bool) {
        for batch in &generation.batches {
            wire::for_each_event(&batch.data, |event, args| {
                let is_new = match event {
                    op::GO_CREATE | op::GO_STATUS | op::GO_STATUS_STACK => {
                        known.goroutines.insert(args[0])
                    }
                    op::PROC_STATUS => known.procs.insert(args[0]),
                    _ => false,
                };
                if is_new && moves {
                    self.take(batch.thread, event, args);
                }
            });
        }
    }

    /// Copies a status that no kept generation has.
    fn take(&mut self, thread: u64, event: u8, args: &[u64]) {
        match event {
            op::GO_STATUS | op::GO_STATUS_STACK => {
                let rests = [TracedStatus::Runnable, TracedStatus::Waiting];
                let is_at_rest = rests.iter().any(|rest| *rest as u64 == args[2]);
                let thread = if is_at_rest { ANY_THREAD } else { thread };
                // Stacks are those of another generation.
                self.put(thread, op::GO_STATUS, &args[..3]);
            }
            // An idle P may appear in any generation.
            op::PROC_STATUS if args[1] != p_status::IDLE => {
                self.put(thread, op::PROC_STATUS, args);
            }
            _ => {}
        }
    }

    fn put(&mut self, thread: u64, event: u8, args: &[u64]) {
        self.0.entry(thread).or_default().push((event, args.to_vec()));
    }

    /// Returns the statuses as batches, which come before those of their threads.
    fn batches(self, first: &Generation) -> Vec<Batch> {
        let mut batches = Vec::new();
        for (thread, events) in self.0 {
            let mut data = Vec::new();
            for (event, args) in events {
                if data.len() > wire::MAX_BATCH - 64 {
                    let data = std::mem::take(&mut data);
                    batches.push(Batch { thread, time: first.began.time, data });
                }
                wire::put_event(&mut data, event, 0, &args);
            }
            batches.push(Batch { thread, time: first.began.time, data });
        }
        batches
    }
}
