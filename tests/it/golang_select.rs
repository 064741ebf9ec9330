//! Go's tests of select (`runtime/chan_test.go`, `test/chan/select*.go`): the same behaviour, in
//! code of our own. `tests/go_counterparts.md` has the table.
//!
//! A nil channel of Go is a case whose guard is false, or an `Option` that is `None`.

use super::support::{Mutex, waiting};
use gmp::chan::{Receiver, Sender};
use gmp::{WaitGroup, chan, go, select};

/// The way in which the second channel of the race becomes ready.
#[derive(Clone, Copy)]
enum Ready {
    Value,
    Close,
}

/// One of two channels is ready at any time, so `default` is never taken.
async fn nonblock_select_race(how: Ready) {
    for _ in 0..3000 {
        let (tx1, rx1) = chan(1);
        let (tx2, rx2) = chan(1);
        tx1.try_send(1).unwrap();
        let chooser = {
            let (rx1, rx2) = (rx1.clone(), rx2.clone());
            go!({
                select! {
                    _ = rx1.recv() => true,
                    _ = rx2.recv() => true,
                    default => false,
                }
            })
        };
        match how {
            Ready::Value => tx2.try_send(1).unwrap(),
            Ready::Close => assert!(tx2.close()),
        }
        // From here on the first channel need not be ready.
        let _ = rx1.try_recv();
        assert!(chooser.await.unwrap(), "no channel was ready");
    }
}

/// `TestNonblockSelectRace`.
#[gmp::test(max_procs = 2)]
async fn a_default_is_not_chosen_while_one_of_two_channels_has_a_value() {
    nonblock_select_race(Ready::Value).await;
}

/// `TestNonblockSelectRace2`.
#[gmp::test(max_procs = 2)]
async fn a_default_is_not_chosen_while_one_of_two_channels_is_closed() {
    nonblock_select_race(Ready::Close).await;
}

/// `TestSelfSelect`: two goroutines send and receive on the same channel in one select. Neither
/// receives its own value, and both end.
#[gmp::test(max_procs = 2)]
async fn selects_on_both_ends_receive_no_value_of_their_own() {
    for cap in [0, 10] {
        let (tx, rx) = chan::<u32>(cap);
        let both = WaitGroup::new();
        for own in 0..2 {
            let (tx, rx) = (tx.clone(), rx.clone());
            both.go(async move {
                for round in 0..1000 {
                    let got = if own == 0 || round % 2 == 0 {
                        select! {
                            sent = tx.send(own) => { sent.unwrap(); None }
                            v = rx.recv() => v.ok(),
                        }
                    } else {
                        select! {
                            v = rx.recv() => v.ok(),
                            sent = tx.send(own) => { sent.unwrap(); None }
                        }
                    };
                    assert!(cap > 0 || got != Some(own), "received from itself");
                }
            });
        }
        both.wait().await;
    }
}

/// `TestSelectStress`: senders, receivers, a select that sends on all channels and one that
/// receives from all. Each runs until it has handled its number of values per channel.
#[gmp::test(max_procs = 4)]
async fn selects_over_many_channels_lose_nothing() {
    const N: usize = 2000;
    let channels: Vec<_> = [0, 0, 2, 3].into_iter().map(chan::<usize>).collect();
    let all = WaitGroup::new();
    for (tx, rx) in channels.clone() {
        all.go(async move {
            for n in 0..N {
                tx.send(n).await.unwrap();
            }
        });
        all.go(async move {
            for _ in 0..N {
                rx.recv().await.unwrap();
            }
        });
    }
    let [(t0, r0), (t1, r1), (t2, r2), (t3, r3)] = channels.try_into().unwrap();
    all.go(async move {
        let mut n = [0; 4];
        for _ in 0..4 * N {
            select! {
                sent = t3.send(0), if n[3] < N => { sent.unwrap(); n[3] += 1 }
                sent = t2.send(0), if n[2] < N => { sent.unwrap(); n[2] += 1 }
                sent = t0.send(0), if n[0] < N => { sent.unwrap(); n[0] += 1 }
                sent = t1.send(0), if n[1] < N => { sent.unwrap(); n[1] += 1 }
            }
        }
        assert_eq!(n, [N; 4]);
    });
    all.go(async move {
        let mut n = [0; 4];
        for _ in 0..4 * N {
            select! {
                v = r0.recv(), if n[0] < N => { v.unwrap(); n[0] += 1 }
                v = r1.recv(), if n[1] < N => { v.unwrap(); n[1] += 1 }
                v = r2.recv(), if n[2] < N => { v.unwrap(); n[2] += 1 }
                v = r3.recv(), if n[3] < N => { v.unwrap(); n[3] += 1 }
            }
        }
        assert_eq!(n, [N; 4]);
    });
    all.wait().await;
}

