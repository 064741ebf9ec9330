//! A model of the netpoller's wake-up. One M sleeps in the netpoller, one polls without blocking
//! and consumes the wake-up, and a third thread wakes the first.

use super::{Net, Note};
use crate::m::loom::BellOnly;
use crate::netpoll::{Netpoll, Ready};
use crate::util::clock;
use ::loom::sync::Arc;
use ::loom::thread;

/// The M that sleeps returns, whichever thread consumes the wake-up. Without the second wake-up it
/// does not.
#[test]
fn loom_non_blocking_poll_vs_wake_of_the_poller() {
    let mut model = ::loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let net = Arc::new(Net::default());
        let netpoll: std::sync::Arc<dyn Netpoll> = std::sync::Arc::new(BellOnly::default());
        net.netpoll.set(netpoll.clone()).unwrap();
        let note = Arc::new(Note::for_this_thread());
        let asker = {
            let (net, netpoll) = (net.clone(), netpoll.clone());
            thread::spawn(move || net.ask(&*netpoll, 1, &mut Ready::default()))
        };
        let waker = {
            let note = note.clone();
            thread::spawn(move || note.wake())
        };
        net.sleep(&note, clock::FOREVER, &mut Ready::default());
        asker.join().unwrap();
        waker.join().unwrap();
        assert!(!net.is_awaited());
    });
}
