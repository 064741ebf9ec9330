//! A used-up time slice never changes a result, whatever the goroutine waits for.

use futures::FutureExt;
use futures::future::{Either, poll_fn, select};
use futures::stream::{FuturesUnordered, StreamExt};
use gmp::net::{Async, TcpListener, TcpStream, UdpSocket, UnixStream};
use gmp::sync::{ErrGroup, Mutex, RwLock, Semaphore, WaitGroup};
use gmp::{chan, go};
use std::io::{ErrorKind, Read, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Computes until the time slice of this goroutine is over. The goroutine has not yielded, so the
/// budget refuses its next operation.
async fn spend_slice() {
    loop {
        for _ in 0..50 {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1) {
                std::hint::spin_loop();
            }
            if poll_fn(|cx| Poll::Ready(pin!(gmp::checkpoint()).poll(cx).is_pending())).await {
                return;
            }
        }
        // Sysmon hands off the P if this thread waits for a lock. The budget refuses nothing until
        // the goroutine has an active P again.
        gmp::yield_now().await;
    }
}

/// Sends and receives for ever, without a wait.
async fn busy() {
    let (tx, rx) = gmp::chan::unbounded();
    loop {
        tx.send(1).await.unwrap();
        rx.recv().await.unwrap();
    }
}

/// A timeout ends a loop of ready operations, wherever it runs.
#[gmp::test(max_procs = 2)]
async fn block_on_interrupts_a_loop_of_ready_operations() {
    const LIMIT: Duration = Duration::from_millis(30);
    let blocks = || gmp::block_on(gmp::timeout(LIMIT, busy())).is_err();
    assert!(go!(gmp::timeout(LIMIT, busy())).await.unwrap().is_err(), "in a goroutine");
    assert!(gmp::block_in_place(|| std::thread::spawn(blocks).join().unwrap()), "on a thread");
    assert!(go!(async move { blocks() }).await.unwrap(), "in block_on in a goroutine");
    assert!(gmp::spawn_blocking(blocks).await.unwrap(), "in block_on in a blocking call");
}

type Ready = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A pair of connected TCP streams.
async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let there = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (listener.accept().await.unwrap().0, there)
}

/// Operations of locks and channels that are possible at once.
async fn ready_sync() -> Vec<(&'static str, Ready)> {
    let (tx, rx) = chan(1);
    tx.send(1).await.unwrap();
    let (free, kept) = chan(1);
    let group = Arc::new(WaitGroup::new());
    let finished = go!(async {});
    while !finished.is_finished() {
        gmp::yield_now().await;
    }
    vec![
        ("recv", Box::pin(async move { assert_eq!(rx.recv().await, Ok(1)) })),
        (
            "send",
            Box::pin(async move {
                free.send(1).await.unwrap();
                drop(kept);
            }),
        ),
        ("mutex", Box::pin(async { drop(Mutex::new(1).lock().await) })),
        ("rw lock", Box::pin(async { drop(RwLock::new(1).write().await) })),
        ("semaphore", Box::pin(async { drop(Semaphore::new(1).acquire(1).await) })),
        ("wait group", Box::pin(async move { group.wait().await })),
        ("err group", Box::pin(async { ErrGroup::<()>::new().wait().await.unwrap() })),
        ("join handle", Box::pin(finished.map(drop))),
        ("sleep", Box::pin(gmp::sleep(Duration::ZERO))),
    ]
}

/// Operations of sockets and descriptors that are possible at once.
async fn ready_io() -> Vec<(&'static str, Ready)> {
    let (here, there) = tcp_pair().await;
    there.write_all(b"x").await.unwrap();
    here.readable().await.unwrap();
    let (unix, other) = UnixStream::pair().unwrap();
    other.write_all(b"x").await.unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let addr = udp.local_addr().unwrap();
    UdpSocket::bind("127.0.0.1:0").await.unwrap().send_to(b"x", addr).await.unwrap();
    udp.readable().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    // The OS may queue the connection for the listener only after the connect has ended.
    let listener = Async::new(listener.into_std()).unwrap();
    listener.readable().await.unwrap();
    let listener = TcpListener::from_std(listener.into_inner()).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"x").unwrap();
    let reader = Async::new(reader).unwrap();
    vec![
        (
            "TCP read",
            Box::pin(async move {
                here.read(&mut [0]).await.unwrap();
                drop(there);
            }),
        ),
        (
            "Unix read",
            Box::pin(async move {
                futures::AsyncReadExt::read(&mut &unix, &mut [0]).await.unwrap();
                drop(other);
            }),
        ),
        ("UDP receive", Box::pin(async move { udp.recv(&mut [0]).await.map(drop).unwrap() })),
        (
            "accept",
            Box::pin(async move {
                listener.accept().await.unwrap();
                drop(client);
            }),
        ),
        (
            "pipe",
            Box::pin(async move {
                reader.read_with(|mut pipe| pipe.read(&mut [0])).await.unwrap();
                drop(writer);
            }),
        ),
    ]
}

