//! Two kinds of work in one runtime: tasks that compute and an echo server. Clients measure the
//! server.

use crate::contestant::Contestant;
use crate::row::percentile;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The time that a computing task takes between two awaits: long for a task, short for Go's slice.
const CHUNK: Duration = Duration::from_millis(5);
/// Clients, a thread each.
const CLIENTS: usize = 4;
const SPAN: Duration = Duration::from_secs(4);
/// The time between an answer and the next request of a client.
const PAUSE: Duration = Duration::from_millis(2);

/// Starts one computing task per core.
pub(crate) fn start_hogs<C: Contestant>() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..cores {
        C::go(async {
            loop {
                let start = Instant::now();
                while start.elapsed() < CHUNK {
                    std::hint::spin_loop();
                }
                C::yield_now().await;
            }
        });
    }
}

/// Echoes until the end of the stream.
pub(crate) async fn echo<C: Contestant>(mut stream: C::Stream) {
    let mut buf = [0; 256];
    while let Ok(n @ 1..) = C::read(&mut stream, &mut buf).await {
        if C::write_all(&mut stream, &buf[..n]).await.is_err() {
            return;
        }
    }
}

/// Sends requests for a fixed time. Returns the 50th, 99th and 99.9th percentile of a round trip,
/// in µs.
pub(crate) fn measure(addr: &str) -> Vec<f64> {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| ask(addr))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    assert!(times.len() > 100, "only {} answers", times.len());
    [0.5, 0.99, 0.999].map(|part| percentile(&times, part).expect("there are answers")).into()
}

fn ask(addr: &str) -> Vec<f64> {
    let mut stream = TcpStream::connect(addr).expect("connect");
    stream.set_nodelay(true).expect("no delay");
    let (start, mut times) = (Instant::now(), Vec::new());
    let (ping, mut pong) = ([7; 64], [0; 64]);
    while start.elapsed() < SPAN {
        let asked = Instant::now();
        stream.write_all(&ping).expect("send");
        stream.read_exact(&mut pong).expect("an answer");
        assert_eq!(pong, ping);
        times.push(asked.elapsed().as_secs_f64() * 1e6);
        std::thread::sleep(PAUSE);
    }
    times
}
