//! The macros in a crate without the prelude, with gmp under another name and confusing names
//! beside it.
#![deny(warnings, clippy::all, clippy::pedantic)]
#![no_implicit_prelude]

extern crate gmp as renamed;
extern crate std;

mod core {}
mod gmp {}

use renamed::{go, join, select, task_local, try_join};
use std::result::Result::{self, Err, Ok};

task_local! {
    /// A number.
    pub static NUMBER: u32;
}

#[renamed::main(max_procs = 1, crate = renamed)]
async fn main() {
    let (list, value, selected, started) = (1, 2, 3, 4);
    let (tx, rx) = renamed::chan::<u32>(1);
    let got = go!(name = "goroutine", async move {
        select! {
            biased;
            Ok(5) = rx.recv() => 5,
            Ok(()) = tx.send(list) => value,
            sent = tx.send(value), if selected == started => { let _ = sent; 6 }
            else => 7,
        }
    });
    std::assert_eq!(got.await.ok(), std::option::Option::Some(2));
    let pair = join!(NUMBER.scope(3, async { NUMBER.get() }), go!({ 4 }));
    std::assert!(std::matches!(pair, (3, Ok(4))));
    let tried: Result<((), ()), u32> = try_join!(async { Ok(()) }, async { Err(5) });
    std::assert_eq!(tried, Err(5));
}

#[renamed::test(crate = "renamed")]
async fn a_test() {}
