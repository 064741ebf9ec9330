//! Copying: every pair of ends, failures in the middle, and descriptors after the end.

use super::net_strace::traced;
use super::net_tcp::pair;
use super::support::{Gate, child, is_child, runtime, waiting};
use futures::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, Cursor,
};
use gmp::go;
use gmp::io::{Blocking, copy, copy_bidirectional};
use gmp::net::{Async, TcpStream, UnixStream};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::net::Shutdown;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

const BLOCK: usize = 64 << 10;

/// More than fifty megabytes, and not a round number.
const LARGE: usize = 832 * BLOCK + 12_345;

/// Sizes around the edges of pages, pipes and buffers.
const SMALL: [usize; 8] = [0, 1, 7, 4095, 4096, 4097, BLOCK, 4 * BLOCK + 1];

/// Returns a block that differs from every other block.
fn block(n: usize) -> Vec<u8> {
    static BASE: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..BLOCK).map(|at| (at % 251) as u8).collect());
    let mut block = BASE.clone();
    block[..8].copy_from_slice(&n.to_le_bytes());
    block
}

/// Returns the first `size` bytes of all blocks, in pieces.
fn pieces(size: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..size.div_ceil(BLOCK)).map(move |n| {
        let mut piece = block(n);
        piece.truncate(size - n * BLOCK);
        piece
    })
}

/// Writes `size` bytes and closes.
async fn feed(mut to: impl AsyncWrite + Unpin, size: usize) {
    for piece in pieces(size) {
        to.write_all(&piece).await.unwrap();
    }
    to.close().await.unwrap();
}

/// Reads to the end and checks that these are the `size` bytes that [`feed`] writes.
async fn check(mut from: impl AsyncRead + Unpin, size: usize) {
    for (n, piece) in pieces(size).enumerate() {
        let mut got = vec![0; piece.len()];
        from.read_exact(&mut got).await.unwrap();
        assert!(got == piece, "block {n} differs");
    }
    assert_eq!(from.read(&mut [0]).await.unwrap(), 0, "more than was sent");
}

/// Creates a file without a name.
fn temporary() -> File {
    let path = temporary_path("unnamed");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

fn temporary_path(what: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("gmp-copy-{what}-{}-{n}", std::process::id()))
}

fn filled(size: usize) -> File {
    let mut file = temporary();
    pieces(size).for_each(|piece| file.write_all(&piece).unwrap());
    file.rewind().unwrap();
    file
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Copies `size` bytes from `from`, which receives from `input`, to `to`, which sends to `output`.
async fn through<R, W>(size: usize, (input, mut from): (Writer, R), (mut to, output): (W, Reader))
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    go!(feed(input, size));
    let copied = go!(async move {
        let copied = copy(&mut from, &mut to).await;
        // This ends sockets. Pipes end when they are dropped.
        to.close().await.unwrap();
        copied
    });
    check(output, size).await;
    assert_eq!(copied.await.unwrap().unwrap(), size as u64);
}

async fn tcp_in() -> (Writer, TcpStream) {
    let (a, b) = pair().await;
    (Box::new(a), b)
}

async fn tcp_out() -> (TcpStream, Reader) {
    let (a, b) = pair().await;
    (a, Box::new(b))
}

fn unix_in() -> (Writer, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    (Box::new(a), b)
}

fn unix_out() -> (UnixStream, Reader) {
    let (a, b) = UnixStream::pair().unwrap();
    (a, Box::new(b))
}

fn pipe_in() -> (Writer, Async<io::PipeReader>) {
    let (reader, writer) = io::pipe().unwrap();
    (Box::new(Async::new(writer).unwrap()), Async::new(reader).unwrap())
}

fn pipe_out() -> (Async<io::PipeWriter>, Reader) {
    let (reader, writer) = io::pipe().unwrap();
    (Async::new(writer).unwrap(), Box::new(Async::new(reader).unwrap()))
}

#[gmp::test]
async fn copy_works_between_sockets() {
    for size in SMALL.into_iter().chain([LARGE]) {
        through(size, tcp_in().await, tcp_out().await).await;
        through(size, unix_in(), tcp_out().await).await;
        through(size, tcp_in().await, unix_out()).await;
        through(size, unix_in(), unix_out()).await;
        let ((input, from), (to, output)) = (tcp_in().await, tcp_out().await);
        through(size, (input, from.into_split().0), (to.into_split().1, output)).await;
    }
}

