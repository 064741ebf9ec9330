//! The setting of sysmon's alarm, which only the models record.

use std::time::Duration;

/// Nothing. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Setting(());

impl Setting {
    #[inline]
    pub(super) fn set(&self, _time: Option<Duration>) {}

    #[inline]
    pub(super) fn assert_within(&self, _latest: Duration) {}
}
