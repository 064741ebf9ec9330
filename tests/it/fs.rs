//! Files and directories, in a directory of each test.
#![cfg(unix)]

use super::support::runtime;
use futures::{FutureExt, StreamExt};
use gmp::fs::{self, File, OpenOptions};
use gmp::go;
use gmp::io::{
    AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufWriter, ErrorKind, SeekFrom, copy, pipe,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that is removed at the end of its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gmp-fs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `work` in a goroutine of a runtime with one P.
fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    gmp::block_on(runtime(1).spawn(work)).unwrap()
}

#[test]
fn functions_on_paths() {
    run(async {
        let scratch = Scratch::new("paths");
        let (one, two) = (scratch.path("one"), scratch.path("two"));
        fs::write(&one, "text").await.unwrap();
        assert_eq!(fs::read(&one).await.unwrap(), b"text");
        assert_eq!(fs::copy(&one, &two).await.unwrap(), 4);
        fs::write(&one, [0xff]).await.unwrap();
        let not_text = fs::read_to_string(&one).await.unwrap_err();
        assert_eq!(not_text.kind(), ErrorKind::InvalidData);
        assert_eq!(fs::read_to_string(&two).await.unwrap(), "text");
        fs::rename(&two, &one).await.unwrap();
        assert!(!fs::exists(&two).await && fs::try_exists(&one).await.unwrap());
        fs::hard_link(&one, &two).await.unwrap();
        fs::set_permissions(&two, fs::Permissions::from_mode(0o600)).await.unwrap();
        assert_eq!(fs::metadata(&one).await.unwrap().permissions().mode() & 0o777, 0o600);

        let link = scratch.path("link");
        fs::symlink("one", &link).await.unwrap();
        assert_eq!(fs::read_link(&link).await.unwrap(), Path::new("one"));
        assert_eq!(fs::metadata(&link).await.unwrap().len(), 4);
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        let real = fs::canonicalize(&link).await.unwrap();
        assert_eq!(real, std::fs::canonicalize(&one).unwrap());
        fs::remove_file(&link).await.unwrap();
        assert!(fs::exists(&one).await);

        let (outer, inner) = (scratch.path("a"), scratch.path("a/b/c"));
        fs::create_dir(&outer).await.unwrap();
        fs::create_dir_all(&inner).await.unwrap();
        fs::remove_dir(&inner).await.unwrap();
        let kept = fs::remove_dir(&outer).await.unwrap_err();
        assert_eq!(kept.kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir_all(&outer).await.unwrap();
        assert!(!fs::exists(&outer).await);
    });
}

/// Each error is the one that std returns for the same call.
#[test]
fn errors_are_those_of_std() {
    run(async {
        let scratch = Scratch::new("errors");
        let missing = scratch.path("none");
        let dir = scratch.path("");
        let number = |error: std::io::Error| (error.kind(), error.raw_os_error());
        macro_rules! same {
            ($($call:ident($($arg:expr),*)),*) => {$(
                let ours = fs::$call($($arg),*).await.unwrap_err();
                let std = std::fs::$call($($arg),*).unwrap_err();
                assert_eq!(number(ours), number(std), stringify!($call));
            )*};
        }
        same!(read(&missing), read_to_string(&missing), metadata(&missing), read_dir(&missing));
        same!(canonicalize(&missing), remove_file(&missing), remove_dir_all(&missing));
        same!(read_link(&dir), create_dir(&dir), rename(&missing, &dir), copy(&missing, &dir));
        same!(read(&dir), write(&dir, "x"), read("with \0 inside"));
        let error = File::open(&missing).await.unwrap_err();
        assert_eq!(error.to_string(), std::fs::File::open(&missing).unwrap_err().to_string());
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!fs::exists("with \0 inside").await);
        assert!(fs::try_exists("with \0 inside").await.is_err());
    });
}

