//! Tokio's facilities in goroutines, in `block_on` on every kind of thread, and at the end of
//! either runtime.

mod block_on;
mod facilities;
mod own_runtime;
mod shutdown;

use gmp_rt::Runtime;
use gmp_rt::runtime::Builder;
use gmp_tokio::BuilderExt;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, Id};

/// More than any step takes.
const LONG: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Builder::new().max_procs(2).tokio().build().unwrap()
}

/// Runs `future` in a goroutine of a runtime with Tokio, within `LONG`.
fn in_goroutine<F>(future: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let runtime = runtime();
    let ended = runtime.spawn(gmp_rt::timeout(LONG, future));
    gmp_rt::block_on(ended).unwrap().expect("it ends")
}

fn tokio_id() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Spawns on Tokio when it is dropped, as pooled connections do. Sends whether that was possible.
struct SpawnsOnDrop(Sender<bool>);

impl Drop for SpawnsOnDrop {
    fn drop(&mut self) {
        let handle = Handle::try_current();
        if let Ok(handle) = &handle {
            drop(handle.spawn(async {}));
        }
        let _ = self.0.send(handle.is_ok());
    }
}

async fn waits_for_ever(value: impl Send) {
    let _value = value;
    std::future::pending().await
}
