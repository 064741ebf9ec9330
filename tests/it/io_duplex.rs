//! Streams in memory, halves of any stream, and lines.
#![cfg(unix)]

use super::support::{runtime, test_seed, waiting};
use futures::FutureExt;
use futures::task::noop_waker;
use gmp::go;
use gmp::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
    ErrorKind, LinesExt, copy_bidirectional, duplex, split,
};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs `work` in a goroutine of a runtime with `procs` Ps.
fn run<T: Send + 'static>(procs: usize, work: impl Future<Output = T> + Send + 'static) -> T {
    gmp::block_on(runtime(procs).spawn(work)).unwrap()
}

#[test]
fn each_end_reads_what_the_other_writes() {
    run(1, async {
        let (mut a, mut b) = duplex(16);
        a.write_all(b"ping").await.unwrap();
        b.write_all(b"pong!").await.unwrap();
        a.close().await.unwrap();
        let mut text = String::new();
        b.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "ping");
        // The other direction is still open.
        b.write_all(b"more").await.unwrap();
        drop(b);
        text.clear();
        a.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "pong!more");
    });
}

#[test]
fn waits_end_with_the_other_end() {
    run(1, async {
        let (mut full, kept) = duplex(4);
        full.write_all(b"four").await.unwrap();
        let writes = go!(async move { full.write_all(b"five!").await });
        let (mut empty, other) = duplex(4);
        let reads = go!(async move { empty.read(&mut [0; 4]).await });
        waiting("duplex write", 1).await;
        waiting("duplex read", 1).await;
        drop(kept);
        assert_eq!(writes.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        drop(other);
        assert_eq!(reads.await.unwrap().unwrap(), 0);
    });
}

#[test]
fn a_read_makes_space_for_a_write_that_waits() {
    run(1, async {
        let (mut a, mut b) = duplex(4);
        let writes = go!(async move { a.write_all(b"0123456789").await });
        waiting("duplex write", 1).await;
        let mut all = Vec::new();
        b.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"0123456789");
        writes.await.unwrap().unwrap();
    });
}

#[test]
#[should_panic(expected = "a capacity of at least one byte")]
fn a_stream_without_capacity() {
    let _ = duplex(0);
}

/// What one direction of a stream has to do.
#[derive(Default)]
struct Model {
    bytes: VecDeque<u8>,
    capacity: usize,
    is_finished: bool,
    is_abandoned: bool,
}

impl Model {
    fn read(&mut self, most: usize) -> Poll<Vec<u8>> {
        if most > 0 && self.bytes.is_empty() && !self.is_finished {
            return Poll::Pending;
        }
        let n = most.min(self.bytes.len());
        Poll::Ready(self.bytes.drain(..n).collect())
    }

    fn write(&mut self, bytes: &[u8]) -> Poll<Result<usize, ErrorKind>> {
        let n = bytes.len().min(self.capacity - self.bytes.len());
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if self.is_finished || self.is_abandoned {
            return Poll::Ready(Err(ErrorKind::BrokenPipe));
        }
        if n == 0 {
            return Poll::Pending;
        }
        self.bytes.extend(&bytes[..n]);
        Poll::Ready(Ok(n))
    }
}

