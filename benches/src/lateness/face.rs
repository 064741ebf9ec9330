//! The calls of a contestant that only the lateness cells need.

use crate::channels::Channels;
use crate::contestant::{Gmp, Tokio};
use crate::link::Link;
use crate::locks::Locks;
use std::future::Future;

/// A contestant whose lateness is measured.
pub(crate) trait Face: Channels + Locks {
    /// Sends from an external thread. The channel has room.
    fn post(tx: &<Self::Single as Link>::Tx, value: u64);
    /// Lets other goroutines run if this one has used up its time slice or its budget.
    fn checkpoint() -> impl Future<Output = ()> + Send;
}

impl Face for Gmp {
    fn post(tx: &gmp_sync::chan::Sender<u64>, value: u64) {
        tx.try_send(value).expect("the channel has room");
    }
    fn checkpoint() -> impl Future<Output = ()> + Send {
        gmp_rt::checkpoint()
    }
}

impl Face for Tokio {
    fn post(tx: &tokio::sync::mpsc::Sender<u64>, value: u64) {
        tx.try_send(value).expect("the channel has room");
    }
    fn checkpoint() -> impl Future<Output = ()> + Send {
        tokio::task::consume_budget()
    }
}
