//! Generations: parts of a trace that can be read without what is before them.
//!
//! All threads move to the next generation one after the other, so two generations may be open at
//! a time: [`OpenGeneration`]. When the last thread has moved, the older one is a [`Generation`].

use super::fact::{self, TEXTS};
use super::frame::{Pcs, StackKey, StackMap, cut, put_stack};
use super::wire::{self, FREQUENCY, MAX_BATCH, NO_THREAD, op};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

/// Events of one thread.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) thread: u64,
    pub(super) time: u64,
    pub(super) data: Vec<u8>,
}

/// The time at which a generation began, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Nanoseconds of the clock of the events.
    pub(super) time: u64,
    /// Time since 1970.
    pub(super) wall: Duration,
}

impl Moment {
    pub(super) fn now(time: u64) -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // A clock that is set before 1970.
        Self { time, wall: wall.unwrap_or_default() }
    }
}

/// A table of strings or stacks, in the form in which it is written.
#[derive(Debug)]
struct IdTable {
    kind: u8,
    chunks: Vec<Vec<u8>>,
}

impl IdTable {
    fn new(kind: u8) -> Self {
        Self { kind, chunks: vec![vec![kind]] }
    }

    /// Appends an entry.
    fn push(&mut self, entry: &[u8]) {
        if self.chunks.last().is_none_or(|chunk| chunk.len() + entry.len() > MAX_BATCH) {
            self.chunks.push(vec![self.kind]);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.extend_from_slice(entry);
        }
    }
}

/// A generation that threads write.
#[derive(Debug)]
pub(super) struct OpenGeneration {
    number: u64,
    began: Moment,
    batches: Vec<Batch>,
    strings: IdTable,
    string_ids: HashMap<Box<str>, u64>,
    stacks: IdTable,
    stack_ids: StackMap,
    bytes: usize,
}

impl OpenGeneration {
    fn new(number: u64, began: Moment) -> Self {
        let mut open = Self {
            number,
            began,
            batches: Vec::new(),
            strings: IdTable::new(op::STRINGS),
            string_ids: HashMap::new(),
            stacks: IdTable::new(op::STACKS),
            stack_ids: StackMap::default(),
            bytes: 0,
        };
        for (id, text) in (1..).zip(fact::texts()) {
            open.put_string(id, text);
        }
        open
    }

    fn put_string(&mut self, id: u64, text: &str) {
        let mut entry = vec![op::STRING];
        wire::put_uint(&mut entry, id);
        wire::put_uint(&mut entry, text.len() as u64);
        entry.extend_from_slice(text.as_bytes());
        self.bytes += entry.len();
        self.strings.push(&entry);
    }

    /// Returns the id of `text`, cut to the length that a trace may hold.
    pub(super) fn string(&mut self, text: &str) -> u64 {
        let text = cut(text);
        if let Some(id) = self.string_ids.get(text) {
            return *id;
        }
        let id = (TEXTS + 1 + self.string_ids.len()) as u64;
        self.string_ids.insert(text.into(), id);
        self.put_string(id, text);
        id
    }

    fn stack(&mut self, key: StackKey, pcs: &mut Pcs) -> u64 {
        if let Some(id) = self.stack_ids.get(&key) {
            return *id;
        }
        let frames: Vec<_> = key
            .frames()
            .map(|frame| {
                let (function, file) = (self.string(&frame.function), self.string(frame.file));
                (pcs.of(&frame), function, file, frame.line)
            })
            .collect();
        let id = self.stack_ids.len() as u64 + 1;
        self.stack_ids.insert(key, id);
        let mut entry = Vec::new();
        put_stack(&mut entry, id, &frames);
        self.bytes += entry.len();
        self.stacks.push(&entry);
        id
    }
}

/// What happens to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    /// The generation has reached the length at which it should end.
    Full,
    /// There is no room. The generation is useless.
    Lost,
}

/// The open generations. See the [module](self).
#[derive(Debug)]
pub(super) struct Collector {
    open: VecDeque<OpenGeneration>,
    pcs: Pcs,
    /// Bytes of all open generations.
    soft_limit: usize,
    hard_limit: usize,
    /// Whether a batch was lost since [`take_loss`](Self::take_loss), and the bytes of those lost
    /// since the begin.
    has_loss: bool,
    lost_bytes: u64,
}

