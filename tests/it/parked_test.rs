//! `#[gmp::test]` fails if its goroutines are parked for long.

// The tests inside of the tests are called, not collected.
#![allow(unnameable_test_items)]

use gmp::go;
use std::future::poll_fn;
use std::panic::catch_unwind;
use std::task::Poll;
use std::time::Duration;

/// Many times the time after which the tests here count as parked.
const LONG: Duration = Duration::from_millis(400);

#[test]
fn a_test_whose_goroutines_are_parked_fails_with_a_dump() {
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_is_parked() {
        let (tx, rx) = gmp::chan::<()>(0);
        go!(name = "waiter", async move { rx.recv().await }).await.unwrap().unwrap();
        drop(tx);
    }
    let payload = catch_unwind(program_that_is_parked).unwrap_err();
    let text = payload.downcast_ref::<String>().expect("a text");
    let start = "gmp: deadlock: all goroutines of the test have been parked for 50ms (an external \
                 thread or another runtime could still wake one; \
                 `#[gmp::test(deadlock_after = 0)]` turns this check off)\n\ngoroutine ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains(" [goroutine join] {name: main}:\nwaits for goroutine "), "{text}");
    assert!(text.contains(" [chan receive] {name: waiter}:\nwaits at 0x"), "{text}");
}

#[test]
fn a_deadlock_after_zero_turns_the_check_off() {
    #[gmp::test(deadlock_after = 0)]
    async fn program_that_waits_for_a_thread() {
        let (tx, rx) = gmp::chan(0);
        std::thread::spawn(move || {
            std::thread::sleep(LONG);
            tx.send_blocking(1).unwrap();
        });
        assert_eq!(rx.recv().await, Ok(1));
    }
    program_that_waits_for_a_thread();
}

/// A wait for a foreign future, for a timer, a socket, a signal or a blocking call is no deadlock.
#[test]
fn a_test_that_something_else_can_wake_does_not_fail() {
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_awaits_a_foreign_future() {
        let (tx, rx) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(LONG);
            tx.send(()).unwrap();
        });
        rx.await.unwrap();
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_waits_beside_a_timer() {
        let (tx, rx) = gmp::chan(0);
        go!(async move {
            gmp::sleep(LONG).await;
            tx.send(1).await
        });
        assert_eq!(rx.recv().await, Ok(1));
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_waits_for_a_blocking_call() {
        gmp::spawn_blocking(|| std::thread::sleep(LONG)).await.unwrap();
    }
    program_that_awaits_a_foreign_future();
    program_that_waits_beside_a_timer();
    program_that_waits_for_a_blocking_call();
}

/// Returns a foreign future that a plain thread completes after [`LONG`].
fn foreign_after_long() -> futures::channel::oneshot::Receiver<()> {
    let (tx, rx) = futures::channel::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(LONG);
        // The receiver is dropped in the tests that fail before.
        let _ = tx.send(());
    });
    rx
}

/// The poll records the wait for the channel, and not that for the foreign future.
#[test]
fn a_test_that_waits_for_a_foreign_future_beside_a_channel_does_not_fail() {
    #[gmp::test(deadlock_after = 0.05)]
    async fn in_a_select() {
        let (_tx, rx) = gmp::chan::<()>(0);
        let foreign = foreign_after_long();
        gmp::select! {
            _ = rx.recv() => panic!("nothing is sent"),
            ended = foreign => ended.unwrap(),
        }
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn in_a_select_of_futures() {
        let (never, lock) = (gmp::sync::Notify::new(), foreign_after_long());
        gmp::select! {
            ended = lock => ended.unwrap(),
            () = never.notified() => panic!("nobody notifies"),
        }
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn in_a_join() {
        let (tx, rx) = gmp::chan(0);
        let foreign = async {
            foreign_after_long().await.unwrap();
            tx.send(1).await.unwrap();
        };
        assert_eq!(futures::future::join(foreign, rx.recv()).await, ((), Ok(1)));
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn after_a_receive_that_was_given_up() {
        let (_tx, rx) = gmp::chan::<()>(0);
        let mut recv = Box::pin(rx.recv());
        let is_pending = poll_fn(|cx| Poll::Ready(recv.as_mut().poll(cx).is_pending())).await;
        assert!(is_pending);
        drop(recv);
        foreign_after_long().await.unwrap();
    }
    in_a_select();
    in_a_select_of_futures();
    in_a_join();
    after_a_receive_that_was_given_up();
}

#[test]
fn a_foreign_future_that_has_ended_does_not_turn_the_check_off() {
    #[gmp::test(deadlock_after = 0.05)]
    async fn parked() {
        let (_tx, rx) = gmp::chan::<()>(0);
        gmp::select! {
            ended = foreign_after_long() => ended.unwrap(),
            _ = rx.recv() => panic!("nothing is sent"),
        }
        rx.recv().await.unwrap();
    }
    let payload = catch_unwind(parked).unwrap_err();
    let text = payload.downcast_ref::<String>().expect("a text");
    assert!(text.contains(" [chan receive] {name: main}:\nwaits at 0x"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_test_that_waits_for_a_socket_or_a_signal_does_not_fail() {
    use std::io::Write;
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_waits_for_a_socket() {
        let (mut writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
        let reads = go!(async move {
            let reader = gmp::net::UnixStream::from_std(reader).unwrap();
            reader.read(&mut [0]).await.unwrap()
        });
        std::thread::spawn(move || {
            std::thread::sleep(LONG);
            writer.write_all(&[1]).unwrap();
        });
        assert_eq!(reads.await.unwrap(), 1);
    }
    #[gmp::test(deadlock_after = 0.05)]
    async fn program_that_waits_for_a_signal() {
        let mut signal = gmp::signal::signal(gmp::signal::SignalKind::from_raw(28)).unwrap();
        std::thread::spawn(|| {
            std::thread::sleep(LONG);
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::WINCH).unwrap();
        });
        go!(async move { signal.recv().await }).await.unwrap().unwrap();
    }
    program_that_waits_for_a_socket();
    program_that_waits_for_a_signal();
}
