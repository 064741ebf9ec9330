//! The events of one thread.
//!
//! A stream has a buffer, and what the file says about its thread: the P and the goroutine that the
//! thread has, and whether that goroutine is in a call. Its lock is held for a few dozen
//! instructions. The thread takes it for each event. Sysmon takes it to write for a thread that is
//! blocked, and the tracer takes it at the end of a generation.

use super::Tracer;
use super::fact::{LeaveReason, Spawn};
use super::frame::{StackKey, StackMap};
use super::generation::{Batch, Kept};
use super::goroutines::TracedStatus;
use super::proc::Proc;
use super::wire::{self, MAX_BATCH, op, p_status};
use crate::prim::Ordering::Acquire;
use crate::prim::fixed::{Mutex, MutexGuard};
use std::collections::HashMap;

/// The longest event: a type, a time and four arguments.
const LONGEST_EVENT: usize = 1 + 5 * 10;

/// Entries of a cache of labels.
const LABELS: usize = 256;

/// The goroutine that runs on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) id: u64,
    pub(super) spawn: Option<Spawn>,
}

/// The state of a stream, behind its lock.
#[derive(Debug, Default)]
pub(super) struct StreamState {
    /// The trace to which the rest of this belongs.
    pub(super) epoch: u64,
    pub(super) generation: u64,
    buffer: Vec<u8>,
    /// The time of the first and of the last event in the buffer.
    base: u64,
    last: u64,
    pub(super) proc: Option<Proc>,
    pub(super) running: Option<Running>,
    /// Whether the file says that the goroutine is in a call.
    pub(super) in_call: bool,
    /// Whether the thread is in a marked call.
    pub(super) is_marked: bool,
    /// Whether the goroutine ends with its next wake-up of another one.
    pub(super) is_ending: bool,
    /// Whether this generation has the statuses of the P and the goroutine.
    is_shown: bool,
    stacks: StackMap,
    labels: HashMap<Box<str>, u64>,
}

/// A stream. See the [module](self).
#[derive(Debug)]
pub(crate) struct Stream {
    /// The thread in the file.
    pub(super) thread: u64,
    state: Mutex<StreamState>,
}

impl Stream {
    pub(super) fn new(thread: u64) -> Self {
        Self { thread, state: Mutex::default() }
    }

    /// Locks the stream for events of the present trace. `None` if there is none.
    #[inline]
    pub(super) fn writer<'a>(&'a self, tracer: &'a Tracer) -> Option<Writer<'a>> {
        let mut state = self.state.lock();
        // Under the lock: the end of a trace changes the epoch, and then locks each stream.
        let epoch = tracer.epoch.load(Acquire);
        if !super::is_active(epoch) {
            return None;
        }
        if state.epoch != epoch {
            let generation = tracer.generation.load(Acquire);
            *state = StreamState { epoch, generation, ..StreamState::default() };
        }
        Some(Writer { tracer, stream: self, state })
    }

    /// Locks the stream, for the tracer, if it has events or a state of the trace `epoch`.
    pub(super) fn writer_of<'a>(&'a self, tracer: &'a Tracer, epoch: u64) -> Option<Writer<'a>> {
        let state = self.state.lock();
        (state.epoch == epoch).then_some(Writer { tracer, stream: self, state })
    }
}

/// The right to write to a stream.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) tracer: &'a Tracer,
    pub(super) stream: &'a Stream,
    pub(super) state: MutexGuard<'a, StreamState>,
}

