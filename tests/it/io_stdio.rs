//! Standard input and output, in child processes.
#![cfg(unix)]

use super::support::talk::Talk;
use super::support::{child_command, is_child, runtime, until, waiting};
use futures::{AsyncBufReadExt, AsyncReadExt, StreamExt};
use gmp::go;
use gmp::io::{stderr, stdin, stdout};
use rustix::fs::{OFlags, fcntl_getfl};
use std::io::{ErrorKind, Read, Write};
use std::process::Stdio;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

async fn say(text: &str) {
    stderr().write_all(format!("{text}\n").as_bytes()).await.unwrap();
}

#[gmp::main(max_procs = 1)]
async fn shouts() {
    let mut lines = stdin().lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        say(&line.to_uppercase()).await;
    }
    say("the end").await;
    let flags = |fd| fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK);
    let changed = flags(rustix::stdio::stdin()) || flags(rustix::stdio::stderr());
    assert!(!changed, "others have the same open file");
}

#[test]
fn lines_pass_through_stdin_and_stdout() {
    let name = "io_stdio::lines_pass_through_stdin_and_stdout";
    if is_child() {
        return shouts();
    }
    let mut talk = Talk::new(name, &[]);
    for line in ["one", "", "two\r", "drei äöü"] {
        talk.say(&format!("{line}\n"));
        assert_eq!(talk.hear(), line.trim_end().to_uppercase());
    }
    // In pieces, several lines at once, and the last line without a newline.
    talk.say("in pie");
    talk.say("ces\na\nb\nlast");
    drop(talk.input);
    for line in ["IN PIECES", "A", "B", "LAST", "the end"] {
        assert_eq!(talk.said.next().unwrap().unwrap(), line);
    }
    assert!(talk.child.wait().unwrap().success());
}

