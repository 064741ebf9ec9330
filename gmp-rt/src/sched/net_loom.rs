//! A model of the bell: an M that sleeps in the netpoller, one that just asks and takes the ring from
//! it, and one that rings.

use super::{Net, Note};
use crate::m::loom::BellOnly;
use crate::netpoll::{Netpoll, Ready};
use crate::util::clock;
use ::loom::sync::Arc;
use ::loom::thread;

/// Whoever takes the ring, the M that it was meant for comes back. Without the second ring it never does.
#[test]
fn loom_asker_takes_the_ring() {
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