#[gmp::test]
async fn copy_works_between_pipes_and_sockets() {
    for size in SMALL.into_iter().chain([LARGE]) {
        through(size, pipe_in(), tcp_out().await).await;
        through(size, tcp_in().await, pipe_out()).await;
        through(size, pipe_in(), pipe_out()).await;
    }
}

#[gmp::test]
async fn copy_works_from_files_and_to_files() {
    for size in SMALL.into_iter().chain([LARGE]) {
        let (mut to, output) = tcp_out().await;
        let checked = go!(check(output, size));
        let sent = copy(&mut Blocking::new(filled(size)), &mut to).await.unwrap();
        assert_eq!(sent, size as u64);
        to.shutdown(Shutdown::Write).unwrap();
        checked.await.unwrap();

        let (input, mut from) = tcp_in().await;
        go!(feed(input, size));
        let mut file = temporary();
        assert_eq!(copy(&mut from, &mut Blocking::new(&file)).await.unwrap(), size as u64);
        file.rewind().unwrap();
        check(Blocking::new(&file), size).await;

        file.rewind().unwrap();
        let mut twin = temporary();
        let copied = copy(&mut Blocking::new(&file), &mut Blocking::new(&twin)).await.unwrap();
        assert_eq!(copied, size as u64);
        twin.rewind().unwrap();
        check(Blocking::new(twin), size).await;
    }
}

/// A wrapped stream is not a descriptor, so the copy uses a buffer.
#[gmp::test]
async fn copy_works_through_a_buffer() {
    for size in SMALL.into_iter().chain([LARGE]) {
        let ((input, from), (to, output)) = (tcp_in().await, tcp_out().await);
        through(size, (input, BufReader::new(from)), (BufWriter::new(to), output)).await;
        let ((input, from), (to, output)) = (pipe_in(), unix_out());
        through(size, (input, from), (BufWriter::new(to), output)).await;
    }
}

/// The kernel refuses to splice to a file in append mode, after the bytes are in the pipe.
#[gmp::test]
async fn copy_uses_a_buffer_if_the_kernel_refuses() {
    let path = temporary_path("append");
    std::fs::write(&path, block(0)).unwrap();
    let (input, mut from) = tcp_in().await;
    go!(async move {
        let mut input = input;
        for n in 1..50 {
            input.write_all(&block(n)).await.unwrap();
        }
        input.close().await.unwrap();
    });
    let mut file = Blocking::new(OpenOptions::new().append(true).open(&path).unwrap());
    assert_eq!(copy(&mut from, &mut file).await.unwrap(), 49 * BLOCK as u64);
    // The file has all bytes in order.
    let mut file = Blocking::new(File::open(&path).unwrap());
    check(&mut file, 50 * BLOCK).await;
    std::fs::remove_file(path).unwrap();

    // The kernel also refuses to send or copy its own files, to a socket or to a file.
    let (mut to, mut output) = tcp_out().await;
    let status = || Blocking::new(File::open("/proc/self/status").unwrap());
    let sent = copy(&mut status(), &mut to).await.unwrap();
    to.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("Pid:") && text.len() as u64 == sent, "{sent}: {text}");
    let mut file = temporary();
    assert!(copy(&mut status(), &mut Blocking::new(&file)).await.unwrap() > 0);
    file.rewind().unwrap();
    text.clear();
    Blocking::new(file).read_to_string(&mut text).await.unwrap();
    assert!(text.contains("Pid:"), "{text}");
}

/// A reader that returns some bytes and then an error.
struct Breaks(Cursor<Vec<u8>>);

impl AsyncRead for Breaks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.0).poll_read(cx, buf) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(ErrorKind::InvalidData.into())),
            read => read,
        }
    }
}

