//! Goroutines that block their threads do not stop a server in the same runtime.
//!
//! The goroutines block until external clients have had their echoes. If blocked threads stop the
//! server, the test hangs. `benches` measures how long an echo takes then.

use super::net_tcp::echo;
use super::support::{passed_in_child, runtime, until};
use gmp::go;
use gmp::net::TcpListener;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

const BLOCKED: usize = 100;
const CLIENTS: usize = 10;
const ECHOES: usize = 50;

#[test]
fn echo_server_runs_while_a_hundred_goroutines_block() {
    if passed_in_child("net_promise::echo_server_runs_while_a_hundred_goroutines_block") {
        return;
    }
    let fifos = Fifos::new(BLOCKED / 2);
    let runtime = runtime(2);
    let addr = gmp::block_on(runtime.spawn(serve())).unwrap();
    for _ in 0..3 {
        let blocked = Arc::new(AtomicUsize::new(0));
        let (mut ends, mut goroutines) = (Vec::new(), Vec::new());
        for fifo in &fifos.paths {
            let (end, ended) = mpsc::channel::<()>();
            let (in_lock, in_read, fifo) = (blocked.clone(), blocked.clone(), fifo.clone());
            goroutines.push(runtime.spawn(async move {
                in_lock.fetch_add(1, Ordering::Relaxed);
                ended.recv().unwrap();
            }));
            goroutines.push(runtime.spawn(async move {
                in_read.fetch_add(1, Ordering::Relaxed);
                assert_eq!(std::fs::read(fifo).unwrap(), b"x");
            }));
            ends.push(end);
        }
        // Each of them has its own thread, although there are two Ps.
        until(|| blocked.load(Ordering::Relaxed) == BLOCKED);
        let clients: Vec<_> = (0..CLIENTS).map(|_| std::thread::spawn(move || ask(addr))).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert!(goroutines.iter().all(|goroutine| !goroutine.is_finished()));
        ends.iter().for_each(|end| end.send(()).unwrap());
        fifos.paths.iter().for_each(|path| std::fs::write(path, b"x").unwrap());
        goroutines.into_iter().for_each(|goroutine| gmp::block_on(goroutine).unwrap());
    }
}

/// Starts an echo server and returns its address.
async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    go!(async move {
        while let Ok((stream, _)) = listener.accept().await {
            go!(echo(stream));
        }
    });
    addr
}

/// A client on an external thread.
fn ask(addr: SocketAddr) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_nodelay(true).unwrap();
    for _ in 0..ECHOES {
        let mut back = [0; 64];
        stream.write_all(&[7; 64]).unwrap();
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, [7; 64]);
    }
}

/// Named pipes. Opening or reading one blocks until a writer opens it.
struct Fifos {
    dir: PathBuf,
    paths: Vec<PathBuf>,
}

impl Fifos {
    fn new(n: usize) -> Self {
        let dir = std::env::temp_dir().join(format!("gmp-fifos-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let paths: Vec<_> = (0..n).map(|n| dir.join(n.to_string())).collect();
        for path in &paths {
            let status = std::process::Command::new("mkfifo").arg(path).status();
            assert!(status.is_ok_and(|status| status.success()), "mkfifo");
        }
        Self { dir, paths }
    }
}

impl Drop for Fifos {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
