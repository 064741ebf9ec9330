//! How facts become events.
//!
//! A hook states a fact: "this goroutine runs here now". The functions here write what the file
//! still lacks: the statuses in a new generation, and the events that were missed because the trace
//! began in between. So no hook can break a trace, and no thread has to stop when a trace begins.

use super::fact::{LeaveReason, Loss, PollExit, Rest, Right, TracedG};
use super::goroutines::{Record, TracedStatus};
use super::stream::{Running, Writer};
use super::wire::{op, p_status};
use crate::prim::Ordering::Relaxed;
use std::collections::hash_map::Entry;

/// A goroutine that is leaving its thread: [`Writer::leaving`] until [`Writer::left`].
#[derive(Debug)]
pub(super) struct Leaving {
    reason: LeaveReason,
}

impl Writer<'_> {
    /// Records that the thread has the P of `right`, or none that the scheduler knows.
    pub(super) fn gets_p(&mut self, right: Option<Right>) {
        if self.state.proc.as_ref().is_some_and(|proc| proc.is_extra)
            && self.state.running.is_none()
        {
            self.drop_p();
        }
        match (&self.state.proc, self.state.running) {
            (Some(_), _) => {}
            (None, Some(_)) => self.run(right),
            (None, None) => self.take_p(right),
        }
    }

    /// Records that the thread has no P any more.
    pub(super) fn loses_p(&mut self) {
        if self.state.running.is_some() {
            self.stop_running();
        }
        self.drop_p();
    }

    fn take_p(&mut self, right: Option<Right>) {
        let mut proc = self.tracer.procs.lock().take(right);
        self.reach(proc.generation);
        self.show();
        if proc.generation < self.state.generation {
            (proc.generation, proc.seq) = (self.state.generation, 0);
            self.put(op::PROC_STATUS, &[proc.id, p_status::IDLE]);
        }
        let args = [proc.id, proc.next_seq()];
        self.put(op::PROC_START, &args);
        self.state.proc = Some(proc);
    }

    fn drop_p(&mut self) {
        if self.state.proc.is_none() {
            return;
        }
        self.event(op::PROC_STOP, &[]);
        if let Some(proc) = self.state.proc.take() {
            self.tracer.procs.lock().give(proc);
        }
    }

    fn drop_extra(&mut self) {
        if self.state.proc.as_ref().is_some_and(|proc| proc.is_extra) {
            self.drop_p();
        }
    }

    /// Changes the record of a goroutine, which appears as `rest` if the file does not know it.
    fn update<R>(
        &mut self,
        g: &TracedG<'_>,
        rest: TracedStatus,
        change: impl FnOnce(&mut Record) -> R,
    ) -> R {
        /// Why the record cannot change yet.
        enum MustWait {
            /// It is in this newer generation.
            Newer(u64),
            /// The file takes new goroutines only by their creation.
            Creation,
        }
        let tracer = self.tracer;
        let mut change = Some(change);
        let (result, lacks) = loop {
            let generation = self.state.generation;
            let done = tracer.goroutines.with(g.id, |shard| {
                let mut lacks = None;
                if !shard.contains_key(&g.id) && tracer.takes_only_creations(generation) {
                    return Err(MustWait::Creation);
                }
                let record = shard.entry(g.id).or_insert_with(|| {
                    lacks = Some(rest);
                    Record::new(generation, rest)
                });
                if record.generation > generation {
                    return Err(MustWait::Newer(record.generation));
                }
                let is_own = matches!(record.status, TracedStatus::Running | TracedStatus::Call);
                if record.generation < generation && !is_own {
                    *record = Record::new(generation, record.status);
                    lacks = Some(record.status);
                }
                let change = change.take().expect("the loop ends here");
                Ok((change(record), lacks))
            });
            match done {
                Ok(done) => break done,
                Err(MustWait::Newer(generation)) => self.reach(generation),
                Err(MustWait::Creation) => self.create(g),
            }
        };
        if let Some(status) = lacks {
            let stack = self.stack(None, g.spawn);
            // Thread 0 stands for none: it is shorter than the number that says so.
            self.event(op::GO_STATUS_STACK, &[g.id, 0, status as u64, stack]);
        }
        result
    }

    /// Records that a goroutine was spawned. No queue has it yet.
    pub(super) fn created(&mut self, g: &TracedG<'_>, right: Option<Right>) {
        // A walk may have met it already.
        if self.tracer.goroutines.with(g.id, |shard| shard.contains_key(&g.id)) {
            return;
        }
        if right.is_some() && self.state.running.is_none() {
            self.gets_p(right);
        }
        self.create(g);
    }

    /// Writes the creation of a goroutine. It needs a P.
    fn create(&mut self, g: &TracedG<'_>) {
        let (in_call, had_p) = (self.state.in_call, self.state.proc.is_some());
        if self.state.running.is_some() {
            self.run(None);
        } else if !had_p {
            self.take_p(None);
        }
        // From here to the event the stream stays in its generation.
        self.show();
        let (new, own) = (self.stack(None, g.spawn), self.own_stack(None));
        let generation = self.state.generation;
        let is_new = self.tracer.goroutines.with(g.id, |shard| match shard.entry(g.id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Record::new(generation, TracedStatus::Runnable));
                true
            }
        });
        if is_new {
            self.put(op::GO_CREATE, &[g.id, new, own]);
        }
        if in_call && self.state.is_marked {
            self.begin_call(Loss::Call);
        }
        if !had_p && (self.state.running.is_none() || self.state.in_call) {
            self.drop_p();
        }
    }

    /// Records that a goroutine that waited is runnable. No queue has it yet.
    pub(super) fn unblocked(&mut self, g: &TracedG<'_>) {
        let seq = self.update(g, TracedStatus::Waiting, |record| {
            let waited = record.status == TracedStatus::Waiting;
            waited.then(|| {
                record.status = TracedStatus::Runnable;
                record.next_seq()
            })
        });
        if let Some(seq) = seq {
            let stack = self.own_stack(None);
            self.event(op::GO_UNBLOCK, &[g.id, seq, stack]);
        }
        if self.state.is_ending
            && let Some(running) = self.state.running
        {
            self.ended(running.id);
        }
    }

    /// Records that a goroutine runs on the thread.
    pub(super) fn started(&mut self, g: &TracedG<'_>, right: Option<Right>) {
        if let Some(running) = self.state.running {
            if running.id == g.id {
                return;
            }
            self.stop_running();
        }
        self.gets_p(right);
        let seqs = self.update(g, TracedStatus::Runnable, |record| {
            let unblock = match record.status {
                TracedStatus::Waiting => Some(record.next_seq()),
                TracedStatus::Runnable => None,
                // Another stream has it, and is to say that it has left.
                TracedStatus::Running | TracedStatus::Call => return None,
            };
            record.status = TracedStatus::Running;
            Some((unblock, record.next_seq()))
        });
        let Some((unblock, start)) = seqs else { return };
        if let Some(seq) = unblock {
            self.event(op::GO_UNBLOCK, &[g.id, seq, 0]);
        }
        self.event(op::GO_START, &[g.id, start]);
        self.state.running = Some(Running { id: g.id, spawn: g.spawn });
        if let Some(name) = g.name {
            let label = self.label(name);
            self.event(op::GO_LABEL, &[label]);
        }
        let procs = self.tracer.procs_to_announce.load(Relaxed);
        if procs > 0 {
            // Relaxed, and no exchange: two events of the same change do no harm.
            self.tracer.procs_to_announce.store(0, Relaxed);
            self.event(op::PROCS_CHANGE, &[procs, 0]);
        }
        self.end_dropped_regions();
    }

    /// Makes the goroutine of the thread run in the file: with a P, and in no call.
    pub(super) fn run(&mut self, right: Option<Right>) {
        self.show();
        let (in_call, has_p) = (self.state.in_call, self.state.proc.is_some());
        self.state.in_call = false;
        match (in_call, has_p) {
            (false, true) => {}
            (false, false) => self.take_p(right),
            (true, true) => {
                self.put(op::GO_SYSCALL_END, &[]);
                self.set_own(TracedStatus::Running);
            }
            (true, false) => {
                let Some(running) = self.state.running.take() else { return };
                self.put(op::GO_SYSCALL_END_BLOCKED, &[]);
                let generation = self.state.generation;
                self.tracer.goroutines.with(running.id, |shard| {
                    if let Some(record) = shard.get_mut(&running.id) {
                        debug_assert_eq!(record.generation, generation);
                        record.status = TracedStatus::Runnable;
                    }
                });
                self.take_p(right);
                let g = TracedG { id: running.id, spawn: running.spawn, name: None };
                let seq = self.update(&g, TracedStatus::Runnable, |record| {
                    record.status = TracedStatus::Running;
                    record.next_seq()
                });
                self.event(op::GO_START, &[g.id, seq]);
                self.state.running = Some(running);
            }
        }
    }

    /// Sets the status of the goroutine of the thread.
    fn set_own(&mut self, status: TracedStatus) {
        let Some(running) = self.state.running else { return };
        self.tracer.goroutines.with(running.id, |shard| {
            if let Some(record) = shard.get_mut(&running.id) {
                record.status = status;
            }
        });
    }

    /// Ends the run of a goroutine that has left the thread unseen.
    fn stop_running(&mut self) {
        self.run(None);
        let stack = self.own_stack(Some(LeaveReason::Yield));
        self.event(op::GO_STOP, &[LeaveReason::Yield.text(), stack]);
        self.set_own(TracedStatus::Runnable);
        self.state.running = None;
    }

    /// Records that a goroutine is about to leave the thread: it waits from now on, if another
    /// thread asks. `None` if the file cannot know it.
    pub(super) fn leaving(
        &mut self,
        g: &TracedG<'_>,
        right: Option<Right>,
        reason: LeaveReason,
    ) -> Option<Leaving> {
        self.started(g, right);
        self.state.running.filter(|running| running.id == g.id)?;
        self.run(right);
        self.show();
        self.set_own(TracedStatus::Waiting);
        Some(Leaving { reason })
    }

    /// Records that the goroutine has left.
    pub(super) fn left(&mut self, leaving: &Leaving, exit: PollExit) {
        let reason = match (exit, leaving.reason) {
            // It was woken while it ran.
            (PollExit::Queued, LeaveReason::Wait(_)) => LeaveReason::Yield,
            (_, reason) => reason,
        };
        let event = match exit {
            PollExit::Parked => op::GO_BLOCK,
            PollExit::Queued => {
                self.set_own(TracedStatus::Runnable);
                op::GO_STOP
            }
            PollExit::Stays => return self.set_own(TracedStatus::Running),
        };
        let stack = self.own_stack(Some(reason));
        self.put(event, &[reason.text(), stack]);
        self.is_left();
    }

    /// Records that the goroutine `id` of the thread is about to end. If `is_joined`, it wakes a
    /// goroutine then, which may end the trace: its end is written between this wake-up and the
    /// queue.
    pub(super) fn ending(&mut self, id: u64, is_joined: bool) {
        if is_joined && self.state.running.is_some_and(|running| running.id == id) {
            self.state.is_ending = true;
        } else {
            self.ended(id);
        }
    }

    /// Records that the goroutine `id` of the thread has ended.
    pub(super) fn ended(&mut self, id: u64) {
        let is_known = self.tracer.goroutines.with(id, |shard| shard.contains_key(&id));
        if !is_known {
            return;
        }
        self.started(&TracedG { id, spawn: None, name: None }, None);
        if self.state.running.is_none_or(|running| running.id != id) {
            return;
        }
        self.run(None);
        self.end_all_regions();
        self.event(op::GO_DESTROY, &[]);
        self.tracer.goroutines.with(id, |shard| shard.remove(&id));
        self.is_left();
    }

    fn is_left(&mut self) {
        self.state.running = None;
        self.state.is_marked = false;
        self.state.is_ending = false;
        self.drop_extra();
    }

    /// Records that a marked call begins.
    pub(super) fn call_begins(&mut self, right: Option<Right>) {
        if self.state.running.is_some() {
            self.run(right);
            self.begin_call(Loss::Call);
            self.state.is_marked = true;
        }
    }

    fn begin_call(&mut self, loss: Loss) {
        self.show();
        let stack = self.own_stack(Some(LeaveReason::Loss(loss)));
        let Some(proc) = &mut self.state.proc else { return };
        let seq = proc.next_seq();
        self.put(op::GO_SYSCALL_BEGIN, &[seq, stack]);
        self.set_own(TracedStatus::Call);
        self.state.in_call = true;
    }

    /// Records that the marked call has ended. If the P is gone, the way back is written later:
    /// when the thread has a P again, or when it has an event that needs one.
    pub(super) fn call_ends(&mut self) {
        self.state.is_marked = false;
        if self.state.in_call && self.state.proc.is_some() {
            self.run(None);
        }
    }

    /// Records that the thread gives up its P inside a poll, because it will wait.
    pub(super) fn hands_off(&mut self) {
        if self.state.running.is_some() && self.state.proc.is_some() {
            if !self.state.in_call {
                self.begin_call(Loss::Call);
            }
            self.state.is_marked = true;
        }
        self.drop_p();
    }

    /// Records that this thread takes the P of the thread of `victim`.
    pub(super) fn takes_p_of(&mut self, victim: &mut Writer<'_>, loss: Loss) {
        // Both write in the same generation. While their locks are held, at most one more begins.
        while self.state.generation != victim.state.generation {
            self.advance();
            victim.advance();
        }
        victim.show();
        if victim.state.proc.is_none() {
            return;
        }
        if victim.state.running.is_none() {
            return victim.drop_p();
        }
        if !victim.state.in_call {
            victim.begin_call(loss);
        }
        let Some(mut proc) = victim.state.proc.take() else { return };
        let args = [proc.id, proc.next_seq(), victim.stream.thread];
        self.event(op::PROC_STEAL, &args);
        self.tracer.procs.lock().give(proc);
    }

    /// Records that a walk has met a goroutine that does not run.
    pub(super) fn seen_by_walk(&mut self, g: &TracedG<'_>, rest: Rest) {
        let rest = match rest {
            Rest::Runnable => TracedStatus::Runnable,
            Rest::Waiting => TracedStatus::Waiting,
        };
        self.update(g, rest, |_| ());
    }

    /// Records that the thread has been in a poll of `g` since before the trace began.
    pub(super) fn adopts(&mut self, g: &TracedG<'_>, right: Option<Right>) {
        if self.state.running.is_none() && self.state.proc.is_none() {
            self.started(g, right);
        }
    }
}
