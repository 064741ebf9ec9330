//! `select!` over a value, a time limit and a stop signal.

use gmp::{chan, go, select};
use std::time::Duration;

#[gmp::main]
async fn main() {
    let (tx, words) = chan(0);
    let (stop, stopped) = chan::<()>(0);
    let speaker = go!({
        for (pause, word) in [(1, "soon"), (2, "a little later"), (60_000, "too late")] {
            select! {
                () = gmp::sleep(Duration::from_millis(pause)) => tx.send(word).await.unwrap(),
                _ = stopped.recv() => return println!("  (the speaker stops)"),
            }
        }
    });
    let mut heard = 0;
    loop {
        select! {
            word = words.recv() => {
                println!("heard: {}", word.unwrap());
                heard += 1;
            }
            () = gmp::sleep(Duration::from_millis(300)) => {
                println!("nothing for 300 ms");
                break;
            }
        }
    }
    // Nothing is ready now, so the default runs.
    select! {
        word = words.recv() => panic!("{word:?}"),
        default => println!("and nothing at this very moment"),
    }
    drop(stop);
    speaker.await.unwrap();
    assert_eq!(heard, 2);
}