impl Collector {
    pub(super) fn new() -> Self {
        let (open, pcs) = Default::default();
        Self { open, pcs, soft_limit: 0, hard_limit: 0, has_loss: false, lost_bytes: 0 }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Sets how long a generation becomes, and how much all open ones may hold.
    pub(super) fn set_limits(&mut self, soft: usize, hard: usize) {
        (self.soft_limit, self.hard_limit) = (soft, hard);
    }

    /// Opens a generation.
    pub(super) fn begin(&mut self, number: u64, began: Moment) {
        self.open.push_back(OpenGeneration::new(number, began));
    }

    /// Closes the older generation, to which no thread writes any more.
    pub(super) fn end(&mut self) -> Option<Generation> {
        self.open.pop_front().map(Generation::from)
    }

    /// Returns the open generation `number`.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut OpenGeneration> {
        self.open.iter_mut().find(|open| open.number == number)
    }

    /// Returns the id of a stack in the generation `number`.
    pub(super) fn stack(&mut self, number: u64, key: StackKey) -> u64 {
        let pcs = &mut self.pcs;
        let open = self.open.iter_mut().find(|open| open.number == number);
        open.map_or(0, |open| open.stack(key, pcs))
    }

    /// Adds a batch to the generation `number`.
    pub(super) fn push(&mut self, number: u64, batch: Batch) -> Kept {
        let held: usize = self.open.iter().map(|open| open.bytes).sum();
        let (soft, hard) = (self.soft_limit, self.hard_limit);
        let Some(open) = self.get(number) else { return Kept::Lost };
        if held + batch.data.len() > hard {
            self.has_loss = true;
            self.lost_bytes += batch.data.len() as u64;
            return Kept::Lost;
        }
        open.bytes += batch.data.len();
        let is_full = open.bytes >= soft;
        open.batches.push(batch);
        if is_full { Kept::Full } else { Kept::Yes }
    }

    /// Whether a batch was lost since the last call.
    pub(super) fn take_loss(&mut self) -> bool {
        std::mem::take(&mut self.has_loss)
    }

    /// Returns the bytes that were lost.
    pub(super) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }
}

/// A complete generation.
#[derive(Debug)]
pub(super) struct Generation {
    pub(super) number: u64,
    pub(super) began: Moment,
    pub(super) batches: Vec<Batch>,
    strings: IdTable,
    stacks: IdTable,
    /// Its length, without the headers of the batches.
    pub(super) bytes: usize,
}

impl From<OpenGeneration> for Generation {
    fn from(open: OpenGeneration) -> Self {
        let OpenGeneration { number, began, mut batches, strings, stacks, bytes, .. } = open;
        // Most batches at the end of a generation are short.
        batches.iter_mut().for_each(|batch| batch.data.shrink_to_fit());
        Self { number, began, batches, strings, stacks, bytes }
    }
}

impl Generation {
    /// Appends the generation. `before` are batches that come before its own.
    pub(super) fn encode(&self, out: &mut Vec<u8>, before: &[Batch]) {
        let start = self.began.time;
        let mut put = |thread, time, data: &[u8]| {
            wire::put_batch(out, self.number, thread, time, data);
        };
        put(NO_THREAD, start, &self.sync());
        for batch in before.iter().chain(&self.batches) {
            put(batch.thread, batch.time, &batch.data);
        }
        for chunk in self.stacks.chunks.iter().chain(&self.strings.chunks) {
            put(NO_THREAD, start, chunk);
        }
        out.push(op::END_OF_GENERATION);
    }

    fn sync(&self) -> Vec<u8> {
        let Moment { time, wall } = self.began;
        let mut data = vec![op::SYNC, op::FREQUENCY];
        wire::put_uint(&mut data, FREQUENCY);
        data.push(op::CLOCK_SNAPSHOT);
        for value in [0, time, wall.as_secs(), u64::from(wall.subsec_nanos())] {
            wire::put_uint(&mut data, value);
        }
        data
    }
}