/// Random operations, each of which is given up after one poll, against the model.
#[test]
fn operations_dropped_at_any_poll_agree_with_the_model() {
    let mut random = test_seed();
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % bound
    };
    let waker = noop_waker();
    let mut cx = Context::from_waker(&waker);
    let (mut waits, mut broken) = (0, 0);
    for _ in 0..500 {
        let capacity = 1 + below(9);
        let (a, b) = duplex(capacity);
        let mut ends = [Some(a), Some(b)];
        // The model of the direction that each end writes to.
        let mut models = [(); 2].map(|()| Model { capacity, ..Model::default() });
        let mut next = 0;
        for _ in 0..60 {
            let me = below(2);
            let Some(end) = &mut ends[me] else { continue };
            let size = below(6);
            match below(20) {
                0 => {
                    assert!(Pin::new(end).poll_close(&mut cx).is_ready());
                    models[me].is_finished = true;
                }
                1 => {
                    ends[me] = None;
                    models[me].is_finished = true;
                    models[1 - me].is_abandoned = true;
                    models[1 - me].bytes.clear();
                }
                2..10 => {
                    let mut buf = vec![0; size];
                    let read = Pin::new(end).poll_read(&mut cx, &mut buf);
                    let read = read.map(|n| buf[..n.unwrap()].to_vec());
                    waits += usize::from(read.is_pending());
                    assert_eq!(read, models[1 - me].read(size));
                }
                _ => {
                    let bytes: Vec<u8> = (next..).take(size).map(|n| n as u8).collect();
                    let wrote = Pin::new(end).poll_write(&mut cx, &bytes);
                    let wrote = wrote.map_err(|error| error.kind());
                    waits += usize::from(wrote.is_pending());
                    broken += usize::from(matches!(wrote, Poll::Ready(Err(_))));
                    assert_eq!(wrote, models[me].write(&bytes));
                    next += if let Poll::Ready(Ok(n)) = wrote { n } else { 0 };
                }
            }
        }
    }
    assert!(waits > 0 && broken > 0, "the operations reach no wait or no closed stream");
}

#[test]
fn many_bytes_through_a_small_buffer() {
    const SIZE: usize = 100_000;
    run(2, async {
        let (near, far) = duplex(61);
        let (mut reader, mut writer) = split(near);
        let data: Vec<u8> = (0..SIZE).map(|n| (n / 3) as u8).collect();
        let sent = data.clone();
        let writes = go!(async move {
            for part in sent.chunks(97) {
                writer.write_all(part).await?;
            }
            writer.close().await
        });
        let echo = go!(async move {
            let (mut from, mut to) = split(far);
            gmp::io::copy(&mut from, &mut to).await.unwrap();
            from.reunite(to).expect("halves of one stream").close().await
        });
        let mut back = Vec::new();
        reader.read_to_end(&mut back).await.unwrap();
        assert!(back == data, "{} of {SIZE} bytes", back.len());
        writes.await.unwrap().unwrap();
        echo.await.unwrap().unwrap();
    });
}

#[test]
fn a_proxy_between_two_streams() {
    run(2, async {
        let ((mut client, mut front), (mut back, mut server)) = (duplex(8), duplex(8));
        let proxy = go!(async move { copy_bidirectional(&mut front, &mut back).await });
        client.write_all(b"question").await.unwrap();
        client.close().await.unwrap();
        let mut text = String::new();
        server.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "question");
        server.write_all(b"a longer answer").await.unwrap();
        drop(server);
        text.clear();
        client.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "a longer answer");
        assert_eq!(proxy.await.unwrap().unwrap(), (8, 15));
    });
}

#[test]
fn a_dropped_next_line_loses_nothing() {
    run(1, async {
        let (near, mut far) = duplex(64);
        let mut lines = BufReader::new(near).lines();
        far.write_all(b"a line\r\nhalf of ").await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "a line");
        assert!(lines.next_line().now_or_never().is_none());
        far.write_all(b"a line\n\xff\xfe\nlast").await.unwrap();
        drop(far);
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "half of a line");
        assert_eq!(lines.next_line().await.unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "last");
        assert_eq!(lines.next_line().await.unwrap(), None);
    });
}

/// The prelude has the extension traits, and they change no method of a socket or channel.
#[test]
fn the_prelude_has_the_extension_traits() {
    use gmp::prelude::*;
    run(1, async {
        let (mut near, mut far): (DuplexStream, DuplexStream) = duplex(64);
        near.write_all(b"one\ntwo\n").await.unwrap();
        near.close().await.unwrap();
        let mut text = [0; 4];
        far.read_exact(&mut text).await.unwrap();
        let mut lines = BufReader::new(far).lines();
        assert_eq!(lines.next().await.unwrap().unwrap(), "two");
        let (tx, rx) = chan(1);
        tx.send(1).await.unwrap();
        assert_eq!(rx.recv().await, Ok(1));
        tx.close();
        assert!(rx.recv().await.is_err());
    });
}
