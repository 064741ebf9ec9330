//! The setting of sysmon's alarm in the models. They have no time, so an alarm that is lost or late
//! causes no deadlock. The assertion finds it.

use crate::prim::fixed::Mutex;
use std::time::Duration;

/// The last setting, unless it was cancelled or sysmon has woken since. Used under the lists' lock.
#[derive(Debug, Default)]
pub(super) struct Setting(Mutex<Option<Duration>>);

impl Setting {
    /// Records a setting, or that there is none any more.
    pub(super) fn set(&self, time: Option<Duration>) {
        *self.0.lock() = time;
    }

    /// Asserts that the alarm is set, and expires within `latest`.
    pub(super) fn assert_within(&self, latest: Duration) {
        let setting = *self.0.lock();
        assert!(setting.is_some_and(|time| time <= latest), "{setting:?} is set, not {latest:?}");
    }
}
