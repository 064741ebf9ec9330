//! The redis crate with a real server.

use crate::{Folder, LONG, stderr, stdout};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A redis-server at a free port, killed on drop.
struct Redis {
    child: Child,
    port: u16,
    _folder: Folder,
}

impl Redis {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        // Another process may take the port in between.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(child) = Self::start_at(port, &folder) {
                return Self { child, port, _folder: folder };
            }
        }
        panic!("redis-server does not start");
    }

    /// Returns `None` if the server ends at once.
    fn start_at(port: u16, folder: &Folder) -> Option<Child> {
        let mut child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--appendonly", "no", "--dir"])
            .arg(&folder.0)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server (Debian package redis-server)");
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(start.elapsed() < LONG, "redis-server does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(child)
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    async fn connect(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url()).unwrap();
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(LONG));
        client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn count_words(url: &str, file: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redis")).args([url, file]).output().unwrap()
}

#[test]
fn the_program_counts_words() {
    let redis = Redis::start("words");
    let folder = Folder::new("text");
    let file = folder.file("text");
    std::fs::write(&file, "a b a C c\n".repeat(50) + "c").unwrap();
    assert_eq!(stdout(&count_words(&redis.url(), &file)), "101 c\n100 a\n50 b\n");
    let url = redis.url();
    drop(redis);
    let refused = stderr(&count_words(&url, &file));
    assert!(refused.contains("refused"), "{refused}");
}

#[gmp::test(tokio)]
async fn goroutines_share_a_connection() {
    let redis = Redis::start("shared");
    let connection = redis.connect().await;
    let adders = (0..50).map(|_| {
        let mut connection = connection.clone();
        gmp::go!(async move {
            for _ in 0..20 {
                let _: i64 = connection.incr("count", 1).await.unwrap();
            }
        })
    });
    for adder in adders.collect::<Vec<_>>() {
        adder.await.unwrap();
    }
    let mut connection = connection;
    assert_eq!(connection.get::<_, i64>("count").await.unwrap(), 1000);
}

#[gmp::test(tokio)]
async fn a_server_that_goes_away_is_an_error() {
    let redis = Redis::start("gone");
    let mut connection = redis.connect().await;
    let mut waits = redis.connect().await;
    let popped = gmp::go!(async move { waits.blpop::<_, (String, String)>("empty", 0.0).await });
    let _: () = connection.set("key", 1).await.unwrap();
    gmp::block_in_place(|| drop(redis));
    let error = popped.await.unwrap().unwrap_err();
    assert!(!error.is_timeout(), "{error}");
    assert!(connection.get::<_, i64>("key").await.is_err());
}
