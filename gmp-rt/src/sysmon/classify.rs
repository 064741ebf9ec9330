//! What the thread of a long poll does: it computes, it is blocked, or it waits for a CPU.

use super::Sysmon;
use super::activity::{Activity, ThreadActivity};
use crate::observe::stall::StallKind;
use crate::p::{P, PStatus};
use crate::sys::thread_state::{self, ThreadSleep};
use crate::tuning::{PROGRESS_CPU, SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock;
use std::time::Duration;

/// A thread that sleeps for a lock.
#[derive(Clone, Debug)]
pub(super) struct Locked {
    /// The CPU time of the thread, which differs between this sleep and the next.
    cpu: u64,
    since: u64,
    /// The other threads that have a P or compute without one, and their CPU time.
    others: Vec<(u32, u64)>,
}

impl Sysmon {
    /// Returns what the thread of `p` does, if it is known: that it computes after `patience` of
    /// CPU time. Returns `None` also if the thread waits for a CPU.
    pub(super) fn classify(
        &mut self,
        number: usize,
        p: &P,
        patience: Duration,
        now: u64,
    ) -> Option<StallKind> {
        let thread = p.thread();
        let cpu = thread_state::cpu(thread)?;
        let activity = &mut self.seen[number].poll.activity;
        let first = activity.is_none();
        let activity = activity.get_or_insert_with(|| ThreadActivity::new(now, cpu));
        let stalls = match activity.check(now, cpu, || thread_state::sleep(thread)) {
            Activity::Awake { .. } if first => false,
            Activity::Awake { cpu: used } => {
                // First, because it remembers the time of the request.
                let computes =
                    self.ignores_preempt(number, p, cpu) && used >= clock::nanos(patience);
                return computes.then_some(StallKind::Computing);
            }
            Activity::Asleep { why: ThreadSleep::Lock, .. } => self.is_locked(number, p, cpu, now),
            Activity::Asleep { time, .. } => time >= clock::nanos(SYSMON_NAP),
        };
        stalls.then_some(StallKind::Blocked)
    }

    /// Whether a thread has slept for a lock for long, and not because the holder waits for a CPU.
    fn is_locked(&mut self, number: usize, p: &P, cpu: u64, now: u64) -> bool {
        let locked = self.seen[number].poll.locked.as_ref().filter(|locked| locked.cpu == cpu);
        if let Some(locked) = locked {
            let long = now - locked.since >= clock::nanos(SYSMON_MAX_NAP);
            return long && !lock_holder_may_starve(&locked.others);
        }
        let others = self.others(p);
        self.seen[number].poll.locked = Some(Locked { cpu, since: now, others });
        false
    }

    /// Returns the CPU time of the other threads that have a P or compute without one.
    fn others(&self, p: &P) -> Vec<(u32, u64)> {
        let running = self.ps.iter().filter(|q| q.status() == PStatus::Running).map(|q| q.thread());
        let threads = running.chain(self.handed_off.hog_threads());
        let others = threads.filter(|thread| *thread != p.thread());
        others.filter_map(|thread| Some((thread, thread_state::cpu(thread)?))).collect()
    }

    /// Whether the thread has computed on for a while after the request to yield.
    fn ignores_preempt(&mut self, number: usize, p: &P, cpu: u64) -> bool {
        let asked = &mut self.seen[number].poll.asked;
        let since = *asked.get_or_insert(cpu);
        if !p.preempt_requested() {
            *asked = None;
        }
        asked.is_some() && cpu.saturating_sub(since) >= clock::nanos(PROGRESS_CPU)
    }
}

/// Whether one of the threads waits for a CPU and has used too little CPU time since to release a
/// lock.
fn lock_holder_may_starve(others: &[(u32, u64)]) -> bool {
    let is_starved = |thread, before| {
        let used = thread_state::cpu(thread)?.saturating_sub(before);
        let little = used < clock::nanos(PROGRESS_CPU);
        Some(little && thread_state::sleep(thread)? == ThreadSleep::No)
    };
    others.iter().any(|(thread, before)| is_starved(*thread, *before) == Some(true))
}