/// Applies a combinator to an operation that is possible at once. Returns `true` if the result is
/// right.
type Combinator = fn(Ready) -> Pin<Box<dyn Future<Output = bool> + Send>>;

const COMBINATORS: [(&str, Combinator); 4] = [
    ("timeout", |f| Box::pin(async { gmp::timeout(Duration::ZERO, f).await.is_ok() })),
    ("timeout of unordered futures", |f| {
        Box::pin(async {
            let mut futures: FuturesUnordered<_> = [f].into_iter().collect();
            gmp::timeout(Duration::ZERO, futures.next()).await == Ok(Some(()))
        })
    }),
    ("foreign select with a timer", |f| {
        Box::pin(async { matches!(select(f, gmp::sleep(Duration::ZERO)).await, Either::Left(_)) })
    }),
    ("now_or_never", |f| Box::pin(async { f.now_or_never().is_some() })),
];

#[gmp::test(max_procs = 2)]
async fn no_combinator_overlooks_a_possible_operation_when_the_slice_ends() {
    let mut wrong = Vec::new();
    for (name, combine) in COMBINATORS {
        let operations = ready_sync().await.into_iter().chain(ready_io().await);
        for (kind, operation) in operations {
            spend_slice().await;
            if !combine(operation).await {
                wrong.push(format!("{name} of {kind}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The receiver runs long after its time limit, but the value was sent in time.
#[gmp::test(max_procs = 1)]
async fn timeout_takes_a_value_that_came_in_time_however_late_it_runs() {
    const LIMIT: Duration = Duration::from_millis(1);
    let mut sent_in_time = 0;
    while sent_in_time < 5 {
        let (tx, rx) = chan(1);
        let begin = Instant::now();
        let receiver = go!(async move { gmp::timeout(LIMIT, rx.recv()).await });
        gmp::yield_now().await;
        let sent = tx.try_send(7);
        // On a busy machine this thread may rest for longer than the limit before it sends. The
        // receiver may then give up, also before the send.
        let in_time = begin.elapsed() < LIMIT;
        spend_slice().await;
        let received = receiver.await.unwrap();
        if in_time {
            assert_eq!((sent, received), (Ok(()), Ok(Ok(7))));
            sent_in_time += 1;
        }
    }
}

/// A read that the budget defers is still tried if its deadline passes before it runs again.
#[gmp::test]
async fn a_deferred_read_does_not_miss_its_deadline() {
    let (here, there) = tcp_pair().await;
    there.write_all(b"ping").await.unwrap();
    here.readable().await.unwrap();
    let mut buf = [0; 8];
    {
        let mut read = pin!(here.read(&mut buf));
        spend_slice().await;
        let deferred = poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending())).await;
        assert!(deferred, "the slice is over");
        here.set_read_deadline(Some(Instant::now() - Duration::from_secs(1)));
        assert_eq!(here.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        gmp::yield_now().await;
        assert_eq!(read.await.unwrap(), 4);
    }
    // This applies to one read only: the next one begins after the deadline.
    assert_eq!(here.read(&mut buf).await.unwrap_err().kind(), ErrorKind::TimedOut);
}

/// A deferred read that finds nothing fails at its deadline.
#[gmp::test]
async fn a_deferred_read_without_data_fails_at_its_deadline() {
    let (here, _there) = tcp_pair().await;
    let mut buf = [0; 8];
    let mut read = pin!(here.read(&mut buf));
    spend_slice().await;
    assert!(poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending())).await);
    here.set_read_deadline(Some(Instant::now() - Duration::from_secs(1)));
    gmp::yield_now().await;
    assert_eq!(read.await.unwrap_err().kind(), ErrorKind::TimedOut);
}
