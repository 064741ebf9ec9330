//! Any descriptor by `Async`, copying, files.

use crate::context::{Cx, join};
use crate::coverage::{End, did, did_io};
use crate::ops::tcp::{check, out_of_resources, pattern};
use crate::violation::violation;
use futures::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use gmp::io::Blocking;
use gmp::net::{Async, UnixStream};
use std::io::{self, Read, SeekFrom, Write};
use std::net::Shutdown;

fn judge(what: &str, result: io::Result<()>) {
    if let Err(error) = result
        && !out_of_resources(&error)
        && !error.to_string().contains("runtime")
    {
        violation(format!("{what}: {error}"));
    }
}

/// Bytes through a pipe whose ends wait by `Async`.
pub(crate) async fn pipe(mut cx: Cx) {
    judge("a pipe", pipe_calls(&mut cx).await);
}

async fn pipe_calls(cx: &mut Cx) -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (Async::new(reader)?, Async::new(writer)?);
    let all = cx.rand.size(200_000);
    let writing = cx.spawn(async move {
        let mut sent = 0;
        while sent < all {
            let bytes: Vec<u8> = (sent..all.min(sent + 5000)).map(pattern).collect();
            writer.writable().await?;
            sent += writer.write_with(|mut pipe| pipe.write(&bytes)).await?;
        }
        drop(writer.into_inner());
        io::Result::Ok(())
    });
    let (mut got, mut buf) = (0, [0; 4096]);
    loop {
        let read = reader.read_with(|mut pipe| pipe.read(&mut buf)).await;
        did_io("Async::read_with", &read);
        let n = read?;
        if n == 0 {
            break;
        }
        check(got, &buf[..n]);
        got += n;
    }
    if let Some(Ok(())) = join(writing).await
        && got != all
    {
        violation(format!("{got} bytes came through a pipe of {all}"));
    }
    Ok(())
}

/// A pipe end that is closed by another goroutine ends the wait of its reader.
pub(crate) async fn pipe_close(mut cx: Cx) {
    let Ok((reader, writer)) = io::pipe() else { return };
    let Ok(reader) = Async::new(reader) else { return };
    let reader = std::sync::Arc::new(reader);
    let waiting = reader.clone();
    let child = cx.spawn(async move {
        let read = waiting.read_with(|mut pipe| pipe.read(&mut [0; 8])).await;
        // 0 is the end of the pipe, if this operation is aborted.
        if let Ok(n @ 1..) = read {
            violation(format!("a read of an empty pipe gave {n} bytes"));
        }
    });
    cx.pause().await;
    reader.close();
    join(child).await;
    drop(writer);
    did("Async::close", End::Closed);
}

/// Copies from one socket to another, in one direction and in both.
pub(crate) async fn copy(mut cx: Cx) {
    judge("copy", copy_calls(&mut cx).await);
}

async fn copy_calls(cx: &mut Cx) -> io::Result<()> {
    let ((client, mut left), (mut right, server)) = (UnixStream::pair()?, UnixStream::pair()?);
    let both = cx.rand.once_in(2);
    let copying = cx.spawn(async move {
        let copied = match both {
            true => gmp::io::copy_bidirectional(&mut left, &mut right).await.map(|sent| sent.0),
            false => {
                let copied = gmp::io::copy(&mut left, &mut right).await;
                let _ = right.shutdown(Shutdown::Write);
                copied
            }
        };
        did_io(if both { "io::copy_bidirectional" } else { "io::copy" }, &copied);
        copied
    });
    let all = cx.rand.size(100_000);
    let writing = cx.spawn(async move {
        let bytes: Vec<u8> = (0..all).map(pattern).collect();
        let written = client.write_all(&bytes).await;
        let _ = client.shutdown(Shutdown::Write);
        // Lives until the other direction has ended.
        let _ = gmp::timeout(std::time::Duration::from_millis(500), client.read(&mut [0; 8])).await;
        written
    });
    let (mut got, mut buf) = (0, [0; 3000]);
    loop {
        let n = server.read(&mut buf).await?;
        if n == 0 {
            break;
        }
        check(got, &buf[..n]);
        got += n;
    }
    drop(server);
    if let (Some(Ok(copied)), Some(Ok(()))) = (join(copying).await, join(writing).await)
        && (copied, got) != (all as u64, all)
    {
        violation(format!("{copied} bytes were copied and {got} arrived of {all}"));
    }
    Ok(())
}

/// A file by `Blocking`.
pub(crate) async fn file(mut cx: Cx) {
    let path =
        std::env::temp_dir().join(format!("gmp-soak-{}-{:x}", std::process::id(), cx.rand.next()));
    /// Removes the file also if the operation is aborted.
    struct Remove(std::path::PathBuf);
    impl Drop for Remove {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
    let remove = Remove(path);
    let opened = std::fs::File::options().read(true).write(true).create_new(true).open(&remove.0);
    let Ok(opened) = opened else { return };
    let mut file = Blocking::new(opened);
    let bytes: Vec<u8> = (0..cx.rand.size(9000)).map(pattern).collect();
    let result = async {
        file.write_all(&bytes).await?;
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        let mut back = Vec::new();
        file.read_to_end(&mut back).await?;
        io::Result::Ok(back)
    }
    .await;
    did_io("io::Blocking", &result);
    match result {
        Ok(back) if back == bytes => {}
        other => violation(format!("a file of {} bytes gave {other:?}", bytes.len())),
    }
}