/// Regular files and devices can be the standard input too.
#[test]
fn stdin_may_be_a_file_or_a_device() {
    let name = "io_stdio::stdin_may_be_a_file_or_a_device";
    if is_child() {
        return shouts();
    }
    let text = |input: Stdio| {
        let output = child_command(name, &[]).stdin(input).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(text(Stdio::null()), "the end\n");
    let path = std::env::temp_dir().join(format!("gmp-stdin-{}", std::process::id()));
    std::fs::write(&path, "x\ny\n").unwrap();
    assert_eq!(text(std::fs::File::open(&path).unwrap().into()), "X\nY\nthe end\n");
    std::fs::remove_file(path).unwrap();
}

#[gmp::main(max_procs = 1)]
async fn gives_up_and_comes_again() {
    // A dropped read or a dropped handle loses no part of a line.
    say("ready").await;
    let mut first = stdin();
    let mut line = String::new();
    first.read_line(&mut line).await.unwrap();
    assert_eq!(line, "whole\n");
    line.clear();
    // The first half of the next line arrived with the previous one.
    assert!(gmp::timeout(20 * MS, first.read_line(&mut line)).await.is_err());
    assert_eq!(line, "");
    drop(first);
    say("gave up").await;
    let mut second = stdin();
    assert_eq!(second.read_line(&mut line).await.unwrap(), 5);
    assert_eq!(line, "half\n");
    // All ways to read.
    let mut three = [0; 3];
    second.read_exact(&mut three).await.unwrap();
    assert_eq!(&three, b"abc");
    let mut rest = Vec::new();
    second.read_until(b'!', &mut rest).await.unwrap();
    assert_eq!(rest, b"def!");
    let mut lines = second.lines();
    assert_eq!(lines.next().await.unwrap().unwrap(), "ghi");
    // Not UTF-8.
    assert_eq!(lines.next_line().await.unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(lines.into_inner().read(&mut three).await.unwrap(), 0);
    say("all").await;
}

#[test]
fn a_read_that_is_given_up_loses_nothing() {
    let name = "io_stdio::a_read_that_is_given_up_loses_nothing";
    if is_child() {
        return gives_up_and_comes_again();
    }
    let mut talk = Talk::new(name, &[]);
    assert_eq!(talk.hear(), "ready");
    talk.say("whole\nhal");
    assert_eq!(talk.hear(), "gave up");
    talk.say("f\nabcdef!ghi\n");
    talk.input.write_all(b"\xff\xfe\n").unwrap();
    drop(talk.input);
    assert_eq!(talk.said.next().unwrap().unwrap(), "all");
    assert!(talk.child.wait().unwrap().success());
}

/// A pending read is no deadlock, does not delay the end of a runtime, and holds no thread.
#[test]
fn a_pending_read_delays_neither_a_shutdown_nor_a_thread() {
    let name = "io_stdio::a_pending_read_delays_neither_a_shutdown_nor_a_thread";
    if !is_child() {
        let mut talk = Talk::new(name, &[("GMPDEBUG", "deadlock=fatal")]);
        assert_eq!(talk.hear(), "waiting");
        // Long enough for sysmon to find all goroutines asleep.
        std::thread::sleep(400 * MS);
        talk.say("x");
        assert_eq!(talk.hear(), "got 1");
        // The process ends although the input stays open.
        assert!(talk.child.wait().unwrap().success());
        return;
    }
    let runtime = runtime(1);
    let reader = runtime.spawn(async {
        let reads = go!(async { stdin().read(&mut [0; 8]).await.unwrap() });
        waiting("IO wait", 1).await;
        say("waiting").await;
        let n = reads.await.unwrap();
        say(&format!("got {n}")).await;
        for _ in 0..50 {
            go!(async { stdin().read(&mut [0; 8]).await });
        }
        waiting("IO wait", 50).await;
    });
    gmp::block_on(reader).unwrap();
    // A reader that held a thread would keep it out of the pool.
    until(|| {
        let metrics = runtime.handle().metrics();
        metrics.threads.sleeping() == metrics.threads.total
    });
    runtime.shutdown(Duration::from_secs(30)).unwrap();
    // The default runtime uses it next. This read is pending when the process ends.
    gmp::spawn(async { stdin().read(&mut [0; 8]).await });
}

/// A peer that does not read makes one goroutine wait, and blocks no P.
#[test]
fn a_full_pipe_blocks_no_p() {
    const SIZE: usize = 1 << 20;
    let name = "io_stdio::a_full_pipe_blocks_no_p";
    if !is_child() {
        let mut talk = Talk::new(name, &[]);
        assert_eq!(talk.hear(), "full");
        let mut output = Vec::new();
        talk.child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        assert_eq!(output.iter().filter(|&&byte| byte == 0xee).count(), SIZE);
        talk.end();
        return;
    }
    let runtime = runtime(1);
    let work = runtime.spawn(async {
        let writes = go!(async { stdout().write_all(&[0xee; SIZE]).await });
        waiting("IO wait", 1).await;
        say("full").await;
        writes.await.unwrap().unwrap();
    });
    gmp::block_on(work).unwrap();
}

/// Twenty megabytes through a child.
#[test]
fn megabytes_pass_through_stdin_and_stderr() {
    let name = "io_stdio::megabytes_pass_through_stdin_and_stderr";
    if is_child() {
        let runtime = runtime(2);
        let copied = runtime.spawn(async { gmp::io::copy(&mut stdin(), &mut stderr()).await });
        assert_eq!(gmp::block_on(copied).unwrap().unwrap(), 20 << 20);
        return;
    }
    let mut command = child_command(name, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let data: Vec<u8> = (0u32..5 << 20).flat_map(u32::to_le_bytes).collect();
    let (mut input, sent) = (child.stdin.take().unwrap(), data.clone());
    let feeds = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let mut back = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut back).unwrap();
    feeds.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(back == data, "{} of {} bytes", back.len(), data.len());
}

/// The reader of the output is closed: writing returns an error, and the process continues.
#[test]
fn writes_to_a_closed_pipe_return_an_error() {
    let name = "io_stdio::writes_to_a_closed_pipe_return_an_error";
    if is_child() {
        let error = gmp::block_on(async {
            let mut byte = [0];
            assert_eq!(stdin().read(&mut byte).await.unwrap(), 1);
            stderr().write_all(b"hello?").await.unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        return;
    }
    let Talk { mut child, mut input, said } = Talk::new(name, &[]);
    drop(said);
    input.write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success());
}