/// `TestSelectFairness`: two of four cases are always ready. Each of the two is chosen half of the
/// time, within ten standard deviations.
#[gmp::test(max_procs = 2)]
async fn ready_cases_are_chosen_equally_often() {
    const TRIALS: usize = 10_000;
    let (tx1, rx1) = chan::<u8>(TRIALS + 1);
    let (tx2, rx2) = chan::<u8>(TRIALS + 1);
    for _ in 0..=TRIALS {
        tx1.try_send(1).unwrap();
        tx2.try_send(2).unwrap();
    }
    let (_tx3, rx3) = chan::<u8>(0);
    let (_tx4, rx4) = chan::<u8>(0);
    let (out, chosen) = chan(0);
    let (done, quit) = chan::<()>(0);
    let chooser = go!({
        loop {
            let v = select! {
                v = rx3.recv() => v.unwrap(),
                v = rx4.recv() => v.unwrap(),
                v = rx1.recv() => v.unwrap(),
                v = rx2.recv() => v.unwrap(),
            };
            select! {
                sent = out.send(v) => sent.unwrap(),
                _ = quit.recv() => break,
            }
        }
    });
    let mut counts = [0; 3];
    for _ in 0..TRIALS {
        counts[usize::from(chosen.recv().await.unwrap())] += 1;
    }
    let deviation = (TRIALS as f64 * 0.25).sqrt();
    let off = (f64::from(counts[1]) - TRIALS as f64 * 0.5).abs();
    assert!(off <= 10.0 * deviation, "unfair: {counts:?}");
    done.close();
    chooser.await.unwrap();
}

/// `TestPseudoRandomSend`: of two sends on the same channel each is chosen often.
#[gmp::test(max_procs = 2)]
async fn two_sends_on_one_channel_are_both_chosen() {
    const N: usize = 100;
    for cap in [0, N] {
        let (tx, rx) = chan::<usize>(cap);
        let receiver = go!({
            let mut ones = 0;
            for _ in 0..N {
                gmp::yield_now().await;
                ones += rx.recv().await.unwrap();
            }
            ones
        });
        for _ in 0..N {
            select! {
                sent = tx.send(1) => sent.unwrap(),
                sent = tx.send(0) => sent.unwrap(),
            }
        }
        let ones = receiver.await.unwrap();
        assert!(ones > N / 10 && ones < N * 9 / 10, "cap {cap}: {ones} of {N}");
    }
}

/// `TestSelectDuplicateChannel`: a channel is twice in one select. The losing waits leave its
/// queue, and a waiter behind them is still served.
#[gmp::test(max_procs = 2)]
async fn a_channel_may_be_in_two_cases() {
    let (c, from_c) = chan::<u32>(0);
    let (d, from_d) = chan::<u32>(0);
    let (e, from_e) = chan::<u32>(0);
    let a = from_c.clone();
    go!({
        select! {
            _ = a.recv() => panic!("nothing was sent"),
            _ = a.recv() => panic!("nothing was sent"),
            v = from_d.recv() => assert_eq!(v, Ok(7)),
        }
        e.send(9).await.unwrap();
    });
    waiting("select", 1).await;
    let b = go!({ from_c.recv().await });
    waiting("chan receive", 1).await;
    d.send(7).await.unwrap();
    assert_eq!(from_e.recv().await, Ok(9));
    c.send(8).await.unwrap();
    assert_eq!(b.await.unwrap(), Ok(8));
}

/// `test/chan/select.go`: a case that is switched off is not chosen, and its value is not
/// evaluated. Go evaluates the values of all send cases each time (10 times here). gmp evaluates
/// only the value of the chosen case.
#[gmp::test]
async fn a_case_that_is_switched_off_evaluates_nothing() {
    struct Values {
        made: u32,
        shift: u32,
    }
    async fn send(
        values: &mut Values,
        mut a: Option<&Sender<u32>>,
        mut b: Option<&Sender<u32>>,
    ) -> u32 {
        fn make(values: &mut Values) -> u32 {
            values.made += 1;
            1 << values.shift
        }
        let mut sent = 0;
        loop {
            select! {
                r = a.unwrap().send(make(values)), if a.is_some() => { r.unwrap(); a = None }
                r = b.unwrap().send(make(values)), if b.is_some() => { r.unwrap(); b = None }
                default => return sent,
            }
            sent += 1;
            values.shift += 1;
        }
    }
    let (a, from_a) = chan(1);
    let (b, from_b) = chan(1);
    let mut values = Values { made: 0, shift: 0 };
    assert_eq!(send(&mut values, Some(&a), Some(&b)).await, 2);
    assert_eq!(from_a.recv().await.unwrap() | from_b.recv().await.unwrap(), 3);
    assert_eq!(send(&mut values, Some(&a), None).await, 1);
    assert_eq!(values.made, 3);
}

