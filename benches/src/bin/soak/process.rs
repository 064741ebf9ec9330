//! Memory, descriptors and threads of the process.

use std::fs;

/// Open descriptors by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Ends of pipes. `io::copy` keeps some for the next copy.
    pub(crate) pipes: usize,
    /// Sockets, pollers, files.
    pub(crate) others: usize,
}

impl Descriptors {
    /// Maximum number of pipe ends that `io::copy` keeps: those of 8 pipes.
    const KEPT_PIPES: usize = 16;

    /// Counts the open descriptors.
    pub(crate) fn count() -> Self {
        let mut count = Self::default();
        for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
            // The descriptor of this scan is closed by then, or is a folder that is always present.
            match fs::read_link(entry.path()) {
                Ok(target) if target.to_string_lossy().starts_with("pipe:") => count.pipes += 1,
                _ => count.others += 1,
            }
        }
        count
    }

    /// Whether no descriptor is open that was not at `first`, apart from kept pipes.
    pub(crate) fn is_flat_since(self, first: Self) -> bool {
        self.others <= first.others && self.pipes <= first.pipes + Self::KEPT_PIPES
    }
}

/// Returns the resident memory of the process.
pub(crate) fn rss() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Returns the names of all threads.
pub(crate) fn thread_names() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).ok();
    threads.filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}

/// Returns the number of entries of a folder, without the descriptor of this scan.
pub(crate) fn entries(folder: &str) -> usize {
    let own = usize::from(folder.ends_with("fd"));
    fs::read_dir(folder).map_or(0, |folder| folder.count() - own)
}
