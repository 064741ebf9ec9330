//! The example `mini_redis`, tested by hand and with Redis's own clients.

use super::support::not_checked;
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use std::net::SocketAddr;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

// The example itself, as users run it.
#[allow(dead_code)]
#[path = "../../examples/mini_redis/main.rs"]
mod server;

/// Starts a server that lives as long as the runtime of the test.
async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    go!(async move { server::listen(listener).await });
    addr
}

/// Reads this number of bytes.
async fn read(stream: &TcpStream, n: usize) -> String {
    let mut buf = vec![0; n];
    stream.read_exact(&mut buf).await.unwrap();
    String::from_utf8(buf).unwrap()
}

/// Reads exactly these bytes.
async fn expect(stream: &TcpStream, reply: &str) {
    assert_eq!(read(stream, reply.len()).await, reply);
}

/// Sends a line and reads the reply to it.
async fn ask(stream: &TcpStream, line: &str, reply: &str) {
    stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
    expect(stream, reply).await;
}

/// The request as a client sends it.
fn request(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    bytes.into_bytes()
}

#[gmp::test]
async fn commands_get_the_replies_of_redis() {
    let stream = TcpStream::connect(start().await).await.unwrap();
    let begin = Instant::now();
    for (line, reply) in [
        ("PING", "+PONG\r\n"),
        ("ping hello", "$5\r\nhello\r\n"),
        ("GET k", "$-1\r\n"),
        ("SET k v", "+OK\r\n"),
        ("GET k", "$1\r\nv\r\n"),
        ("SET k w NX", "$-1\r\n"),
        ("SET k w XX", "+OK\r\n"),
        ("GET k", "$1\r\nw\r\n"),
        ("TTL k", ":-1\r\n"),
        ("EXPIRE k 200000", ":1\r\n"),
        ("TTL k", "at most 200000"),
        ("PERSIST k", ":1\r\n"),
        ("PERSIST k", ":0\r\n"),
        ("TTL k", ":-1\r\n"),
        ("EXPIRE no 1", ":0\r\n"),
        ("TTL no", ":-2\r\n"),
        ("EXISTS k no k", ":2\r\n"),
        ("EXPIRE k -1", ":1\r\n"),
        ("GET k", "$-1\r\n"),
        ("SET k v EX 200000 NX", "+OK\r\n"),
        ("TTL k", "at most 200000"),
        ("SET k v", "+OK\r\n"),
        ("TTL k", ":-1\r\n"),
        ("DEL k no", ":1\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("SET k v EX 0", "-ERR invalid expire time in 'set' command\r\n"),
        ("SET k v EX x", "-ERR value is not an integer or out of range\r\n"),
        ("SET k v EX", "-ERR syntax error\r\n"),
        ("SET k v NX XX", "-ERR syntax error\r\n"),
        ("SET k v EX 1 PX 1", "-ERR syntax error\r\n"),
        ("EXPIRE k +1", "-ERR value is not an integer or out of range\r\n"),
        ("EXPIRE k 9223372036854775807", "-ERR value is not an integer or out of range\r\n"),
        ("GET", "-ERR wrong number of arguments for 'get' command\r\n"),
        ("NONSENSE 1", "-ERR unknown command 'NONSENSE'\r\n"),
        ("QUIT", "+OK\r\n"),
    ] {
        let Some(most) = reply.strip_prefix("at most ") else {
            ask(&stream, line, reply).await;
            continue;
        };
        stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        let answer = read(&stream, format!(":{most}\r\n").len()).await;
        let ttl: u64 = answer.strip_prefix(':').unwrap().trim_end().parse().unwrap();
        let most: u64 = most.parse().unwrap();
        assert!((most - begin.elapsed().as_secs() - 1..=most).contains(&ttl), "{line}: {ttl}");
    }
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "QUIT ends the connection");
}

#[gmp::test]
async fn a_key_expires_at_its_time() {
    let stream = TcpStream::connect(start().await).await.unwrap();
    let set = Instant::now();
    ask(&stream, "SET k v PX 50", "+OK\r\n").await;
    loop {
        stream.write_all(b"EXISTS k\r\n").await.unwrap();
        let mut reply = [0; 4];
        stream.read_exact(&mut reply).await.unwrap();
        if &reply == b":0\r\n" {
            break;
        }
        assert_eq!(&reply, b":1\r\n");
        assert!(set.elapsed() < Duration::from_secs(60), "it never ends");
        gmp::sleep(Duration::from_millis(1)).await;
    }
    assert!(set.elapsed() >= Duration::from_millis(50));
}

