//! What the scheduler does to a sysmon in [deep sleep](crate::sysmon::deep_sleep).

use super::Sched;
use super::idle::IdleLists;

impl Sched {
    /// Puts sysmon to sleep until a P runs, or until the time `until`. Returns `false` at once if a
    /// P runs, the runtime stops, or `may` returns `false`. Called by sysmon.
    ///
    /// The sleep may last longer than until that time if a P runs before.
    pub(crate) fn sysmon_deep_sleep(
        &self,
        until: u64,
        may: impl FnOnce(&IdleLists) -> bool,
    ) -> bool {
        let deep_sleep = &self.idle.deep_sleep;
        deep_sleep.prepare();
        let sleeps = self.idle.with(|lists| {
            let sleeps = lists.all_idle() && !lists.stopping && may(lists);
            if sleeps {
                deep_sleep.begin(&mut lists.sysmon, until);
            }
            sleeps
        });
        while sleeps && !self.idle.with(|lists| deep_sleep.has_ended(&mut lists.sysmon, until)) {
            deep_sleep.wait(until);
        }
        sleeps
    }

    /// Ensures that sysmon wakes, if it is in deep sleep. Called after a P was taken, and after
    /// what is more urgent.
    #[inline]
    pub(super) fn schedule_sysmon_wake(&self) {
        if self.idle.deep_sleep.needs_wake() {
            self.schedule_sysmon_wake_now();
        }
    }

    #[cold]
    fn schedule_sysmon_wake_now(&self) {
        self.idle.with(|lists| {
            let idle = lists.idle_time();
            self.idle.deep_sleep.schedule_wake(&mut lists.sysmon, idle);
        });
    }

    /// Wakes sysmon from deep sleep without delay: only sysmon can do the work, or the runtime
    /// stops.
    #[cold]
    pub(super) fn wake_sysmon(&self) {
        self.idle.with(|lists| self.wake_sysmon_from(lists));
    }

    /// Wakes, as [`wake_sysmon`](Self::wake_sysmon), with the lists locked.
    pub(super) fn wake_sysmon_from(&self, lists: &mut IdleLists) {
        self.idle.deep_sleep.wake_now(&mut lists.sysmon);
    }

    /// Cancels sysmon's scheduled wake-up, if all Ps are idle again and `served`: Ms wait for the
    /// next timer and for the network. The pending timer also means that there is no deadlock to
    /// report.
    pub(super) fn cancel_sysmon_wake(&self, lists: &mut IdleLists, served: bool) {
        if served && lists.all_idle() {
            self.idle.deep_sleep.cancel_wake(&mut lists.sysmon);
        }
    }
}