#[gmp::test]
async fn copy_writes_what_was_read_before_an_error() {
    let mut written = Vec::new();
    let mut reader = Breaks(Cursor::new(block(3)));
    let error = copy(&mut reader, &mut BufWriter::new(&mut written)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    // Bytes may remain in a `BufWriter`. A plain writer shows that the copy passed on all of them.
    let mut reader = Breaks(Cursor::new(block(3)));
    let mut written = Vec::new();
    copy(&mut reader, &mut written).await.unwrap_err();
    assert!(written == block(3));
}

/// A peer that waits for an answer must not wait until a buffer is full.
#[gmp::test]
async fn copy_flushes_the_writer_before_it_waits_for_the_reader() {
    let (question, mut from) = UnixStream::pair().unwrap();
    let (to, answer) = UnixStream::pair().unwrap();
    go!(async move { copy(&mut from, &mut BufWriter::new(to)).await });
    for n in 0..100u8 {
        question.write_all(&[n]).await.unwrap();
        let mut got = [0];
        answer.read_exact(&mut got).await.unwrap();
        assert_eq!(got, [n]);
    }
}

#[gmp::test]
async fn a_reset_ends_a_copy() {
    // A reset of the connection that is read.
    let (peer, mut from) = pair().await;
    let (mut to, output) = tcp_out().await;
    let copied = go!(async move { copy(&mut from, &mut to).await });
    peer.write_all(&block(0)).await.unwrap();
    let mut output = output;
    output.read_exact(&mut vec![0; BLOCK]).await.unwrap();
    peer.set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    assert_eq!(copied.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);

    // A reset of the connection that is written, with bytes in the pipe.
    let (input, mut from) = tcp_in().await;
    let (mut to, peer) = pair().await;
    let fed = go!(async move {
        let mut input = input;
        while input.write_all(&block(0)).await.is_ok() {}
    });
    let copied = go!(async move { copy(&mut from, &mut to).await });
    waiting("IO wait", 2).await;
    peer.set_linger(Some(Duration::ZERO)).unwrap();
    drop(peer);
    let kind = copied.await.unwrap().unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{kind:?}");
    fed.await.unwrap();
}

#[gmp::test]
async fn deadlines_end_a_copy() {
    // A deadline of the reader. Earlier bytes are passed on.
    let (peer, from) = pair().await;
    let (mut to, mut output) = tcp_out().await;
    let from = Arc::new(from);
    let reader = from.clone();
    let copied = go!(async move { (copy(&mut &*reader, &mut to).await, to) });
    peer.write_all(b"before").await.unwrap();
    let mut got = [0; 6];
    output.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"before");
    from.set_read_deadline(Some(Instant::now() + Duration::from_millis(50)));
    let (copied, mut to) = copied.await.unwrap();
    assert_eq!(copied.unwrap_err().kind(), ErrorKind::TimedOut);
    // The copy can continue.
    from.set_read_deadline(None);
    peer.write_all(b"after").await.unwrap();
    drop(peer);
    assert_eq!(copy(&mut &*from, &mut to).await.unwrap(), 5);

    // A deadline of the writer, whose peer does not read.
    let (input, mut from) = tcp_in().await;
    let (mut to, _peer) = pair().await;
    go!(async move {
        let mut input = input;
        while input.write_all(&block(0)).await.is_ok() {}
    });
    to.set_write_deadline(Some(Instant::now() + Duration::from_millis(100)));
    let error = copy(&mut from, &mut to).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // The same for a copy from a file.
    to.set_write_deadline(Some(Instant::now()));
    let error = copy(&mut Blocking::new(filled(BLOCK)), &mut to).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[gmp::test]
async fn a_close_by_another_goroutine_ends_a_copy() {
    let (_peer, from) = pair().await;
    let from = Arc::new(from);
    let (mut to, _output) = tcp_out().await;
    let reader = from.clone();
    let copied = go!(async move { copy(&mut &*reader, &mut to).await });
    waiting("IO wait", 1).await;
    from.close();
    let error = copied.await.unwrap().unwrap_err();
    assert!(error.get_ref().unwrap().is::<gmp::net::Closed>(), "{error}");
}

/// A client finishes writing before it reads, through a proxy of each kind.
async fn ask_and_answer<A, B>(mut front: A, mut back: B, client: TcpStream, server: TcpStream)
where
    A: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let proxy = go!(async move { copy_bidirectional(&mut front, &mut back).await });
    let (question, answer) = (3 * BLOCK + 5, 7 * BLOCK + 9);
    let serves = go!(async move {
        check(&server, question).await;
        feed(&server, answer).await;
        server
    });
    feed(&client, question).await;
    check(&client, answer).await;
    assert_eq!(proxy.await.unwrap().unwrap(), (question as u64, answer as u64));
    drop(serves.await.unwrap());
}

