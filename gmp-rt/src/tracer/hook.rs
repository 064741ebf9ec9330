//! The hooks by which the scheduler reports to the tracer.
//!
//! While no trace runs, a hook costs one relaxed load of a static and a branch. The facts are in
//! closures that run only if a trace runs, under the lock of a stream: they only read.

use super::fact::{LeaveReason, Loss, PollExit, Right, TracedG};
use super::region::RegionId;
use super::stream::Writer;
use super::{Stream, TRACER};
use crate::prim::Ordering::Relaxed;
use crate::prim::fixed::AtomicBool;
use crate::sys::{fork, thread_state};
use std::sync::Arc;

/// Whether a trace runs.
static ON: AtomicBool = AtomicBool::new(false);

/// Whether a trace runs. A hint: the tracer decides under the lock of a stream.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Switches the hooks.
pub(crate) fn switch(is_on: bool) {
    ON.store(is_on, Relaxed); // Relaxed: the caller makes a barrier
}

/// The stream of this thread. Dropping it ends that.
#[derive(Debug)]
struct OwnStream(Arc<Stream>);

impl OwnStream {
    fn new() -> Self {
        Self(TRACER.stream_of(number_of_thread()))
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // In the child of a fork another thread may hold the locks for ever.
        if TRACER.forks() == fork::forks() {
            TRACER.end_stream(&self.0);
        }
    }
}

/// Returns the number of this thread in traces.
fn number_of_thread() -> u64 {
    match thread_state::this_thread() {
        // The OS does not say.
        0 => super::OWN_THREAD + 1 + TRACER.regions.next_id(),
        thread => thread.into(),
    }
}

thread_local! {
    static OWN: OwnStream = OwnStream::new();
}

/// Runs `f` with this thread's stream, if a trace runs.
#[cold]
#[inline(never)]
fn write<R>(f: impl FnOnce(&mut Writer<'_>) -> R) -> Option<R> {
    let mut f = Some(f);
    let mut write_to = |stream: &Stream| {
        let mut writer = stream.writer(&TRACER)?;
        f.take().map(|f| f(&mut writer))
    };
    match OWN.try_with(|own| write_to(&own.0)) {
        Ok(result) => result,
        // Destructors of other thread-locals run after the end of the thread's stream.
        Err(_) => write_to(&TRACER.own),
    }
}

/// Reports that a goroutine was spawned on this thread. No queue has it yet.
#[inline(always)]
pub(crate) fn created<'a>(fact: impl FnOnce() -> (TracedG<'a>, Option<Right>)) {
    if is_on() {
        write(|writer| {
            let (g, right) = fact();
            writer.created(&g, right);
        });
    }
}

/// Reports that a goroutine that waited is runnable. No queue has it yet.
#[inline(always)]
pub(crate) fn unblocked<'a>(fact: impl FnOnce() -> TracedG<'a>) {
    if is_on() {
        write(|writer| writer.unblocked(&fact()));
    }
}

/// Reports that this thread has taken a goroutine from a queue, and runs it.
#[inline(always)]
pub(crate) fn started<'a>(fact: impl FnOnce() -> (TracedG<'a>, Option<Right>)) {
    if is_on() {
        write(|writer| {
            let (g, right) = fact();
            writer.started(&g, right);
        });
    }
}

/// Reports that a goroutine leaves this thread. Runs `leave`, after which other threads may have
/// it.
///
/// The stream stays locked meanwhile, so `leave` may only change the status word.
#[inline(always)]
pub(crate) fn leaving<'a, R>(
    fact: impl FnOnce() -> (TracedG<'a>, Option<Right>, LeaveReason),
    leave: impl FnOnce() -> R,
    exit: impl FnOnce(&R) -> PollExit,
) -> R {
    if is_on() { leaving_now(fact, leave, exit) } else { leave() }
}

