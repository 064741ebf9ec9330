//! Files, directories and processes by the functions that each contestant has for them.

use crate::contestant::{Contestant, Gmp, Smol, Tokio};
use crate::workload::per_op;
use futures::StreamExt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};

/// Tasks that use files or start processes at the same time.
const TASKS: usize = 4;
/// Files that each task writes and reads in a round.
const SMALL_FILES: usize = 50;
const SMALL: usize = 1 << 10;
const LARGE: usize = 1 << 20;
/// Directories of the tree, and files in each.
const DIRS: usize = 20;
const FILES: usize = 50;
/// Processes that each task starts in a round.
const PROCESSES: usize = 5;

/// A contestant with its files and processes.
pub(crate) trait Disk: Contestant {
    /// Writes a file.
    fn write_file(path: &Path, data: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// Reads a file.
    fn read_file(path: &Path) -> impl Future<Output = io::Result<Vec<u8>>> + Send;
    /// Returns the directories in a directory, and the number and size of its other files.
    fn list(path: &Path) -> impl Future<Output = io::Result<(Vec<PathBuf>, Sizes)>> + Send;
    /// Runs a program without arguments. Returns whether it succeeded.
    fn succeeds(program: &str) -> impl Future<Output = io::Result<bool>> + Send;
}

/// The number of files, and the sum of their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    files: usize,
    bytes: u64,
}

/// Implements [`Disk`] by modules with the names of std. `$next` is the next entry of a directory.
macro_rules! disk {
    ($name:ident, $fs:path, $command:path, |$entries:ident| $next:expr) => {
        impl Disk for $name {
            async fn write_file(path: &Path, data: &[u8]) -> io::Result<()> {
                use $fs as fs;
                fs::write(path, data).await
            }
            async fn read_file(path: &Path) -> io::Result<Vec<u8>> {
                use $fs as fs;
                fs::read(path).await
            }
            async fn list(path: &Path) -> io::Result<(Vec<PathBuf>, Sizes)> {
                use $fs as fs;
                let (mut dirs, mut sizes) = (Vec::new(), Sizes::default());
                let mut $entries = fs::read_dir(path).await?;
                while let Some(entry) = $next {
                    if entry.file_type().await?.is_dir() {
                        dirs.push(entry.path());
                    } else {
                        sizes.files += 1;
                        sizes.bytes += entry.metadata().await?.len();
                    }
                }
                Ok((dirs, sizes))
            }
            async fn succeeds(program: &str) -> io::Result<bool> {
                use $command as Command;
                Ok(Command::new(program).status().await?.success())
            }
        }
    };
}

disk!(Gmp, gmp_net::fs, gmp_net::process::Command, |entries| entries.next_entry().await?);
disk!(Tokio, tokio::fs, tokio::process::Command, |entries| entries.next_entry().await?);
disk!(Smol, smol::fs, smol::process::Command, |entries| entries.next().await.transpose()?);

/// Runs a workload and returns its figure.
pub(crate) fn run<C: Disk>(name: &str) -> Option<f64> {
    Some(match name {
        "small_files" => {
            let folder = Folder::new(name);
            let path = folder.0.clone();
            C::run(per_op((TASKS * SMALL_FILES) as u32, move || small_files::<C>(path.clone())))
        }
        "file_1m" => {
            let folder = Folder::new(name);
            let path = folder.0.join("file");
            C::run(per_op(1, move || large_file::<C>(path.clone()))) / 1e3
        }
        "walk" => {
            let folder = Folder::new(name);
            folder.plant();
            let path = folder.0.clone();
            C::run(per_op((DIRS * (FILES + 1)) as u32, move || walk::<C>(path.clone())))
        }
        "process" => C::run(per_op((TASKS * PROCESSES) as u32, processes::<C>)) / 1e3,
        _ => return None,
    })
}

/// Tasks that write and read small files of their own.
async fn small_files<C: Disk>(folder: PathBuf) {
    let task = |task: usize| {
        let folder = folder.clone();
        C::spawn(async move {
            for n in 0..SMALL_FILES {
                let path = folder.join(format!("{task}-{n}"));
                let data = [n as u8; SMALL];
                C::write_file(&path, &data).await.expect("write a file");
                assert_eq!(C::read_file(&path).await.expect("read a file"), data);
            }
        })
    };
    for task in (0..TASKS).map(task).collect::<Vec<_>>() {
        task.await;
    }
}

/// Writes and reads one file.
async fn large_file<C: Disk>(path: PathBuf) {
    let data = vec![7; LARGE];
    C::write_file(&path, &data).await.expect("write a file");
    assert!(C::read_file(&path).await.expect("read a file") == data);
}

/// Visits each file below a folder.
async fn walk<C: Disk>(folder: PathBuf) {
    let (mut left, mut all) = (vec![folder], Sizes::default());
    while let Some(dir) = left.pop() {
        let (dirs, sizes) = C::list(&dir).await.expect("read a directory");
        left.extend(dirs);
        all.files += sizes.files;
        all.bytes += sizes.bytes;
    }
    assert_eq!(all, Sizes { files: DIRS * FILES, bytes: (DIRS * FILES) as u64 });
}

/// Tasks that start processes and wait for their ends.
async fn processes<C: Disk>() {
    let task = |_| {
        C::spawn(async {
            for _ in 0..PROCESSES {
                assert!(C::succeeds("true").await.expect("start a process"));
            }
        })
    };
    for task in (0..TASKS).map(task).collect::<Vec<_>>() {
        task.await;
    }
}

/// A temporary folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gmp-bench-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("create a temporary folder");
        Self(path)
    }

    /// Creates the tree of `walk`, with one byte in each file.
    fn plant(&self) {
        for dir in 0..DIRS {
            let dir = self.0.join(dir.to_string());
            std::fs::create_dir(&dir).expect("create a directory");
            for file in 0..FILES {
                std::fs::write(dir.join(file.to_string()), "x").expect("create a file");
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contestant_visits_all_files() {
        let folder = Folder::new("test");
        folder.plant();
        Gmp::run(walk::<Gmp>(folder.0.clone()));
        Tokio::run(walk::<Tokio>(folder.0.clone()));
        Smol::run(walk::<Smol>(folder.0.clone()));
        let path = folder.0.clone();
        drop(folder);
        assert!(!path.exists());
    }
}
