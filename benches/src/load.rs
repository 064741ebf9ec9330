//! Servers under the load of clients: `wrk`, `redis-benchmark`, and threads of this process.
//!
//! The server is a separate process ([`crate::server`]). The client runs on the same machine for
//! every contestant. A row whose client is not installed is left out.

use crate::mixed;
use crate::programs::Program;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// A client and what it measures.
#[derive(Debug)]
pub(crate) struct Load {
    /// The protocol of the server.
    protocol: &'static str,
    client: Client,
}

#[derive(Debug)]
enum Client {
    /// `wrk` with this many connections: nanoseconds per request, and the 99th percentile in µs.
    Wrk { connections: u32 },
    /// `redis-benchmark`, GET with 50 connections and this many requests at once: the same figures.
    Redis { pipeline: u32 },
    /// Threads of this process: three percentiles in µs.
    Threads,
}

/// The answer of a contestant.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The figures of the workload.
    Figures(Vec<f64>),
    /// The program does not know the workload.
    Unknown,
}

/// Returns the load of a row.
pub(crate) fn find(name: &str) -> Option<Load> {
    let (protocol, client) = match name {
        "http64" => ("http", Client::Wrk { connections: 64 }),
        "http512" => ("http", Client::Wrk { connections: 512 }),
        "mixed" => ("mixed", Client::Threads),
        "redis" => ("redis", Client::Redis { pipeline: 1 }),
        "redis16" => ("redis", Client::Redis { pipeline: 16 }),
        _ => return None,
    };
    Some(Load { protocol, client })
}

/// Ends the server when the measurement ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Load {
    /// Returns the required program and its package.
    fn needs(&self) -> Option<(&'static str, &'static str)> {
        match self.client {
            Client::Wrk { .. } => Some(("wrk", "wrk")),
            Client::Redis { .. } => Some(("redis-benchmark", "redis-tools")),
            Client::Threads => None,
        }
    }

    /// Returns the required program and its package if the program is missing.
    pub(crate) fn misses(&self) -> Option<(&'static str, &'static str)> {
        self.needs().filter(|(program, _)| Command::new(program).arg("-v").output().is_err())
    }

    /// Starts the server, runs the client, and returns the client's figures.
    pub(crate) fn measure(&self, program: &Program) -> Result<Answer, String> {
        let named =
            |error: std::io::Error| format!("{} {}: {error}", program.entrant, self.protocol);
        let mut command = program.serve(self.protocol);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = Server(command.spawn().map_err(named)?);
        let (stdout, stderr) = (server.0.stdout.take(), server.0.stderr.take());
        let (stdout, mut stderr) = (stdout.expect("piped"), stderr.expect("piped"));
        // Read concurrently, so that a full pipe does not block the server.
        let errors = std::thread::spawn(move || {
            let mut errors = String::new();
            stderr.read_to_string(&mut errors).map(|_| errors)
        });
        let mut addr = String::new();
        BufReader::new(stdout).read_line(&mut addr).map_err(named)?;
        if !addr.is_empty() {
            return Ok(Answer::Figures(self.run(addr.trim())));
        }
        let errors = errors.join().expect("reading does not panic").map_err(named)?;
        if errors.contains(crate::UNKNOWN) {
            return Ok(Answer::Unknown);
        }
        Err(format!("{} {}: no address: {errors}", program.entrant, self.protocol))
    }

    fn run(&self, addr: &str) -> Vec<f64> {
        match &self.client {
            Client::Wrk { connections } => {
                let url = format!("http://{addr}/");
                let connections = connections.to_string();
                wrk(&["-t1", "-c", &connections, "-d1", &url]);
                let printed = wrk(&["-t1", "-c", &connections, "-d4", "--latency", &url]);
                read_wrk(&printed)
            }
            Client::Threads => mixed::measure(addr),
            Client::Redis { pipeline } => {
                let (_, port) = addr.rsplit_once(':').expect("an address");
                let pipeline_arg = pipeline.to_string();
                let requests = (150_000 * u64::from(*pipeline).min(8)).to_string();
                let printed = client(
                    "redis-benchmark",
                    &["-p", port, "-n", &requests, "-P", &pipeline_arg, "-t", "set,get", "--csv"],
                );
                read_redis(&printed)
            }
        }
    }
}

fn wrk(args: &[&str]) -> String {
    client("wrk", args)
}

fn client(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("run a client");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    printed
}

/// Fails on wrong answers: wrk counts errors and answers that are not 2xx.
fn read_wrk(printed: &str) -> Vec<f64> {
    assert!(!printed.contains("Socket errors") && !printed.contains("Non-2xx"), "{printed}");
    let after = |label: &str| {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(label));
        line.unwrap_or_else(|| panic!("no {label} in {printed}")).trim()
    };
    let per_second: f64 = after("Requests/sec:").parse().expect("a number");
    vec![1e9 / per_second, micros(after("99%"))]
}

/// Converts `1.23ms` to µs.
fn micros(text: &str) -> f64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let scale = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        unit => panic!("unit {unit} of {text}"),
    };
    digits.parse::<f64>().expect("a number") * scale
}

/// `"GET","rps","avg","min","p50","p95","p99","max"`.
fn read_redis(printed: &str) -> Vec<f64> {
    let line = printed.lines().find(|line| line.starts_with("\"GET\"")).expect("a line for GET");
    let column = |n: usize| -> f64 {
        let text = line.split(',').nth(n).expect("a column").trim_matches('"');
        text.parse().expect("a number")
    };
    vec![1e9 / column(1), column(6) * 1e3]
}