/// Runs `f` as a goroutine. Returns whether it waits instead of ending.
async fn blocks(f: impl Future<Output = ()> + Send + 'static) -> bool {
    let probe = go!(name = "probe", f);
    let waits = loop {
        if probe.is_finished() {
            break false;
        }
        let dump = gmp::runtime::dump();
        let line = dump.lines().find(|line| line.contains("{name: probe}")).unwrap_or_default();
        if ["[select", "[chan "].iter().any(|reason| line.contains(reason)) {
            break true;
        }
        gmp::yield_now().await;
    };
    probe.abort();
    let ended = probe.await;
    assert!(waits || ended.is_ok(), "{ended:?}");
    waits
}

/// `test/chan/select3.go`: what blocks and what does not.
#[gmp::test(max_procs = 2)]
async fn operations_block_as_in_the_table_of_go() {
    fn closed() -> (Sender<u32>, Receiver<u32>) {
        let ends = chan(0);
        ends.0.close();
        ends
    }
    // Channels without a peer.
    assert!(
        blocks(async {
            let _ = idle().1.recv().await;
        })
        .await
    );
    assert!(
        blocks(async {
            let _ = idle().0.send(7).await;
        })
        .await
    );
    assert!(
        blocks(async {
            let _ = full().0.send(7).await;
        })
        .await
    );
    // Closed channels.
    assert!(!blocks(async { assert!(closed().1.recv().await.is_err()) }).await);
    assert!(!blocks(async { assert!(closed().0.send(7).await.is_err()) }).await);
    // No cases, or all cases switched off.
    assert!(
        blocks(async {
            select! {}
        })
        .await
    );
    assert!(
        blocks(async {
            let (tx, rx) = full();
            select! {
                _ = tx.send(7), if false => unreachable!(),
                _ = rx.recv(), if false => unreachable!(),
            }
        })
        .await
    );
    // No case is ready.
    assert!(
        blocks(async {
            let ((_t, rx), (tx, _r)) = (idle(), idle());
            select! { _ = rx.recv() => {}, _ = tx.send(7) => {} }
        })
        .await
    );
    // A select does not send to itself.
    assert!(
        blocks(async {
            let (tx, rx) = idle();
            select! { _ = rx.recv() => {}, _ = tx.send(7) => {} }
        })
        .await
    );
    // With a default.
    assert!(
        !blocks(async {
            select! { default => {} }
        })
        .await
    );
    assert!(
        !blocks(async {
            let (tx, rx) = idle();
            select! { _ = rx.recv() => panic!(), _ = tx.send(7) => panic!(), default => {} }
            select! { _ = rx.recv(), if false => panic!(), default => {} }
        })
        .await
    );
    // One case is ready.
    assert!(
        !blocks(async {
            let ((_t, idle), (_u, ready)) = (idle(), full());
            select! { _ = idle.recv() => panic!(), v = ready.recv() => assert_eq!(v, Ok(1)) }
            let (room, _r) = chan(10);
            select! { _ = idle.recv() => panic!(), sent = room.send(7) => sent.unwrap() }
        })
        .await
    );
    // A closed channel is ready.
    assert!(
        !blocks(async {
            let ((_t, idle), (tx, rx)) = (idle(), closed());
            select! { _ = idle.recv() => panic!(), v = rx.recv() => assert!(v.is_err()) }
            select! { _ = idle.recv() => panic!(), sent = tx.send(7) => assert!(sent.is_err()) }
        })
        .await
    );
}

fn idle() -> (Sender<u32>, Receiver<u32>) {
    chan(0)
}

fn full() -> (Sender<u32>, Receiver<u32>) {
    let ends = chan(1);
    ends.0.try_send(1).unwrap();
    ends
}

/// `test/chan/select4.go`: the destination of a value is evaluated for the chosen case only. A Rust
/// pattern has no side effects, so the body has them here.
#[gmp::test]
async fn only_the_chosen_case_has_effects() {
    let (_never, idle) = chan::<u32>(0);
    let (tx, rx) = chan(1);
    tx.try_send(42).unwrap();
    let mut place = [0; 2];
    select! {
        Ok(v) | Err(v) = async { idle.recv().await.map_err(|_| 0) } => place[0] = v,
        v = rx.recv() => place[1] = v.unwrap(),
    }
    assert_eq!(place, [0, 42]);
}

