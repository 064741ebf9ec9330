//! Measures the promise: a goroutine that blocks or computes for long never stops the others.
//!
//! `cargo run --release -p gmp-bench --bin promise -- MODE` has four modes.
//!
//! - [`race`] blocks all Ps at a random time of an idle runtime and measures how long another
//!   goroutine waits. It finds rare cases in which a blocked thread is not noticed.
//! - [`crowd`] blocks thousands of goroutines at once beside a ticker and an echo server.
//! - [`computing`] counts the goroutines that compute at once after marked blocking calls.
//! - [`day`] repeats bursts of all kinds for a long time and compares the resources and the cost of
//!   a tick at the end with those at the beginning.
//!
//! A hypervisor may stop the machine. The [control] threads, which only sleep, are late then as
//! well. A mode repeats a part that the machine may explain, and gives up after some repetitions.
//! Its exit status then says that the promise was not judged.

mod computing;
mod control;
mod cost;
mod crowd;
mod day;
mod echo;
mod lateness;
mod options;
#[expect(dead_code, reason = "the soak uses all of it")]
#[path = "../soak/process.rs"]
mod process;
mod race;
#[expect(dead_code, reason = "the soak uses all of it")]
#[path = "../soak/rand.rs"]
mod rand;

use crate::options::Command;
use std::process::ExitCode;

#[path = "../soak/alloc.rs"]
mod alloc;

/// Counts the live bytes, for [`day`].
#[cfg(feature = "live-bytes")]
#[global_allocator]
static HEAP: alloc::Counting = alloc::Counting;

/// Whether a mode found what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Kept,
    Broken,
    /// The machine was late too often to say.
    NotJudged,
}

fn main() -> ExitCode {
    let command = match Command::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("promise: {error}");
            return ExitCode::from(2);
        }
    };
    println!("{command:?}");
    let verdict = match command {
        Command::Race(options) => race::run(&options),
        Command::Crowd(options) => crowd::run(&options),
        Command::Computing(options) => computing::run(&options),
        Command::Day(options) => day::run(&options),
        Command::Help(text) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
    };
    match verdict {
        Verdict::Kept => ExitCode::SUCCESS,
        Verdict::Broken => ExitCode::FAILURE,
        Verdict::NotJudged => {
            println!("not judged: the machine was late too often");
            ExitCode::from(3)
        }
    }
}
