//! The number of CPUs that this process may use, from std.

/// This machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine;

impl Machine {
    /// Returns the number of CPUs that the process may use.
    pub(crate) fn num_cpu(&self) -> usize {
        self.cpus()
    }

    /// Returns the number of CPUs to use by default.
    pub(crate) fn cpus(&self) -> usize {
        affinity()
    }
}

/// Returns the number of CPUs that the process may use.
pub(crate) fn affinity() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