/// `test/chan/select5.go`: guards and channels of all cases are evaluated once, in source order.
/// Then a case is chosen. Unlike in Go the value of a send is evaluated after that, and only for
/// the chosen case.
#[gmp::test]
async fn guards_and_channels_are_evaluated_in_source_order() {
    let log = Mutex::new(Vec::new());
    let note = |name: &'static str| log.lock().unwrap().push(name);
    let (tx, rx) = chan::<u32>(1);
    let (other, idle) = chan::<u32>(0);
    let named = |name, end| {
        note(name);
        end
    };
    select! {
        _ = { note("first"); idle.recv() } => note("first body"),
        _ = other.send({ note("second value"); 1 }), if { note("second guard"); true } => panic!(),
        _ = { note("third"); idle.recv() }, if { note("third guard"); false } => panic!(),
        _ = named("fourth", &tx).send({ note("fourth value"); 1 }) => note("fourth body"),
    }
    let order = ["first", "second guard", "third guard", "fourth", "fourth value", "fourth body"];
    assert_eq!(*log.lock().unwrap(), order);
    assert_eq!(rx.try_recv(), Ok(1));
}

/// `test/chan/select6.go` (issue 2075): the losing case of a select leaves the queue from its end
/// and from its middle. The waiters around it are still served.
#[gmp::test(max_procs = 2)]
async fn losing_cases_leave_any_place_of_the_queue() {
    for behind in [0, 1, 3] {
        let (tx, rx) = chan::<u32>(0);
        let (wake, woken) = chan::<u32>(0);
        let (done, finished) = chan(0);
        let plain = |rx: Receiver<u32>| go!({ rx.recv().await });
        let mut receivers = vec![plain(rx.clone())];
        waiting("chan receive", 1).await;
        let again = rx.clone();
        let selector = go!({
            select! {
                _ = again.recv() => panic!("nothing was sent"),
                v = woken.recv() => assert_eq!(v, Ok(7)),
            }
            done.send(()).await.unwrap();
            again.recv().await
        });
        waiting("select", 1).await;
        receivers.extend((0..behind).map(|_| plain(rx.clone())));
        waiting("chan receive", 1 + behind).await;
        wake.send(7).await.unwrap();
        finished.recv().await.unwrap();
        for n in 0..behind as u32 + 2 {
            tx.send(n).await.unwrap();
        }
        let mut got: Vec<_> = Vec::new();
        for receiver in receivers {
            got.push(receiver.await.unwrap().unwrap());
        }
        got.push(selector.await.unwrap().unwrap());
        got.sort_unstable();
        assert!(got.into_iter().eq(0..behind as u32 + 2));
    }
}

/// `test/chan/select7.go`: a send, a select of one case or a select of two, against a receive, a
/// select of one case or a select of two. All nine pairs run, with either side first.
#[gmp::test(max_procs = 2)]
async fn all_forms_of_sends_meet_all_forms_of_selects() {
    async fn receive(form: u32, rx: Receiver<u32>) -> u32 {
        let (_tx, never) = chan::<u32>(0);
        match form {
            1 => rx.recv().await.unwrap(),
            2 => select! { v = rx.recv() => v.unwrap() },
            _ => select! { v = rx.recv() => v.unwrap(), _ = never.recv() => panic!() },
        }
    }
    async fn send(form: u32, tx: Sender<u32>) -> u32 {
        let (never, _rx) = chan::<u32>(0);
        match form {
            1 => tx.send(form).await.unwrap(),
            2 => select! { sent = tx.send(form) => sent.unwrap() },
            _ => select! { sent = tx.send(form) => sent.unwrap(), _ = never.send(0) => panic!() },
        }
        form
    }
    let reason = |form, plain| if form == 1 { plain } else { "select" };
    for (sender, receiver) in (1..=3).flat_map(|s| (1..=3).map(move |r| (s, r))) {
        let (tx, rx) = chan(0);
        let received = go!(receive(receiver, rx));
        waiting(reason(receiver, "chan receive"), 1).await;
        send(sender, tx).await;
        assert_eq!(received.await.unwrap(), sender);

        let (tx, rx) = chan(0);
        let sent = go!(send(sender, tx));
        waiting(reason(sender, "chan send"), 1).await;
        assert_eq!(receive(receiver, rx).await, sender);
        assert_eq!(sent.await.unwrap(), sender);
    }
}

/// `test/chan/select8.go`: `break` and `continue` in a body leave the loop around the select,
/// labelled or not.
#[gmp::test]
async fn break_and_continue_leave_the_loop_around_the_select() {
    let (tx, rx) = chan(10);
    for n in 0..10 {
        tx.try_send(n).unwrap();
    }
    let mut seen = Vec::new();
    let last = 'outer: loop {
        for _ in 0..3 {
            select! {
                v = rx.recv() => match v.unwrap() {
                    1 => continue,
                    4 => continue 'outer,
                    8 => break 'outer 8,
                    v => seen.push(v),
                },
            }
        }
    };
    assert_eq!((last, seen), (8, vec![0, 2, 3, 5, 6, 7]));
}
