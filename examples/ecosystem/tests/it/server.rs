//! Runs an example server as a child process.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// A server at a free port, killed on drop.
pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
    /// Kept open, because the server may print.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts `program` with the address to listen at and `more`, and waits until it listens. A
    /// panic in one of its goroutines ends it.
    pub(crate) fn start(program: &str, more: &[&str]) -> Self {
        let mut child = Command::new(program)
            .arg("127.0.0.1:0")
            .args(more)
            .env("GMPDEBUG", "panic=abort")
            .stdout(Stdio::piped())
            .spawn()
            .expect("start a server");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let addr = line.trim().rsplit(['/', ' ']).next().unwrap().parse();
        let addr = addr.unwrap_or_else(|_| panic!("no address in {line:?}"));
        Self { child, addr, _stdout: stdout }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Sends SIGTERM, as `kill` does.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.try_wait().unwrap();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(status) = ended.filter(|status| !status.success())
            && !std::thread::panicking()
        {
            panic!("the server ended with {status}");
        }
    }
}
