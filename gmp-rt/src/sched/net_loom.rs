//! A model of the bell: an M that sleeps in the netpoller, one that just asks and takes the ring from
//! it, and one that rings.

use super::{Net, Note};
use crate::netpoll::{Bell, Delay, Netpoll, Ready};
use crate::util::clock;
use ::loom::sync::{Arc, Condvar, Mutex};
use ::loom::thread;

/// A netpoller with nothing but its bell, as epoll has an eventfd: a ring is told to one poll.
#[derive(Default)]
struct BellOnly {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl std::fmt::Debug for BellOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BellOnly")
    }
}

impl Netpoll for BellOnly {
    fn poll(&self, delay: Delay, _: usize, _: &mut Ready) -> Bell {
        let mut rung = self.rung.lock().unwrap();
        while !*rung && delay != Delay::Now {
            rung = self.changed.wait(rung).unwrap();
        }
        if std::mem::take(&mut *rung) { Bell::Rang } else { Bell::Silent }
    }
    fn wake(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }
    fn is_used(&self) -> bool {
        true
    }
    fn has_waiters(&self) -> bool {
        false
    }
    fn shut(&self, _: &mut Ready) {}
}

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
