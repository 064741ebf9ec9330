//! Many bytes over one TCP connection.

use crate::contestant::Contestant;
use crate::workload::per_op;
use std::sync::Arc;

/// Bytes of one write, and of the reader's buffer.
const CHUNK: usize = 64 << 10;
/// Writes of one round: a quarter of a GiB.
const WRITES: usize = 4096;
/// Writes of a GiB.
const WRITES_PER_GIB: f64 = (1 << 30) as f64 / CHUNK as f64;

/// Runs the workload and returns milliseconds per GiB.
pub(crate) fn run<C: Contestant>(name: &str) -> Option<f64> {
    (name == "bulk").then(|| C::run(bulk::<C>()))
}

async fn bulk<C: Contestant>() -> f64 {
    let (listener, addr) = C::listen().await;
    let listener = Arc::new(listener);
    let nanos_per_write = per_op(WRITES as u32, move || {
        let listener = listener.clone();
        async move {
            let reader = C::spawn(async move { drain::<C>(C::accept(&listener).await).await });
            fill::<C>(C::connect(addr).await).await;
            assert_eq!(reader.await, WRITES * CHUNK);
        }
    });
    nanos_per_write.await * WRITES_PER_GIB / 1e6
}

/// Returns the first byte of a chunk: its number modulo 251.
fn mark(chunk: usize) -> u8 {
    (chunk % 251) as u8
}

/// Writes all chunks and closes the connection.
async fn fill<C: Contestant>(mut stream: C::Stream) {
    let mut chunk = vec![0u8; CHUNK];
    for n in 0..WRITES {
        chunk[0] = mark(n);
        C::write_all(&mut stream, &chunk).await.expect("send a chunk");
    }
}

/// Reads to the end and checks the marks. Returns the number of bytes.
async fn drain<C: Contestant>(mut stream: C::Stream) -> usize {
    let (mut buf, mut total) = (vec![0u8; CHUNK], 0);
    loop {
        let n = C::read(&mut stream, &mut buf).await.expect("receive");
        if n == 0 {
            return total;
        }
        check_mark(&buf[..n], total);
        total += n;
    }
}

/// Checks the mark in `bytes`, which begin at `offset` of the stream and are at most one chunk.
fn check_mark(bytes: &[u8], offset: usize) {
    let chunk = offset.div_ceil(CHUNK);
    if let Some(first) = bytes.get(chunk * CHUNK - offset) {
        assert_eq!(*first, mark(chunk), "chunk {chunk} begins at the wrong byte");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_wherever_a_read_begins() {
        let mut bytes = vec![0; CHUNK];
        bytes[10] = mark(3);
        check_mark(&bytes, 3 * CHUNK - 10);
        check_mark(&bytes[..10], 3 * CHUNK - 10);
        bytes[0] = mark(3);
        check_mark(&bytes, 3 * CHUNK);
    }

    #[test]
    #[should_panic(expected = "chunk 3")]
    fn a_lost_byte_is_noticed_by_a_read_that_begins_at_a_chunk() {
        let mut bytes = vec![0; CHUNK];
        bytes[1] = mark(3);
        check_mark(&bytes, 3 * CHUNK);
    }

    #[test]
    #[should_panic(expected = "chunk 3")]
    fn a_lost_byte_is_noticed() {
        let mut bytes = vec![0; CHUNK];
        bytes[9] = mark(3);
        check_mark(&bytes, 3 * CHUNK - 10);
    }
}
