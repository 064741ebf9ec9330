//! Unmarked blocking calls. Tokio and smol need their thread pools for them.

use crate::contestant::Contestant;
use crate::workload::per_op;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Tasks that block at the same time.
const TASKS: usize = 4;
/// Calls that each task makes in a round of `fsync`.
const CALLS: usize = 50;
const PAGE: usize = 4096;

/// Runs a workload and returns its figure.
pub(crate) fn run<C: Contestant>(name: &str) -> Option<f64> {
    Some(match name {
        "block1ms" => C::run(per_op(1, block::<C>)) / 1e6,
        "fsync" => {
            let folder = Folder::new();
            let files = folder.files();
            C::run(per_op((TASKS * CALLS) as u32, move || sync_all::<C>(files.clone()))) / 1e3
        }
        _ => return None,
    })
}

/// Four tasks block their thread for a millisecond. All are joined.
async fn block<C: Contestant>() {
    let tasks: Vec<_> = (0..TASKS)
        .map(|n| {
            C::spawn(C::unmarked(move || {
                std::thread::sleep(Duration::from_millis(1));
                n
            }))
        })
        .collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await;
    }
    assert_eq!(sum, TASKS * (TASKS - 1) / 2);
}

/// A temporary folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("gmp-bench-fsync-{}", std::process::id()));
        std::fs::create_dir(&path).expect("create a temporary folder");
        Self(path)
    }

    /// Creates a file for each task.
    fn files(&self) -> Vec<Arc<File>> {
        let open = |n: usize| {
            let path = self.0.join(n.to_string());
            let mut options = File::options();
            options.read(true).write(true).create_new(true);
            Arc::new(options.open(path).expect("create a file"))
        };
        (0..TASKS).map(open).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

/// Each task writes a page of its file and syncs it, repeatedly.
async fn sync_all<C: Contestant>(files: Vec<Arc<File>>) {
    let tasks: Vec<_> = files.into_iter().map(|file| C::spawn(sync_one::<C>(file))).collect();
    for task in tasks {
        task.await;
    }
}

async fn sync_one<C: Contestant>(file: Arc<File>) {
    // Moved into the call and back: a thread pool cannot borrow.
    let (mut file, mut page) = (file, vec![0u8; PAGE]);
    for n in 0..CALLS {
        page.fill(n as u8);
        (file, page) = C::unmarked(move || {
            file.write_all_at(&page, 0).expect("write a page");
            file.sync_all().expect("sync a file");
            (file, page)
        })
        .await;
    }
    let mut read = vec![0u8; PAGE];
    file.read_exact_at(&mut read, 0).expect("read the page");
    assert_eq!(read, page);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_file_for_each_task_and_is_removed() {
        let folder = Folder::new();
        let path = folder.0.clone();
        assert_eq!(folder.files().len(), TASKS);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), TASKS);
        drop(folder);
        assert!(!path.exists());
    }
}
