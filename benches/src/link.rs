//! One interface for channels. Each contestant has its best channel.

use std::future::Future;

/// A kind of channel.
pub(crate) trait Link: 'static {
    /// The sending end.
    type Tx: Clone + Send + Sync + 'static;
    /// The receiving end. Cloned only if the kind allows several receivers.
    type Rx: Send + 'static;

    /// Creates a channel of this capacity.
    fn new(cap: usize) -> (Self::Tx, Self::Rx);
    /// Sends a value. A receiver exists.
    fn send(tx: &Self::Tx, value: u64) -> impl Future<Output = ()> + Send;
    /// Receives a value. Returns `None` when all senders are dropped.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output = Option<u64>> + Send;
    /// Receives from the channel that is ready, or from a random one if both are.
    fn either(a: &mut Self::Rx, b: &mut Self::Rx) -> impl Future<Output = Option<u64>> + Send;
}

/// A channel with several receivers.
pub(crate) trait Shared: Link {
    /// Returns another receiver.
    fn share(rx: &Self::Rx) -> Self::Rx;
}

/// gmp's channel.
pub(crate) struct GmpChan;

impl Link for GmpChan {
    type Tx = gmp_sync::chan::Sender<u64>;
    type Rx = gmp_sync::chan::Receiver<u64>;

    fn new(cap: usize) -> (Self::Tx, Self::Rx) {
        gmp_sync::chan(cap)
    }
    async fn send(tx: &Self::Tx, value: u64) {
        tx.send(value).await.unwrap();
    }
    async fn recv(rx: &mut Self::Rx) -> Option<u64> {
        rx.recv().await.ok()
    }
    async fn either(a: &mut Self::Rx, b: &mut Self::Rx) -> Option<u64> {
        gmp_sync::select! {
            v = a.recv() => v.ok(),
            v = b.recv() => v.ok(),
        }
    }
}

impl Shared for GmpChan {
    fn share(rx: &Self::Rx) -> Self::Rx {
        rx.clone()
    }
}

/// `tokio::sync::mpsc`: one receiver.
pub(crate) struct TokioMpsc;

impl Link for TokioMpsc {
    type Tx = tokio::sync::mpsc::Sender<u64>;
    type Rx = tokio::sync::mpsc::Receiver<u64>;

    fn new(cap: usize) -> (Self::Tx, Self::Rx) {
        tokio::sync::mpsc::channel(cap)
    }
    async fn send(tx: &Self::Tx, value: u64) {
        tx.send(value).await.unwrap();
    }
    async fn recv(rx: &mut Self::Rx) -> Option<u64> {
        rx.recv().await
    }
    async fn either(a: &mut Self::Rx, b: &mut Self::Rx) -> Option<u64> {
        tokio::select! {
            v = a.recv() => v,
            v = b.recv() => v,
        }
    }
}

/// A kind of channel whose `send` and `recv` return their own errors.
macro_rules! shared_link {
    ($(#[$doc:meta])* $name:ident, $tx:ty, $rx:ty, $new:path, $send:ident, $recv:ident) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl Link for $name {
            type Tx = $tx;
            type Rx = $rx;

            fn new(cap: usize) -> (Self::Tx, Self::Rx) {
                $new(cap)
            }
            async fn send(tx: &Self::Tx, value: u64) {
                tx.$send(value).await.unwrap();
            }
            async fn recv(rx: &mut Self::Rx) -> Option<u64> {
                rx.$recv().await.ok()
            }
            async fn either(a: &mut Self::Rx, b: &mut Self::Rx) -> Option<u64> {
                smol::future::race(a.$recv(), b.$recv()).await.ok()
            }
        }

        impl Shared for $name {
            fn share(rx: &Self::Rx) -> Self::Rx {
                rx.clone()
            }
        }
    };
}

shared_link! {
    /// async-channel.
    AsyncChannel, smol::channel::Sender<u64>, smol::channel::Receiver<u64>, smol::channel::bounded, send, recv
}
shared_link! {
    /// kanal.
    Kanal, kanal::AsyncSender<u64>, kanal::AsyncReceiver<u64>, kanal::bounded_async, send, recv
}
shared_link! {
    /// flume.
    Flume, flume::Sender<u64>, flume::Receiver<u64>, flume::bounded, send_async, recv_async
}
