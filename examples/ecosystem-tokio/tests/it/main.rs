//! Runs each program, and uses its libraries in goroutines of a test. Servers and clients are on
//! the loopback device. The tests of redis need the program `redis-server`.

mod axum;
mod codec;
mod redis;
mod reqwest;
#[path = "../../../ecosystem/tests/it/server.rs"]
mod server;
mod sqlite;
mod tonic;
mod tower;

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

/// More than any step takes.
const LONG: Duration = Duration::from_secs(60);

fn stdout(output: &Output) -> String {
    let (stdout, stderr) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {stderr}", output.status);
    String::from_utf8_lossy(stdout).into_owned()
}

/// Returns the text of stderr of a program that has failed.
fn stderr(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder for the files of one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
