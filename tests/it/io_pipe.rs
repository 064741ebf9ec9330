//! Pipes of the OS.
#![cfg(unix)]

use super::support::{runtime, waiting};
use futures::FutureExt;
use gmp::go;
use gmp::io::{AsyncWriteExt, ErrorKind, PipeReader, PipeWriter, pipe};
use std::io::{IoSlice, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs `work` in a goroutine of a runtime with one P.
fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    gmp::block_on(runtime(1).spawn(work)).unwrap()
}

/// Both ends wait in the netpoller: the one P serves the other goroutine.
#[test]
fn more_than_the_pipe_holds() {
    const SIZE: usize = 1 << 20;
    run(async {
        let (reader, writer) = pipe().unwrap();
        let data: Vec<u8> = (0..SIZE).map(|n| (n / 5) as u8).collect();
        let sent = data.clone();
        let writes = go!(async move { writer.write_all(&sent).await });
        waiting("IO wait", 1).await;
        let mut first = [0; 3];
        reader.read_exact(&mut first).await.unwrap();
        let mut back = first.to_vec();
        assert_eq!(reader.read_to_end(&mut back).await.unwrap(), SIZE - 3);
        assert!(back == data, "{} of {SIZE} bytes", back.len());
        writes.await.unwrap().unwrap();
        assert_eq!(reader.read(&mut first).await.unwrap(), 0);
        let early = reader.read_exact(&mut first).await.unwrap_err();
        assert_eq!(early.kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn a_pipe_without_a_reader_is_broken() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        let full = loop {
            if let Err(error) = writer.try_write(&[1; 4096]) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        let waits = go!(async move { writer.write_all(&[2; 4096]).await });
        waiting("IO wait", 1).await;
        drop(reader);
        assert_eq!(waits.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_closed_end_writes_no_more() {
    run(async {
        let (reader, mut writer) = pipe().unwrap();
        AsyncWriteExt::write_all(&mut writer, b"all").await.unwrap();
        let parts = [IoSlice::new(b" of"), IoSlice::new(b" it")];
        assert_eq!(writer.write_vectored(&parts).await.unwrap(), 6);
        writer.close().await.unwrap();
        // The reader gets the end although `writer` lives.
        let mut text = Vec::new();
        reader.read_to_end(&mut text).await.unwrap();
        assert_eq!(text, b"all of it");
        assert_eq!(writer.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(writer.writable().await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        writer.close().await.unwrap();
        assert_eq!(writer.into_blocking_fd().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_deadline_ends_a_read() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        reader.set_deadline(Some(Instant::now() + Duration::from_millis(1)));
        let error = reader.read(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        reader.set_deadline(None);
        assert_eq!(reader.try_read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
        writer.write_all(b"x").await.unwrap();
        reader.readable().await.unwrap();
        assert_eq!(reader.try_read(&mut [0; 8]).unwrap(), 1);
    });
}

/// A dropped read has taken nothing, and a dropped read to the end keeps its bytes in the buffer.
#[test]
fn dropped_reads_lose_nothing() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        let mut buf = [0; 8];
        assert!(reader.read(&mut buf).now_or_never().is_none());
        writer.write_all(b"one").await.unwrap();
        let mut all = Vec::new();
        assert!(reader.read_to_end(&mut all).now_or_never().is_none());
        assert_eq!(all, b"one");
        writer.write_all(b"two").await.unwrap();
        drop(writer);
        reader.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"onetwo");
    });
}

/// A child gets a blocking descriptor: a non-blocking one would make `cat` fail.
#[test]
fn a_child_writes_to_a_pipe() {
    run(async {
        let (reader, writer) = pipe().unwrap();
        let (input, feeds) = pipe().unwrap();
        let mut command = Command::new("cat");
        command.stdin(Stdio::try_from(input).unwrap()).stdout(Stdio::try_from(writer).unwrap());
        let mut child = gmp::block_in_place(|| command.spawn()).unwrap();
        // It holds the ends of the child.
        drop(command);
        feeds.write_all(b"through a child").await.unwrap();
        drop(feeds);
        let mut text = Vec::new();
        reader.read_to_end(&mut text).await.unwrap();
        assert_eq!(text, b"through a child");
        assert!(gmp::block_in_place(|| child.wait()).unwrap().success());
    });
}

#[test]
fn descriptors_become_ends_and_back() {
    run(async {
        let (reader, writer) = std::io::pipe().unwrap();
        let reader = PipeReader::try_from(OwnedFd::from(reader)).unwrap();
        let writer = PipeWriter::try_from(OwnedFd::from(writer)).unwrap();
        assert_ne!(format!("{reader:?}"), format!("{writer:?}"));
        writer.write_all(b"x").await.unwrap();
        let flags = |fd: &dyn AsFd| rustix::fs::fcntl_getfl(fd.as_fd()).unwrap();
        assert!(flags(&reader).contains(rustix::fs::OFlags::NONBLOCK));
        let fd = reader.into_blocking_fd().unwrap();
        assert!(!flags(&fd).contains(rustix::fs::OFlags::NONBLOCK));
        let mut byte = [0];
        std::fs::File::from(fd).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
        // A regular file cannot be waited for.
        let file = std::fs::File::open("Cargo.toml").unwrap();
        let error = PipeReader::try_from(OwnedFd::from(file)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    });
}
