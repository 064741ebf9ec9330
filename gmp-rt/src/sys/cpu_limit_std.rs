//! How many CPUs this process may use, as std knows.

/// The number of CPUs to use by default.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