/// A device without space: the write that fails returns the error, with a buffer the flush.
#[test]
#[cfg(target_os = "linux")]
fn a_full_device_fails_the_write() {
    run(async {
        let full = || async { OpenOptions::new().write(true).open("/dev/full").await.unwrap() };
        let is_full = |error: std::io::Error| {
            assert_eq!(Errno::from_io_error(&error), Some(Errno::NOSPC));
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        };
        let mut file = full().await;
        is_full(file.write(b"x").await.unwrap_err());
        is_full(file.write_vectored(&[IoSlice::new(b"x")]).await.unwrap_err());
        is_full(file.write_at(b"x", 7).await.unwrap_err());
        // No failed write is left behind.
        file.flush().await.unwrap();
        is_full(fs::write("/dev/full", "x").await.unwrap_err());
        let mut buffered = BufWriter::new(full().await);
        buffered.write_all(b"x").await.unwrap();
        is_full(buffered.flush().await.unwrap_err());
        let from = File::open("Cargo.toml").await.unwrap();
        is_full(copy(&mut { from }, &mut full().await).await.unwrap_err());
    });
}

/// There is no buffer and no thread: what a write has returned is in the file.
#[test]
fn a_dropped_file_has_all_writes() {
    run(async {
        let scratch = Scratch::new("drop");
        for n in 0..50 {
            let path = scratch.path("file");
            let mut file = File::create(&path).await.unwrap();
            for part in 0..10 {
                file.write_all(format!("{n} {part}\n").as_bytes()).await.unwrap();
            }
            drop(file);
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.lines().last(), Some(format!("{n} 9").as_str()));
        }
    });
}

#[test]
fn positions_and_offsets() {
    run(async {
        let scratch = Scratch::new("seek");
        let path = scratch.path("file");
        let mut file = File::create_new(&path).await.unwrap();
        let exists = File::create_new(&path).await.unwrap_err();
        assert_eq!(exists.kind(), ErrorKind::AlreadyExists);
        let parts = [IoSlice::new(b"0123"), IoSlice::new(b"456789")];
        assert_eq!(file.write_vectored(&parts).await.unwrap(), 10);
        assert_eq!(file.seek(SeekFrom::Current(-3)).await.unwrap(), 7);
        let mut rest = String::new();
        file.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "789");
        let outside = file.seek(SeekFrom::End(-11)).await.unwrap_err();
        assert_eq!(outside.kind(), ErrorKind::InvalidInput);

        // Offsets do not move the position, which a clone shares.
        let mut buf = [0; 4];
        assert_eq!(file.write_at(b"AB", 1).await.unwrap(), 2);
        assert_eq!(file.read_at(&mut buf, 0).await.unwrap(), 4);
        assert_eq!(&buf, b"0AB3");
        assert_eq!(file.read_at(&mut buf, 10).await.unwrap(), 0);
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(clone.stream_position().await.unwrap(), 10);
        clone.seek(SeekFrom::Start(0)).await.unwrap();
        assert_eq!(file.stream_position().await.unwrap(), 0);

        file.set_len(12).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().len(), 12);
        file.sync_all().await.unwrap();
        file.sync_data().await.unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o640)).await.unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH;
        file.set_times(fs::FileTimes::new().set_modified(old)).await.unwrap();
        let known = file.metadata().await.unwrap();
        assert_eq!(known.permissions().mode() & 0o777, 0o640);
        assert_eq!(known.modified().unwrap(), old);
        assert_eq!(fs::read(&path).await.unwrap(), b"0AB3456789\0\0");

        let mut appends = File::options().append(true).open(&path).await.unwrap();
        appends.write_all(b"!").await.unwrap();
        let denied = appends.read(&mut buf).await.unwrap_err();
        assert_eq!(Errno::from_io_error(&denied), Some(Errno::BADF));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).truncate(true);
        OpenOptions::from(options).open(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).await.unwrap().len(), 0);
    });
}

