//! How a call of the file system runs: in place.

use gmp_rt::block_in_place;
use gmp_rt::task::park::poll_proceed;
use std::future::poll_fn;
use std::io::{self, ErrorKind};

/// Makes a call that may block, on this thread, as soon as the budget of the goroutine admits it.
///
/// A file is always ready, so a loop of such calls would never yield without the budget.
pub(super) async fn in_place<R>(call: impl FnOnce() -> R) -> R {
    poll_fn(|cx| poll_proceed(cx)).await;
    block_in_place(call)
}

/// Makes a call, and repeats it if a signal interrupted it.
pub(super) async fn repeated<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    in_place(|| {
        loop {
            match call() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    })
    .await
}