/// The result does not depend on how the bytes are split.
#[gmp::test]
async fn requests_may_come_in_pieces_and_many_at_once() {
    let addr = start().await;
    let stream = TcpStream::connect(addr).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let value = "x\r\n$".repeat(20_000);
    let mut bytes = request(&["SET", "big", &value]);
    bytes.extend(request(&["PING"]));
    for piece in bytes.chunks(4099) {
        stream.write_all(piece).await.unwrap();
        gmp::yield_now().await;
    }
    expect(&stream, "+OK\r\n+PONG\r\n").await;
    ask(&stream, "GET big", &format!("${}\r\n{value}\r\n", value.len())).await;
    for byte in request(&["ECHO", "", ""]) {
        stream.write_all(&[byte]).await.unwrap();
    }
    expect(&stream, "-ERR wrong number of arguments for 'echo' command\r\n").await;

    let stream = std::sync::Arc::new(stream);
    let writer = stream.clone();
    let sent = go!(async move {
        for n in 0..20_000 {
            let n = n.to_string();
            let pair = [request(&["SET", "n", &n]), request(&["GET", "n"])].concat();
            writer.write_all(&pair).await.unwrap();
        }
    });
    for n in 0..20_000 {
        let n = n.to_string();
        expect(&stream, &format!("+OK\r\n${}\r\n{n}\r\n", n.len())).await;
    }
    sent.await.unwrap();
}

#[gmp::test]
async fn an_invalid_request_ends_the_connection() {
    let addr = start().await;
    for (bytes, why) in [
        (&b"*1\r\n+PING\r\n"[..], "expected '$'"),
        (b"*x\r\n", "invalid multibulk length"),
        (b"*1048577\r\n", "invalid multibulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n$1\r\nabc", "a bulk string without its end"),
        (&[b'x'; 64 * 1024], "too big inline request"),
    ] {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        expect(&stream, &format!("-ERR Protocol error: {why}\r\n")).await;
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
    }
}

/// The server stops reading from a client that never reads its replies, so its memory stays
/// bounded.
#[gmp::test]
async fn unread_replies_stop_the_reading_of_requests() {
    let stream = TcpStream::connect(start().await).await.unwrap();
    let text = "v".repeat(100_000);
    let echo = request(&["ECHO", &text]);
    let (mut sent, mut quiet) = (0, 0);
    // Three writes in a row timed out: all buffers are full.
    while quiet < 3 {
        stream.set_write_deadline(Some(Instant::now() + Duration::from_millis(100)));
        match stream.write(&echo[sent % echo.len()..]).await {
            Ok(n) => (sent, quiet) = (sent + n, 0),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => quiet += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(sent < 256 << 20, "the server takes whatever comes");
    }
    // When the client reads, the server continues and answers each complete request.
    let one = format!("${}\r\n{text}\r\n", text.len());
    let mut buf = vec![0; one.len()];
    for _ in 0..sent / echo.len() {
        stream.read_exact(&mut buf).await.unwrap();
        assert!(buf == one.as_bytes());
    }
}

/// Runs a client of Redis. Reports that it is missing and returns `None` if it is not installed.
async fn client(name: &'static str, args: &[&str], addr: SocketAddr) -> Option<Output> {
    let mut command = Command::new(name);
    command.args(["-p", &addr.port().to_string()]).args(args);
    match gmp::spawn_blocking(move || command.output()).await.unwrap() {
        Ok(output) => Some(output),
        Err(error) => {
            not_checked(
                &format!("{name}: {error} (`apt-get install redis-tools`)."),
                "The example mini_redis is untested with Redis's own clients.",
            );
            None
        }
    }
}

#[gmp::test]
async fn redis_cli_gets_its_replies() {
    let addr = start().await;
    for (line, reply) in [
        ("SET greeting hello EX 100000", "OK"),
        ("GET greeting", "hello"),
        ("TTL greeting", "at most 100000"),
        ("EXPIRE greeting 70000", "1"),
        ("TTL greeting", "at most 70000"),
        ("DEL greeting", "1"),
        ("GET greeting", ""),
        ("PING", "PONG"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let Some(output) = client("redis-cli", &words, addr).await else { return };
        assert!(output.status.success(), "{output:?}");
        let answer = String::from_utf8_lossy(&output.stdout);
        match reply.strip_prefix("at most ") {
            None => assert_eq!(answer.trim(), reply, "{line}"),
            // The client may take up to an hour to start.
            Some(most) => {
                let (most, ttl): (u64, u64) =
                    (most.parse().unwrap(), answer.trim().parse().unwrap());
                assert!((most - 3600..=most).contains(&ttl), "{line}: {ttl}");
            }
        }
    }
}

/// A hundred clients, one request at a time and sixteen at a time.
#[gmp::test]
async fn redis_benchmark_runs_to_its_end() {
    let addr = start().await;
    for pipeline in ["1", "16"] {
        let args = ["-c", "100", "-n", "10000", "-r", "1000", "-P", pipeline, "--csv"];
        for test in [
            &["-t", "ping,set,get"][..],
            &["DEL", "key:__rand_int__"],
            &["EXPIRE", "key:__rand_int__", "100"],
        ] {
            let args = [&args[..], test].concat();
            let Some(output) = client("redis-benchmark", &args, addr).await else { return };
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
            let tests = if test[0] == "-t" { 4 } else { 1 };
            assert_eq!(printed.lines().count(), 1 + tests, "{printed}");
            assert!(!printed.to_lowercase().contains("err"), "{printed}");
        }
    }
}