impl Writer<'_> {
    /// Writes an event. The statuses that it needs come first, so sequence numbers are taken after
    /// a call of [`show`](Self::show).
    #[inline]
    pub(super) fn event(&mut self, event: u8, args: &[u64]) {
        self.show();
        self.put(event, args);
    }

    /// Writes an event without the statuses.
    pub(super) fn put(&mut self, event: u8, args: &[u64]) {
        if self.state.buffer.len() + LONGEST_EVENT > MAX_BATCH {
            self.flush();
        }
        let state = &mut *self.state;
        // A reader wants times that grow.
        let time = self.tracer.now().max(state.last + 1);
        if state.buffer.is_empty() {
            if state.buffer.capacity() == 0 {
                state.buffer.reserve_exact(MAX_BATCH);
            }
            (state.base, state.last) = (time, time);
        }
        wire::put_event(&mut state.buffer, event, time - state.last, args);
        state.last = time;
    }

    /// Passes the buffer on.
    pub(super) fn flush(&mut self) {
        let state = &mut *self.state;
        if state.buffer.is_empty() {
            return;
        }
        let data = std::mem::take(&mut state.buffer);
        let batch = Batch { thread: self.stream.thread, time: state.base, data };
        let kept = self.tracer.collector.lock().push(state.generation, batch);
        if kept != Kept::Yes {
            self.tracer.request_flip();
        }
    }

    /// Moves the stream to the present generation.
    pub(super) fn advance(&mut self) {
        let generation = self.tracer.generation.load(Acquire);
        if self.state.generation < generation {
            self.flush();
            self.state.generation = generation;
            self.state.is_shown = false;
            self.state.stacks.clear();
            self.state.labels.clear();
        }
    }

    /// Moves the stream to the generation of a P or a goroutine, if that is newer. The present one
    /// is at least as new.
    pub(super) fn reach(&mut self, generation: u64) {
        if self.state.generation < generation {
            self.advance();
        }
    }

    /// Writes the statuses of the thread's P and goroutine, if this generation lacks them.
    #[inline]
    pub(super) fn show(&mut self) {
        if !self.state.is_shown {
            self.show_now();
        }
    }

    #[cold]
    fn show_now(&mut self) {
        self.state.is_shown = true;
        let state = &mut *self.state;
        let (generation, in_call) = (state.generation, state.in_call);
        if let Some(proc) = &mut state.proc {
            (proc.generation, proc.seq) = (generation, 0);
            let status = if in_call { p_status::CALL } else { p_status::RUNNING };
            let id = proc.id;
            self.put(op::PROC_STATUS, &[id, status]);
        }
        if let Some(running) = self.state.running {
            let status = if in_call { TracedStatus::Call } else { TracedStatus::Running };
            self.tracer.goroutines.with(running.id, |shard| {
                if let Some(record) = shard.get_mut(&running.id) {
                    (record.generation, record.seq) = (generation, 0);
                }
            });
            let stack = self.own_stack(None);
            let args = [running.id, self.stream.thread, status as u64, stack];
            self.put(op::GO_STATUS_STACK, &args);
        }
    }

    /// Returns the id of a stack.
    pub(super) fn stack(&mut self, reason: Option<LeaveReason>, spawn: Option<Spawn>) -> u64 {
        let key = StackKey { reason, spawn };
        if key == (StackKey { reason: None, spawn: None }) {
            return 0;
        }
        if let Some(id) = self.state.stacks.get(&key) {
            return *id;
        }
        let id = self.tracer.collector.lock().stack(self.state.generation, key);
        self.state.stacks.insert(key, id);
        id
    }

    /// Returns the id of a stack of the goroutine that runs on the thread.
    pub(super) fn own_stack(&mut self, reason: Option<LeaveReason>) -> u64 {
        let spawn = self.state.running.and_then(|running| running.spawn);
        self.stack(reason, spawn)
    }

    /// Returns the id of a string.
    pub(super) fn string(&mut self, text: &str) -> u64 {
        let mut collector = self.tracer.collector.lock();
        collector.get(self.state.generation).map_or(0, |open| open.string(text))
    }

    /// Returns the number of a string, as [`string`](Self::string), for a text that comes again and
    /// again.
    pub(super) fn label(&mut self, text: &str) -> u64 {
        if let Some(id) = self.state.labels.get(text) {
            return *id;
        }
        let id = self.string(text);
        if self.state.labels.len() >= LABELS {
            self.state.labels.clear();
        }
        self.state.labels.insert(text.into(), id);
        id
    }
}
