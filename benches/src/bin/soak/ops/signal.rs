//! Signals that the process sends to itself.

use crate::context::{Cx, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use gmp::signal::{SignalKind, signal};
use rustix::process::{Signal, getpid, kill_process};
use std::time::Duration;

/// Every listener that exists before a signal receives it. The run itself holds a listener, so
/// the signal never has its default effect.
pub(crate) async fn signals(mut cx: Cx) {
    let mut children = Vec::new();
    for _ in 0..1 + cx.rand.size(3) {
        let Ok(mut listener) = signal(SignalKind::user_defined1()) else { continue };
        children.push(cx.spawn(async move {
            gmp::timeout(Duration::from_secs(10), listener.recv()).await.ok().flatten().is_some()
        }));
    }
    cx.pause().await;
    if let Err(error) = kill_process(getpid(), Signal::USR1) {
        violation(format!("cannot send a signal: {error}"));
    }
    for child in children {
        if join(child).await == Some(false) {
            did("Signal::recv", End::Timeout);
            violation("a listener was not told of a signal within 10 s");
        }
        did("Signal::recv", End::Ok);
    }
}
