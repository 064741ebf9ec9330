//! Corner cases of the API that were wrong once, one operation each.

use crate::context::{Cx, join};
use crate::coverage::{End, did};
use crate::violation::violation;
use futures::{SinkExt, StreamExt};
use gmp::chan::TryRecvError;
use gmp::select;

/// `go!` of a closure that returns a future runs the future.
pub(crate) async fn go_closure(cx: Cx) {
    drop(cx);
    let (tx, rx) = gmp::chan(1);
    let started: gmp::JoinHandle<bool> = gmp::go!(move || async move { tx.send(5).await.is_ok() });
    // Cancelled if its runtime ends.
    if started.await.is_ok_and(|sent| sent) && rx.recv().await != Ok(5) {
        violation("go!(move || async move { … }) lost a value");
    }
    did("go! of a closure with a future", End::Ok);
}

/// `try_send` finds a receiver that waits as a stream.
pub(crate) async fn try_send_to_stream(mut cx: Cx) {
    let (tx, mut rx) = gmp::chan(0);
    let child = cx.spawn(async move { rx.next().await });
    // Ends when the receiver waits, or when it is dropped with its runtime. The watchdog reports an
    // operation that does not end.
    while let Err(gmp::chan::TrySendError::Full(_)) = tx.try_send(6) {
        gmp::yield_now().await;
    }
    drop(tx);
    let got = join(child).await;
    if got.is_some_and(|got| got != Some(6)) {
        violation(format!("a stream got {got:?} for 6"));
    }
    did("Sender::try_send to a stream", End::Ok);
}

/// `try_recv` takes the value of a sender that waits in `select!`.
pub(crate) async fn try_recv_from_select(mut cx: Cx) {
    let (tx, rx) = gmp::chan(0);
    let (stop, stopped) = gmp::chan::<()>(0);
    let child = cx.spawn(async move {
        select! {
            sent = tx.send(7) => sent.is_ok(),
            _ = stopped.recv() => false,
        }
    });
    let got = loop {
        match rx.try_recv() {
            Err(TryRecvError::Empty) => gmp::yield_now().await,
            got => break got,
        }
    };
    drop((rx, stop));
    let sent = join(child).await;
    if sent == Some(true) && got != Ok(7) {
        violation(format!("a sender in select! was told that 7 is sent, and {got:?} arrived"));
    }
    did("Receiver::try_recv from select!", End::Ok);
}

/// The close of a sink ends one sender, not the channel.
pub(crate) async fn sink_close(cx: Cx) {
    drop(cx);
    let (tx, rx) = gmp::chan(2);
    let mut other = tx.clone();
    if SinkExt::close(&mut other).await.is_err() || tx.send(8).await.is_err() {
        violation("the close of one sink closes the channel for other senders");
    }
    if rx.recv().await != Ok(8) {
        violation("a value is lost after the close of another sender's sink");
    }
    did("Sink::close", End::Ok);
}

/// The size of a large future.
const BIG: usize = 128 << 10;

/// A large future is boxed before it moves. Guests have stacks of 1 MiB, which hold the caller's
/// copy of the future.
pub(crate) async fn big_future(mut cx: Cx) {
    let child = cx.spawn(async {
        let mut large = [1u8; BIG];
        gmp::yield_now().await;
        large[7] = 2;
        large.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    });
    let sum = join(child).await;
    if sum.is_some_and(|sum| sum != BIG as u64 + 1) {
        violation(format!("a future of {BIG} bytes gave {sum:?}"));
    }
    did("spawn of a large future", End::Ok);
}

/// A panic payload whose drop panics ends no thread of the runtime.
pub(crate) async fn payload_bomb(cx: Cx) {
    /// Panics with another payload when it is dropped, `.0` times.
    struct Payload(u32);
    impl Drop for Payload {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::resume_unwind(Box::new(Self(self.0 - 1)));
            }
        }
    }
    drop(cx);
    // The goroutine is not joined, so the runtime drops the payload.
    gmp::spawn(async { std::panic::resume_unwind(Box::new(Payload(3))) }).detach();
    did("a payload whose drop panics", End::Panicked);
}