#[cold]
#[inline(never)]
fn leaving_now<'a, R>(
    fact: impl FnOnce() -> (TracedG<'a>, Option<Right>, LeaveReason),
    leave: impl FnOnce() -> R,
    exit: impl FnOnce(&R) -> PollExit,
) -> R {
    let (g, right, reason) = fact();
    let mut leave = Some(leave);
    let mut result = None;
    write(|writer| {
        let leaving = writer.leaving(&g, right, reason);
        let done = leave.take().map(|leave| leave());
        if let (Some(leaving), Some(done)) = (leaving, &done) {
            writer.left(&leaving, exit(done));
        }
        result = done;
    });
    match (result, leave) {
        (Some(result), _) => result,
        (None, Some(leave)) => leave(),
        (None, None) => unreachable!("it was called or it is there"),
    }
}

/// Reports that the goroutine on this thread is about to end: its id, and whether it then wakes a
/// goroutine that joins it. That wake-up is its last event. Otherwise its end is written before
/// another thread can know of it.
#[inline(always)]
pub(crate) fn ending(fact: impl FnOnce() -> (u64, bool)) {
    if is_on() {
        write(|writer| {
            let (id, is_joined) = fact();
            writer.ending(id, is_joined);
        });
    }
}

/// Reports that the goroutine `id`, which ran on this thread, has ended.
#[inline(always)]
pub(crate) fn ended(id: u64) {
    if is_on() {
        write(|writer| writer.ended(id));
    }
}

/// Reports that this thread has got a P.
#[inline(always)]
pub(crate) fn got_p(fact: impl FnOnce() -> Option<Right>) {
    if is_on() {
        write(|writer| writer.gets_p(fact()));
    }
}

/// Reports that this thread gives up its P between two polls.
#[inline(always)]
pub(crate) fn lost_p() {
    if is_on() {
        write(|writer| writer.loses_p());
    }
}

/// Reports that a marked call begins on this thread.
#[inline(always)]
pub(crate) fn call_begun(fact: impl FnOnce() -> Option<Right>) {
    if is_on() {
        write(|writer| writer.call_begins(fact()));
    }
}

/// Reports that a marked call has ended on this thread.
#[inline(always)]
pub(crate) fn call_ended() {
    if is_on() {
        write(|writer| writer.call_ends());
    }
}

/// Reports that the P of the OS thread `thread` was handed off inside a poll. Called before another
/// thread can have a P in its place.
#[inline(always)]
pub(crate) fn handed_off(fact: impl FnOnce() -> (u32, Loss)) {
    if is_on() {
        handed_off_now(fact);
    }
}

#[cold]
#[inline(never)]
fn handed_off_now(fact: impl FnOnce() -> (u32, Loss)) {
    let (thread, loss) = fact();
    if thread == thread_state::this_thread() {
        write(|writer| writer.hands_off());
        return;
    }
    let victim = TRACER.stream_of(thread.into());
    write(|writer| {
        if let Some(mut victim) = victim.writer(&TRACER) {
            writer.takes_p_of(&mut victim, loss);
        }
    });
}

/// Reports that the number of Ps has changed: `procs` is the sum over all runtimes.
#[inline(always)]
pub(crate) fn procs_changed(procs: impl FnOnce() -> u64) {
    if is_on() {
        TRACER.announce_procs(procs());
    }
}

/// Begins a task of the program. `None` if no trace runs, or outside of a goroutine.
pub(crate) fn task(parent: u64, name: &str) -> Option<u64> {
    if is_on() { write(|writer| writer.task_begins(parent, name)).flatten() } else { None }
}

/// Ends a task.
pub(crate) fn end_task(id: u64) {
    if is_on() {
        write(|writer| writer.task_ends(id));
    }
}

/// Begins a region of the goroutine that runs on this thread. `None` as for [`task`].
pub(crate) fn region(task: u64, name: &str) -> Option<RegionId> {
    if is_on() { write(|writer| writer.region_begins(task, name)).flatten() } else { None }
}

/// Ends a region.
pub(crate) fn end_region(region: RegionId) {
    if is_on() {
        write(|writer| writer.region_ends(region));
    }
}

/// Writes a message of the program.
pub(crate) fn log(task: u64, key: &str, value: &str) {
    if is_on() {
        write(|writer| writer.logs(task, key, value));
    }
}
