//! What the expansions contain gives no warning of clippy.
#![deny(warnings, clippy::all, clippy::pedantic)]

use gmp::chan::{Receiver, Sender};
use gmp::{chan, go, join, select, task_local, try_join};

task_local! {
    static NUMBER: u32;
    static TEXT: String;
}

struct Mailbox;

impl Mailbox {
    async fn send(&self, letter: String) -> usize {
        gmp::yield_now().await;
        letter.len()
    }
}

async fn all_forms(rx: &Receiver<u32>, tx: Sender<String>, text: String) -> Option<u32> {
    let mailbox = Mailbox;
    select! {
        biased;
        Ok(n @ 5..) = rx.recv(), if !rx.is_empty() => Some(n),
        Err(error) = rx.recv() => {
            assert_eq!(error.to_string(), "");
            None
        }
        sent = tx.send(text), if tx.is_full() && text.is_empty() => sent.ok().map(|()| 1),
        Ok(()) = tx.send(String::new()) => Some(2),
        3 = mailbox.send("letter".into()) => Some(3),
        len = mailbox.send("letter".into()) => u32::try_from(len).ok(),
        else => None,
    }
}

async fn with_default(rx: &Receiver<u32>) -> bool {
    select! {
        v = rx.recv() => v.is_ok(),
        () = gmp::yield_now() => false,
        default => true
    }
}

async fn results() -> Result<u32, std::num::ParseIntError> {
    let parse = async |text: &str| text.parse::<u32>();
    let (a, b) = try_join!(parse("1"), parse("2"))?;
    Ok(a + b)
}

#[gmp::main(max_procs = 1)]
async fn main() {
    let (numbers, rx) = chan(1);
    let (tx, _texts) = chan(0);
    assert!(with_default(&rx).await);
    numbers.send(1).await.unwrap();
    assert_eq!(all_forms(&rx, tx, String::from("text")).await, Some(6));
    let carried = NUMBER.scope(4, async { go!(NUMBER.carry(async { NUMBER.get() })).await });
    let (sum, carried) = join!(results(), carried);
    assert_eq!((sum, carried.unwrap()), (Ok(3), 4));
    assert_eq!(TEXT.try_get(), None);
}
