//! Many connections: nothing leaks, and one that idles takes little.

use super::net_tcp::echo;
use super::support::{child, is_child, runtime, until};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Bytes of memory this process has.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// As many descriptors as this process may have.
fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| n as usize)
}

fn in_child(name: &str) -> bool {
    if is_child() {
        return false;
    }
    let output = child(name, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    told.lines().filter(|line| line.starts_with("gmp: ")).for_each(|line| println!("{line}"));
    true
}

/// 20,000 connections in waves of 500, each to an address of its own, so that ports last.
#[test]
fn waves_leak_nothing() {
    if in_child("net_scale::waves_leak_nothing") {
        return;
    }
    assert!(raise_limit() >= 1100, "1000 sockets at a time");
    const WAVES: u8 = 40;
    const WAVE: usize = 500;
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
        let mut settled = None;
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
            // The ends of the server are on their way: this goroutine and the server's remain.
            while gmp::num_goroutine() > 2 {
                gmp::sleep(std::time::Duration::from_millis(1)).await;
            }
            // The first waves fill caches.
            if wave == 5 {
                settled = Some((descriptors(), resident()));
            }
        }
        let (fds, memory) = settled.unwrap();
        assert_eq!(descriptors(), fds, "descriptors leak");
        let grown = resident().saturating_sub(memory);
        assert!(grown < 4 << 20, "{grown} bytes more after 17,500 connections");
        listener.close();
        server.await.unwrap();
    });
    gmp::block_on(work).unwrap();
}

/// 10,000 connections that idle, both ends in this process, a goroutine at each.
#[test]
fn idle_connections_take_little() {
    if in_child("net_scale::idle_connections_take_little") {
        return;
    }
    let wanted = 10_000;
    let limit = raise_limit();
    let n = wanted.min(limit.saturating_sub(100) / 2);
    if n < wanted {
        eprintln!("\n*** only {n} connections: the limit of descriptors is {limit}\n");
    }
    let runtime = runtime(2);
    let work = runtime.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let parked = Arc::new(AtomicUsize::new(0));
        // A read that waits, with the smallest buffer there is.
        let idle = |stream: TcpStream, parked: &Arc<AtomicUsize>| {
            let parked = parked.clone();
            go!(async move {
                parked.fetch_add(1, Ordering::Relaxed);
                assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 1);
                stream
            })
        };
        let before = resident();
        let mut ends = Vec::new();
        for _ in 0..n {
            let client = TcpStream::connect(addr).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            go!(async move {
                // Its only job is to be there.
                let _ = client.read(&mut [0; 1]).await;
            });
            ends.push(idle(server, &parked));
        }
        until(|| parked.load(Ordering::Relaxed) == n);
        let each = (resident() - before) / n;
        println!("\ngmp: {n} idle connections, two goroutines each: {each} bytes per connection");
        assert!(each < 2048, "{each} bytes per connection");
    });
    gmp::block_on(work).unwrap();
}
