//! What the thread of a long poll does: it computes, it is blocked, or it waits for a CPU.

use super::Sysmon;
use super::suspect::{Sight, Suspect};
use crate::p::P;
use crate::sched::stall::StallKind;
use crate::sys::thread_state::{self, Sleep};
use crate::tuning::{PROGRESS_CPU, SYSMON_MAX_NAP, SYSMON_NAP};
use crate::util::clock;
use std::time::Duration;

/// A thread that sleeps for a lock.
#[derive(Clone, Debug)]
pub(super) struct Locked {
    /// The CPU time of the thread, which differs between this sleep and the next.
    cpu: u64,
    since: u64,
    /// The CPU time of the other threads that have a P, by the P's number.
    others: Vec<(usize, u64)>,
}

impl Sysmon {
    /// Returns what the thread of `p` does, if it is known: that it computes after `patience` of
    /// CPU time. Returns `None` also if the thread waits for a CPU.
    pub(super) fn classify(&mut self, p: &P, patience: Duration, now: u64) -> Option<StallKind> {
        let thread = p.thread();
        let cpu = thread_state::cpu(thread)?;
        let suspect = &mut self.seen.get_mut(p.id)?.suspect;
        let first = suspect.is_none();
        let suspect = suspect.get_or_insert_with(|| Suspect::new(now, cpu));
        let stalls = match suspect.look(now, cpu, || thread_state::sleep(thread))? {
            Sight::Awake { .. } if first => false,
            Sight::Awake { cpu: used } => {
                // First, because it remembers the time of the request.
                let computes = self.is_deaf(p, cpu)? && used >= clock::nanos(patience);
                return computes.then_some(StallKind::Computing);
            }
            Sight::Asleep { why: Sleep::Lock, .. } => self.is_locked(p, cpu, now)?,
            Sight::Asleep { time, .. } => time >= clock::nanos(SYSMON_NAP),
        };
        stalls.then_some(StallKind::Blocked)
    }

    /// Whether a thread has slept for a lock for long, and not because the holder waits for a CPU.
    fn is_locked(&mut self, p: &P, cpu: u64, now: u64) -> Option<bool> {
        let locked = self.seen.get(p.id)?.locked.as_ref().filter(|locked| locked.cpu == cpu);
        if let Some(locked) = locked {
            let long = now - locked.since >= clock::nanos(SYSMON_MAX_NAP);
            return Some(long && !self.is_any_starved(&locked.others));
        }
        let others = self.others(p);
        self.seen.get_mut(p.id)?.locked = Some(Locked { cpu, since: now, others });
        Some(false)
    }

    /// The CPU time of the other threads that have a P.
    fn others(&self, p: &P) -> Vec<(usize, u64)> {
        let others = self.sched.ps.iter().filter(|q| q.id != p.id && q.is_owned());
        others.filter_map(|q| Some((q.id, thread_state::cpu(q.thread())?))).collect()
    }

    /// Whether one of those threads waits for a CPU and has used too little CPU time since to
    /// release a lock.
    fn is_any_starved(&self, others: &[(usize, u64)]) -> bool {
        others.iter().any(|(id, before)| {
            let starves = |thread| {
                let used = thread_state::cpu(thread)?.saturating_sub(*before);
                let little = used < clock::nanos(PROGRESS_CPU);
                Some(little && thread_state::sleep(thread)? == Sleep::No)
            };
            self.sched.ps.get(*id).and_then(|q| starves(q.thread())) == Some(true)
        })
    }

    /// Whether the thread has computed on for a while after the request to yield.
    fn is_deaf(&mut self, p: &P, cpu: u64) -> Option<bool> {
        let seen = self.seen.get_mut(p.id)?;
        let asked = *seen.asked.get_or_insert(cpu);
        if !p.is_overtime() {
            seen.asked = None;
        }
        Some(seen.asked.is_some() && cpu.saturating_sub(asked) >= clock::nanos(PROGRESS_CPU))
    }
}