#[gmp::test]
async fn the_end_of_one_direction_is_passed_on_and_the_other_continues() {
    let ((client, front), (back, server)) = (pair().await, pair().await);
    ask_and_answer(front, back, client, server).await;
    // One end is not a descriptor.
    let ((client, front), (back, server)) = (pair().await, pair().await);
    ask_and_answer(BufReader::new(front), back, client, server).await;
}

/// Both directions at full speed at the same time. Neither starves, and the bytes do not mix.
#[gmp::test]
async fn both_directions_are_copied_at_full_speed() {
    for procs in [1, 2] {
        let runtime = runtime(procs);
        let done = runtime.spawn(async {
            let ((client, mut front), (mut back, server)) = (pair().await, pair().await);
            let proxy = go!(async move { copy_bidirectional(&mut front, &mut back).await });
            let work = [client, server].map(|end| {
                let end = Arc::new(end);
                let writer = end.clone();
                (
                    go!(async move { feed(&*writer, LARGE).await }),
                    go!(async move {
                        check(&*end, LARGE).await;
                    }),
                )
            });
            for (fed, checked) in work {
                fed.await.unwrap();
                checked.await.unwrap();
            }
            proxy.await.unwrap().unwrap()
        });
        assert_eq!(done.await.unwrap(), (LARGE as u64, LARGE as u64));
    }
}

#[gmp::test]
async fn an_error_in_one_direction_ends_both() {
    let ((client, mut front), (mut back, server)) = (pair().await, pair().await);
    let proxy = go!(async move { copy_bidirectional(&mut front, &mut back).await });
    client.write_all(b"hello").await.unwrap();
    server.read_exact(&mut [0; 5]).await.unwrap();
    client.set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(proxy.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    // The goroutine has dropped both streams, so the server sees the end.
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
}

/// A reader and a writer that are always ready do not keep their goroutine on its P.
#[test]
fn endless_copies_yield() {
    let runtime = runtime(1);
    let gate = Arc::new(Gate::default());
    let opens = gate.clone();
    let endless =
        runtime.spawn(async { copy(&mut futures::io::repeat(1), &mut futures::io::sink()).await });
    let other = runtime.spawn(async move { opens.open() });
    gmp::block_on(gate.wait());
    gmp::block_on(other).unwrap();
    endless.abort();
    assert!(gmp::block_on(endless).unwrap_err().is_cancelled());
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Maximum number of pipes in the pool.
const POOLED: usize = 16;

#[test]
fn cancelled_and_idle_copies_leave_no_descriptor() {
    let name = "net_copy::cancelled_and_idle_copies_leave_no_descriptor";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = runtime(2);
    let work = runtime.spawn(async {
        drop(pair().await);
        let before = descriptors();
        for _ in 0..100 {
            // The last end does not read. When all buffers are full the copy waits with bytes in
            // its pipe.
            let ((input, mut from), (mut to, _end)) = (pair().await, pair().await);
            let fed = go!(async move { while input.write_all(&block(0)).await.is_ok() {} });
            let copied = go!(async move { copy(&mut from, &mut to).await });
            waiting("IO wait", 2).await;
            copied.abort();
            assert!(copied.await.unwrap_err().is_cancelled());
            fed.await.unwrap();
        }
        assert!(descriptors() <= before + POOLED, "{} of {before}", descriptors());

        let mut ends = Vec::new();
        for _ in 0..100 {
            let ((client, mut front), (mut back, server)) = (pair().await, pair().await);
            go!(async move { copy_bidirectional(&mut front, &mut back).await });
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0]).await.unwrap();
            ends.push((client, server));
        }
        waiting("IO wait", 100).await;
        assert!(descriptors() <= before + 400 + POOLED, "{} of {before}", descriptors());
    });
    gmp::block_on(work).unwrap();
}

