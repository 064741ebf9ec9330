//! How many CPUs this process may use, as std knows.

/// This machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine;

impl Machine {
    /// The number of CPUs to use by default.
    pub(crate) fn cpus(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}
