//! Many connections leak neither descriptors nor memory, and an idle connection uses little memory.

use crate::alone;
use crate::live_bytes::{allocated, live};
use crate::support::net::echo;
use crate::support::{not_checked, passed_in_child, runtime, until};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of waves, and of connections in a wave.
const WAVES: u8 = 40;
const WAVE: usize = 500;

/// Number of waves in which caches grow to the size that a wave needs.
const WARM_UP: u8 = 20;

/// Returns the number of descriptors of this process. Files that sysmon reads now and then, and the
/// folder that this function reads, do not count.
fn descriptors() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = all.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    targets.filter(|target| !["/proc", "/sys"].iter().any(|of| target.starts_with(of))).count()
}

/// Raises the limit of descriptors to its maximum and returns it.
fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| n as usize)
}

/// 20,000 connections in waves of 500. Each wave uses its own address, so that ports suffice.
#[test]
fn waves_of_connections_leak_nothing() {
    let _alone = alone();
    if passed_in_child("net_scale::waves_of_connections_leak_nothing") {
        return;
    }
    assert!(raise_limit() >= 1100, "1000 sockets at a time");
    let runtime = runtime(2);
    let work = runtime.spawn(async {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let listener = Arc::new(listener);
        let accepting = listener.clone();
        let server = go!(async move {
            while let Ok((stream, _)) = accepting.accept().await {
                go!(echo(stream));
            }
        });
        let (mut fds, mut memory) = (0, 0);
        for wave in 1..=WAVES {
            let addr = (Ipv4Addr::new(127, 0, 0, wave), port);
            let clients: Vec<_> = (0..WAVE)
                .map(|n| {
                    go!(async move {
                        let stream = TcpStream::connect(addr).await.unwrap();
                        let mut back = [0; 8];
                        stream.write_all(&n.to_le_bytes()).await.unwrap();
                        stream.read_exact(&mut back).await.unwrap();
                        assert_eq!(usize::from_le_bytes(back), n);
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
            // The goroutines of the echo server end last: this one and the accept loop remain.
            while gmp::num_goroutine() > 2 {
                gmp::sleep(std::time::Duration::from_millis(1)).await;
            }
            if wave <= WARM_UP {
                (fds, memory) = (descriptors(), allocated().max(memory));
            }
        }
        assert_eq!(descriptors(), fds, "descriptors leak");
        let grown = allocated().saturating_sub(memory);
        let connections = usize::from(WAVES - WARM_UP) * WAVE;
        // A connection needs more than a hundred bytes.
        assert!(grown < 32 * connections, "{grown} bytes more after {connections} connections");
        listener.close();
        server.await.unwrap();
    });
    gmp::block_on(work).unwrap();
}

/// 10,000 idle connections, both ends in this process, a goroutine at each end.
#[test]
fn idle_connections_take_less_than_2_kb() {
    let _alone = alone();
    if passed_in_child("net_scale::idle_connections_take_less_than_2_kb") {
        return;
    }
    let wanted = 10_000;
    let limit = raise_limit();
    let n = wanted.min(limit.saturating_sub(100) / 2);
    if n < wanted {
        not_checked(&format!("the limit of descriptors is {limit}"), "10,000 connections at once");
    }
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    let work = runtime.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let parked = Arc::new(AtomicUsize::new(0));
        // Reads into the smallest possible buffer, so the future is small.
        let idle = |stream: TcpStream, parked: &Arc<AtomicUsize>| {
            let parked = parked.clone();
            go!(async move {
                parked.fetch_add(1, Ordering::Relaxed);
                assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 1);
                stream
            })
        };
        let before = live(&handle);
        let mut ends = Vec::new();
        for _ in 0..n {
            let client = TcpStream::connect(addr).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            go!(async move {
                let _ = client.read(&mut [0; 1]).await;
            });
            ends.push(idle(server, &parked));
        }
        until(|| parked.load(Ordering::Relaxed) == n);
        let each = (live(&handle) - before) / n;
        println!("\ngmp: {n} idle connections, two goroutines each: {each} bytes per connection");
        assert!(each < 2048, "{each} bytes per connection");
    });
    gmp::block_on(work).unwrap();
}