/// Without descriptors for a pipe the copy uses a buffer.
#[test]
fn copy_works_without_descriptors_for_a_pipe() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let name = "net_copy::copy_works_without_descriptors_for_a_pipe";
    if !is_child() {
        let output = child(name, &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = runtime(2);
    let work = runtime.spawn(async {
        let ((input, from), (to, output)) = (tcp_in().await, tcp_out().await);
        let used = descriptors() as u64 - 1;
        setrlimit(Resource::Nofile, Rlimit { current: Some(used), maximum: Some(used) }).unwrap();
        through(10 * BLOCK + 1, (input, from), (to, output)).await;
    });
    gmp::block_on(work).unwrap();
}

const SPARSE: u64 = 8 << 20;

/// From file to file over two connections, and directly, without `read` and `write`.
fn copies_in_the_kernel() {
    let runtime = runtime(2);
    let work = runtime.spawn(async {
        let first = temporary();
        first.set_len(SPARSE).unwrap();
        for n in 0..16u64 {
            first.write_all_at(&n.to_le_bytes(), n * (SPARSE / 16) + n).unwrap();
        }
        let last_path = temporary_path("traced");
        let last = File::create(&last_path).unwrap();
        let second = temporary();
        let ((mut a, mut b), (mut c, mut d)) = (pair().await, UnixStream::pair().unwrap());
        let sent = go!(async move {
            let sent = copy(&mut Blocking::new(first), &mut a).await.unwrap();
            a.shutdown(Shutdown::Write).unwrap();
            sent
        });
        let passed = go!(async move {
            let passed = copy(&mut b, &mut c).await.unwrap();
            c.shutdown(Shutdown::Write).unwrap();
            passed
        });
        assert_eq!(copy(&mut d, &mut Blocking::new(&second)).await.unwrap(), SPARSE);
        assert_eq!((sent.await.unwrap(), passed.await.unwrap()), (SPARSE, SPARSE));
        (&second).rewind().unwrap();
        let copied = copy(&mut Blocking::new(second), &mut Blocking::new(last)).await.unwrap();
        assert_eq!(copied, SPARSE);
        println!("\nfile: {}", last_path.display());
    });
    gmp::block_on(work).unwrap();
}

#[test]
fn the_kernel_copies_between_descriptors() {
    if is_child() {
        return copies_in_the_kernel();
    }
    let calls =
        "read,write,readv,writev,recvfrom,sendto,recvmsg,sendmsg,splice,sendfile,copy_file_range";
    let what = "Which calls copy is untested.";
    let Some((printed, text)) =
        traced(calls, "net_copy::the_kernel_copies_between_descriptors", what)
    else {
        return;
    };
    let path = printed.lines().find_map(|line| line.strip_prefix("file: ")).expect("a path");
    let copied = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    let mut expected = vec![0; SPARSE as usize];
    for n in 0..16 {
        let at = n * (SPARSE as usize / 16) + n;
        expected[at..at + 8].copy_from_slice(&(n as u64).to_le_bytes());
    }
    assert!(copied == expected);

    let count = |call: &str| text.matches(&format!(" {call}(")).count();
    assert!(count("splice") > 0 && count("sendfile") > 0 && count("copy_file_range") > 0, "{text}");
    assert_eq!(count("recvfrom") + count("sendto") + count("recvmsg") + count("sendmsg"), 0);
    // The start of the process reads a little.
    let read =
        ["read", "write", "readv", "writev"].map(|call| moved(&text, call)).iter().sum::<u64>();
    assert!(read < SPARSE / 8, "{read} bytes came to the process");
}

/// Returns the sum of the results of all calls of `call`.
fn moved(trace: &str, call: &str) -> u64 {
    let calls = trace.lines().filter(|line| line.contains(&format!(" {call}(")));
    calls.filter_map(|line| line.rsplit_once("= ")?.1.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// Reports more bytes than it was offered. This is wrong, but safe code can do it.
struct Boaster;

impl AsyncRead for Boaster {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }
}

impl AsyncWrite for Boaster {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[gmp::test]
async fn an_impossible_count_of_a_reader_or_writer_panics() {
    let reads = go!(async { copy(&mut Boaster, &mut Cursor::new(Vec::new())).await });
    let text = reads.await.unwrap_err().to_string();
    assert!(text.contains("a reader says it has read 8193 bytes of 8192"), "{text}");
    let writes = go!(async { copy(&mut Cursor::new(vec![1; 3]), &mut Boaster).await });
    let text = writes.await.unwrap_err().to_string();
    assert!(text.contains("a writer says it has written 4 bytes of 3"), "{text}");
}
