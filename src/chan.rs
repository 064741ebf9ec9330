//! Channels (Go: `chan`): values from goroutine to goroutine, in order.
//!
//! [`chan()`](crate::chan()) and [`unbounded`] create a channel and return its two ends, a
//! [`Sender`] and a [`Receiver`]. Both can be cloned and used by any number of goroutines and
//! threads. [`select!`](crate::select) waits for several operations at once, [`select_cases`] and
//! [`recv_any`] for any number of them. A [`ReceiverSet`] receives from many channels in a loop.
//! The futures of the operations have names in [`sync::futures`](crate::sync::futures).
//!
//! `use gmp::chan;` imports both this module and the function of the same name.
//!
//! # Examples
//!
//! ```
//! use gmp::chan;
//!
//! #[gmp::main]
//! async fn main() {
//!     let (tx, rx) = chan(0);
//!     let (log, lines) = chan::unbounded();
//!     gmp::go!({
//!         for n in 1..=3 {
//!             tx.send(n).await.unwrap();
//!             log.send(format!("sent {n}")).await.unwrap();
//!         }
//!     });
//!     let mut sum = 0;
//!     while let Ok(n) = rx.recv().await {
//!         sum += n;
//!     }
//!     assert_eq!(sum, 6);
//!     assert_eq!(lines.recv().await.unwrap(), "sent 1");
//! }
//! ```
#![doc(alias("make", "channel", "mpsc", "mpmc", "make_chan"))]

#[doc(no_inline)]
pub use gmp_sync::chan::chan;
pub use gmp_sync::chan::{
    Drain, IntoIterBlocking, IterBlocking, OwnedPermit, Permit, Receiver, ReceiverKey, ReceiverSet,
    RecvError, RecvTimeoutError, SelectCase, SendError, SendTimeoutError, Sender, TryIter,
    TryRecvError, TrySendError, WeakSender, bounded, never, recv_any, select_cases, unbounded,
};
