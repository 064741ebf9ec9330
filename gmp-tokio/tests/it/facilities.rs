//! What needs a context of Tokio, in a goroutine.

use crate::{LONG, in_goroutine, thread_name};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::{self, JoinSet};
use tokio::time;

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn tasks_run_on_the_worker_of_tokio() {
    in_goroutine(async {
        assert!(gmp_rt::goid().is_some() && thread_name().starts_with("gmp-m"));
        let task = tokio::spawn(async { (gmp_rt::goid(), thread_name()) });
        assert_eq!(task.await.unwrap(), (None, "gmp-tokio".to_owned()));
        let mut set = JoinSet::new();
        (0..10).for_each(|n| _ = set.spawn(async move { n }));
        assert_eq!(set.join_all().await.into_iter().sum::<u32>(), 45);
        assert_eq!(tokio::runtime::Handle::current().metrics().num_workers(), 1);
    });
}

#[test]
fn blocking_closures_run_on_threads_of_tokio() {
    in_goroutine(async {
        assert_eq!(task::spawn_blocking(thread_name).await.unwrap(), "gmp-tokio");
        assert!(task::block_in_place(thread_name).starts_with("gmp-m"));
        let in_task = tokio::spawn(async { task::block_in_place(|| 1) });
        assert_eq!(in_task.await.unwrap(), 1, "the runtime is a multi-thread one");
    });
}

#[test]
fn timers_work() {
    in_goroutine(async {
        let start = Instant::now();
        time::sleep(SHORT).await;
        assert!(start.elapsed() >= SHORT);
        let mut interval = time::interval(SHORT);
        for _ in 0..3 {
            interval.tick().await;
        }
        assert!(start.elapsed() >= 3 * SHORT);
        time::timeout(SHORT, std::future::pending::<()>()).await.unwrap_err();
        // gmp's timeout around a future of Tokio, and the other way round.
        gmp_rt::timeout(SHORT, time::sleep(LONG)).await.unwrap_err();
        time::timeout(SHORT, gmp_rt::sleep(LONG)).await.unwrap_err();
    });
}

#[test]
fn tcp_and_udp_sockets_work() {
    in_goroutine(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = gmp_rt::spawn(async move {
            let (mut stream, _peer) = listener.accept().await.unwrap();
            let mut buf = [0; 4];
            while stream.read_exact(&mut buf).await.is_ok() {
                stream.write_all(&buf).await.unwrap();
            }
        });
        let mut stream = TcpStream::connect(addr).await.unwrap();
        for n in 0..100u32 {
            stream.write_all(&n.to_be_bytes()).await.unwrap();
            assert_eq!(stream.read_u32().await.unwrap(), n);
        }
        drop(stream);
        server.await.unwrap();

        let [a, b] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
        let (a, b) = (a.await.unwrap(), b.await.unwrap());
        let receives = gmp_rt::spawn({
            let a = a.local_addr().unwrap();
            async move {
                b.connect(a).await.unwrap();
                b.send(b"hello").await.unwrap();
                b
            }
        });
        let mut buf = [0; 8];
        let (len, from) = a.recv_from(&mut buf).await.unwrap();
        assert_eq!(&buf[..len], b"hello");
        assert_eq!(from, receives.await.unwrap().local_addr().unwrap());
    });
}

#[test]
fn names_are_resolved() {
    in_goroutine(async {
        let addrs: Vec<_> = tokio::net::lookup_host("localhost:7").await.unwrap().collect();
        assert!(addrs.iter().all(|addr| addr.ip().is_loopback()) && !addrs.is_empty());
    });
}

#[test]
fn files_work() {
    in_goroutine(async {
        let path = std::env::temp_dir().join(format!("gmp-tokio-{}", std::process::id()));
        tokio::fs::write(&path, "text").await.unwrap();
        assert_eq!(tokio::fs::read_to_string(&path).await.unwrap(), "text");
        tokio::fs::remove_file(&path).await.unwrap();
        let error = tokio::fs::read(&path).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    });
}

/// A goroutine may move to another thread at each await. All of them have the same context.
#[test]
fn every_worker_thread_has_the_context() {
    in_goroutine(async {
        let ids = (0..100).map(|n| {
            gmp_rt::spawn(async move {
                let first = crate::tokio_id().unwrap();
                if n % 10 == 0 {
                    // Blocks a worker thread, so others start.
                    std::thread::sleep(SHORT);
                }
                gmp_rt::yield_now().await;
                time::sleep(SHORT).await;
                (first, crate::tokio_id().unwrap())
            })
        });
        let here = crate::tokio_id().unwrap();
        for ids in ids.collect::<Vec<_>>() {
            assert_eq!(ids.await.unwrap(), (here, here));
        }
        let closure = gmp_rt::spawn_blocking(crate::tokio_id);
        assert_eq!(closure.await.unwrap(), Some(here));
    });
}

#[cfg(unix)]
mod unix {
    use crate::in_goroutine;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use tokio::process::Command;
    use tokio::signal::unix::{SignalKind, signal};

    #[test]
    fn unix_sockets_work() {
        in_goroutine(async {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            let reads = gmp_rt::spawn(async move { b.read_u64().await });
            a.write_u64(7).await.unwrap();
            assert_eq!(reads.await.unwrap().unwrap(), 7);
        });
    }

    #[test]
    fn processes_and_signals_work() {
        in_goroutine(async {
            let output = Command::new("echo").arg("hello").output().await.unwrap();
            assert_eq!(output.stdout, b"hello\n");
            let mut signals = signal(SignalKind::user_defined2()).unwrap();
            let me = std::process::id().to_string();
            let status = Command::new("kill").args(["-USR2", &me]).status().await.unwrap();
            assert!(status.success());
            assert_eq!(signals.recv().await, Some(()));
        });
    }
}
