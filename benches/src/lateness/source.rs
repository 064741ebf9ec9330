//! The sources: each causes events and wakes a goroutine that records its lateness.

use super::face::Face;
use super::names::Source;
use super::probe::Probe;
use super::random::Random;
use crate::link::Link;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// The pause of an external thread while its last event is still in flight.
const RETRY: Duration = Duration::from_micros(200);

/// Starts a source. The first event follows within 4 ms.
pub(crate) async fn start<C: Face>(source: Source, probe: &Arc<Probe>) {
    let probe = probe.clone();
    match source {
        Source::Timer => C::go(timer::<C>(probe)),
        Source::Send => send::<C>(probe),
        Source::Spawn => spawn::<C>(probe),
        Source::Socket => socket::<C>(probe).await,
        Source::Wake => wake::<C>(probe),
    }
}

/// A goroutine sleeps. The event is the time at which its timer is due.
async fn timer<C: Face>(probe: Arc<Probe>) {
    let mut random = Random::new(1);
    while !probe.is_done() {
        let (wait, due) = probe.next_due(random.gap());
        probe.expect(due);
        C::sleep(wait).await;
        probe.end(due);
    }
}

/// Calls `fire` again and again on an external thread. `fire` causes one event.
fn on_external_thread(probe: Arc<Probe>, mut fire: impl FnMut(&Arc<Probe>) + Send + 'static) {
    std::thread::spawn(move || {
        let mut random = Random::new(2);
        while !probe.is_done() {
            if probe.is_idle() {
                std::thread::sleep(random.gap());
                fire(&probe);
            } else {
                std::thread::sleep(RETRY);
            }
        }
    });
}

/// A goroutine receives the times of events and records its lateness.
async fn receive<L: Link>(probe: Arc<Probe>, mut rx: L::Rx) {
    while let Some(event) = L::recv(&mut rx).await {
        probe.end(event);
    }
}

/// An external thread sends on a channel.
fn send<C: Face>(probe: Arc<Probe>) {
    let (tx, rx) = C::Single::new(1);
    C::go(receive::<C::Single>(probe.clone(), rx));
    on_external_thread(probe, move |probe| C::post(&tx, probe.begin()));
}

/// An external thread spawns a goroutine.
fn spawn<C: Face>(probe: Arc<Probe>) {
    let context = C::context();
    on_external_thread(probe, move |probe| {
        let mine = probe.clone();
        let event = probe.begin();
        context.enter(|| C::go(async move { mine.end(event) }));
    });
}

/// An external thread writes into a socket that a goroutine reads. The event is the start of the
/// write.
async fn socket<C: Face>(probe: Arc<Probe>) {
    let (listener, addr) = C::listen().await;
    let mut writer = TcpStream::connect(addr).expect("connect to the listener");
    writer.set_nodelay(true).expect("set TCP_NODELAY");
    let mut reader = C::accept(&listener).await;
    let mine = probe.clone();
    C::go(async move {
        let mut event = [0; 8];
        while let Ok(n @ 1..) = C::read(&mut reader, &mut event).await {
            mine.end(u64::from_ne_bytes(event));
            assert_eq!(n, event.len(), "a time arrives in one piece");
        }
    });
    on_external_thread(probe, move |probe| {
        let event = probe.begin();
        writer.write_all(&event.to_ne_bytes()).expect("the reader is open");
    });
}

/// A goroutine that a timer wakes sends on a channel. The event is the send.
fn wake<C: Face>(probe: Arc<Probe>) {
    let (tx, rx) = C::Single::new(1);
    C::go(receive::<C::Single>(probe.clone(), rx));
    C::go(async move {
        let mut random = Random::new(3);
        while !probe.is_done() {
            C::sleep(probe.next_due(random.gap()).0).await;
            if probe.is_idle() {
                C::Single::send(&tx, probe.begin()).await;
            }
        }
    });
}
