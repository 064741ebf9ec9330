//! Cases `x.send(value)` of `select!` where `x` is not the sender of a channel.

use futures::SinkExt;
use gmp::chan::chan;
use gmp::{go, select};
use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Has a `send` that is a future.
#[derive(Default)]
struct Mailbox(Mutex<Vec<String>>);

impl Mailbox {
    async fn send(&self, letter: String) -> Result<usize, ()> {
        gmp::yield_now().await;
        let mut letters = self.0.lock().unwrap();
        letters.push(letter);
        Ok(letters.len())
    }
}

/// Calls it as a method of a type parameter.
trait Post {
    fn send(&mut self, n: u32) -> impl Future<Output = u32> + Send;
}

impl Post for u32 {
    async fn send(&mut self, n: u32) -> u32 {
        *self += n;
        *self
    }
}

async fn send_by<P: Post>(mut post: P) -> u32 {
    select! { n = post.send(3) => n, () = pending() => 0 }
}

#[gmp::test]
async fn any_send_is_a_case() {
    let mail = Mailbox::default();
    let text = String::from("moved");
    let count = select! {
        count = mail.send(text) => count,
        () = pending() => unreachable!(),
    };
    assert_eq!(count, Ok(1));
    assert_eq!(send_by(4).await, 7);
    let (mut sink, stream) = futures::channel::mpsc::channel::<u32>(1);
    select! { sent = sink.send(5) => sent.unwrap() }
    drop(sink);
    assert_eq!(futures::StreamExt::collect::<Vec<_>>(stream).await, [5]);
}

/// It is a future for the pattern too.
#[gmp::test]
async fn its_output_may_not_match() {
    let mail = Mailbox::default();
    let got = select! {
        Ok(9) = mail.send(String::from("first")) => 2,
        Err(()) = mail.send(String::from("second")) => 3,
        else => 4,
    };
    assert_eq!((got, mail.0.lock().unwrap().len()), (4, 2));
    let got = select! { Ok(count) = mail.send(String::from("third")) => count, else => 0 };
    assert_eq!(got, 3);
}

/// The value is moved when the select begins, and dropped with the future that is not chosen.
#[gmp::test]
async fn the_value_goes_with_the_future() {
    struct Slow;
    impl Slow {
        async fn send(&self, value: Arc<()>) {
            pending::<()>().await;
            drop(value);
        }
    }
    let value = Arc::new(());
    let weak = Arc::downgrade(&value);
    select! {
        () = Slow.send(value) => unreachable!(),
        () = ready(()) => assert_eq!(weak.strong_count(), 0),
    }
}

/// A temporary before `.send` lives as long as the case. An index and a call are evaluated once.
#[gmp::test]
async fn the_sender_is_evaluated_once() {
    let mails = [Mailbox::default(), Mailbox::default()];
    let (tx, rx) = chan(2);
    let channels = [tx];
    let evaluated = AtomicUsize::new(0);
    let once = |n| {
        evaluated.fetch_add(1, Ordering::Relaxed);
        n
    };
    select! { sent = mails[once(1)].send("letter".into()) => assert_eq!(sent, Ok(1)) }
    select! { sent = (&mails[once(0)]).send("letter".into()) => assert_eq!(sent, Ok(1)) }
    select! { sent = Mailbox::default().send("gone".into()) => assert_eq!(sent, Ok(1)) }
    assert_eq!(evaluated.load(Ordering::Relaxed), 2);
    select! { sent = channels[once(0)].send(1) => sent.unwrap() }
    select! { sent = (&channels[once(0)]).send(2), if once(1) == 1 => sent.unwrap() }
    assert_eq!(evaluated.load(Ordering::Relaxed), 5);
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
}

/// The sender of a channel behind pointers is one, in a guarded case too: its value is evaluated
/// only if the case is chosen.
#[gmp::test]
async fn a_pointer_to_a_sender_is_the_sender_of_a_channel() {
    let (tx, rx) = chan::<u32>(0);
    let tx = Arc::new(Box::new(tx));
    let evaluated = AtomicUsize::new(0);
    let value = || evaluated.fetch_add(1, Ordering::Relaxed) as u32;
    select! {
        _ = tx.send(value()) => unreachable!(),
        _ = (&*tx).send(value()), if true => unreachable!(),
        () = ready(()) => {}
    }
    assert_eq!(evaluated.load(Ordering::Relaxed), 0);
    let received = go!({ rx.recv().await });
    select! { sent = tx.send(value()) => sent.unwrap() }
    assert_eq!(received.await.unwrap(), Ok(0));
    assert_eq!(evaluated.load(Ordering::Relaxed), 1);
}

/// Values with a type that only their place gives.
#[gmp::test]
async fn the_place_of_a_value_gives_its_type() {
    struct Boxes;
    impl Boxes {
        async fn send(&self, value: Box<dyn Fn(u32) -> u32 + Send>) -> u32 {
            value(1)
        }
    }
    fn increment(n: u32) -> u32 {
        n + 1
    }
    let (tx, rx) = chan::<Box<dyn Fn(u32) -> u32 + Send>>(2);
    select! { n = Boxes.send(Box::new(increment)) => assert_eq!(n, 2) }
    select! { sent = tx.send(Box::new(increment)) => assert!(sent.is_ok()) }
    // A closure cannot be there twice: the sender is that of a channel.
    select! { sent = tx.send(Box::new(|n| n + 2)) => assert!(sent.is_ok()) }
    assert_eq!(rx.recv().await.unwrap()(1), 2);
    assert_eq!(rx.recv().await.unwrap()(1), 3);
    let mail = Mailbox::default();
    select! { sent = mail.send(Default::default()) => assert_eq!(sent, Ok(1)) }
}

/// The future of a select with such a case is `Send`, and a `?` in a value leaves the function.
#[gmp::test]
async fn in_a_goroutine() {
    async fn try_send(mail: Arc<Mailbox>, text: Option<&str>) -> Option<usize> {
        select! { sent = mail.send(text?.to_owned()) => sent.ok() }
    }
    let mail: Arc<Mailbox> = Arc::default();
    assert_eq!(go!(try_send(mail.clone(), Some("text"))).await.unwrap(), Some(1));
    assert_eq!(go!(try_send(mail, None)).await.unwrap(), None);
}