/// Many goroutines read and write one file by `&File`.
#[test]
fn a_shared_file() {
    let work = async {
        let scratch = Scratch::new("shared");
        let options = File::options().read(true).write(true).create(true).clone();
        let file = Arc::new(options.open(scratch.path("file")).await.unwrap());
        let writers = (0..8u8).map(|n| {
            let file = file.clone();
            go!(async move {
                for part in 0..16 {
                    let at = (part * 8 + u64::from(n)) * 512;
                    assert_eq!(file.write_at(&[n; 512], at).await.unwrap(), 512);
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let mut all = Vec::new();
        (&mut &*file).read_to_end(&mut all).await.unwrap();
        assert_eq!(all.len(), 8 * 16 * 512);
        assert!(all.chunks(512).enumerate().all(|(n, part)| part == [n as u8 % 8; 512]));
    };
    gmp::block_on(runtime(4).spawn(work)).unwrap();
}

/// A call is made at the first poll, and a future that was never polled does nothing.
#[test]
fn calls_are_made_at_the_first_poll() {
    let scratch = Scratch::new("poll");
    let (path, never) = (scratch.path("file"), scratch.path("never"));
    drop(fs::write(&never, "x"));
    drop(File::create(&never));
    assert!(!never.exists());
    fs::write(&path, "text").now_or_never().unwrap().unwrap();
    let mut file = File::open(&path).now_or_never().unwrap().unwrap();
    let mut buf = [0; 8];
    assert_eq!(file.read(&mut buf).now_or_never().unwrap().unwrap(), 4);
    let mut entries = fs::read_dir(&scratch.0).now_or_never().unwrap().unwrap();
    assert!(entries.next_entry().now_or_never().unwrap().unwrap().is_some());
}

#[test]
fn the_entries_of_a_directory() {
    run(async {
        let scratch = Scratch::new("entries");
        let mut expected = BTreeSet::new();
        for n in 0..300 {
            std::fs::write(scratch.path(&n.to_string()), "x").unwrap();
            expected.insert(n.to_string());
        }
        std::fs::create_dir(scratch.path("dir")).unwrap();
        expected.insert("dir".to_owned());
        let mut names = BTreeSet::new();
        let mut entries = fs::read_dir(&scratch.0).await.unwrap();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            let name = entry.file_name().into_string().unwrap();
            assert_eq!(entry.path(), scratch.path(&name));
            let is_dir = entry.file_type().await.unwrap().is_dir();
            assert_eq!(is_dir, name == "dir");
            let known = entry.metadata().await.unwrap();
            assert_eq!(known.is_dir(), is_dir);
            assert_eq!(std::os::unix::fs::MetadataExt::ino(&known), entry.ino());
            assert!(names.insert(name));
        }
        assert_eq!(names, expected);
        assert!(entries.next_entry().await.unwrap().is_none());
        let streamed = fs::read_dir(&scratch.0).await.unwrap().map(Result::unwrap);
        assert_eq!(streamed.count().await, 301);
    });
}

/// A call that blocks for long gives its P to others: the open of a FIFO waits for the writer,
/// which is a goroutine of the same P.
#[test]
fn a_call_that_blocks_holds_no_p() {
    run(async {
        let scratch = Scratch::new("fifo");
        let fifo = scratch.path("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let read = fifo.clone();
        let reads = go!(async move { fs::read_to_string(read).await });
        gmp::yield_now().await;
        fs::write(&fifo, "through").await.unwrap();
        assert_eq!(reads.await.unwrap().unwrap(), "through");
    });
}

#[test]
fn conversions_and_copies() {
    run(async {
        let scratch = Scratch::new("convert");
        let path = scratch.path("file");
        let mut file = File::from(std::fs::File::create(&path).unwrap());
        file.write_all(b"text").await.unwrap();
        assert_eq!(file.as_raw_fd(), file.as_fd().as_raw_fd());
        assert!(format!("{file:?}").contains("fd"));
        let file = File::from(OwnedFd::from(file));
        assert_eq!(std::fs::File::from(file).metadata().unwrap().len(), 4);
        // The kernel copies from file to pipe, and from pipe to file.
        let (mut reader, mut writer) = pipe().unwrap();
        let mut from = File::open(&path).await.unwrap();
        assert_eq!(copy(&mut from, &mut writer).await.unwrap(), 4);
        drop(writer);
        let mut to = File::create(scratch.path("copy")).await.unwrap();
        assert_eq!(copy(&mut reader, &mut to).await.unwrap(), 4);
        assert_eq!(fs::read(scratch.path("copy")).await.unwrap(), b"text");
        // A child writes to a file.
        let output = File::create(&path).await.unwrap();
        let mut echo = std::process::Command::new("echo");
        assert!(echo.arg("child").stdout(output).status().unwrap().success());
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "child\n");
    });
}
