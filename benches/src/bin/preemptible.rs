//! The cost of the checks of `#[gmp::preemptible]`: each loop with and without them, in one run.
//!
//! `cargo run --release -p gmp-bench --bin preemptible`. Nanoseconds per item, the fastest of
//! several interleaved rounds. With the name of a loop and `plain` or `checked` as arguments it
//! runs that loop alone, for a count of instructions.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 15;

/// The size of an input.
const ITEMS: usize = 20_000;

/// Number of passes of a loop over its input in one round.
const REPEATS: usize = 200;

/// Defines the loops twice: in a module with checks and in one without.
macro_rules! loops {
    ($($(#[$attribute:meta])* mod $name:ident;)+) => {$(
        $(#[$attribute])*
        mod $name {
            use std::sync::Arc;

            /// Adds up a slice. The compiler vectorizes it.
            pub(super) async fn slice(numbers: Arc<[u64]>) -> u64 {
                let mut sum = 0u64;
                for n in &*numbers {
                    sum = sum.wrapping_add(*n);
                }
                sum
            }

            /// Adds up a series that depends on the sum.
            pub(super) async fn series(numbers: Arc<[u64]>) -> u64 {
                let limit = numbers.len() as u64;
                let mut sum = 0u64;
                for n in 0..limit {
                    sum = sum.wrapping_add(n ^ (sum >> 7));
                }
                sum
            }

            /// Adds up a slice by index.
            pub(super) async fn index(numbers: Arc<[u64]>) -> u64 {
                let (mut sum, mut at) = (0u64, 0usize);
                while at < numbers.len() {
                    sum = sum.wrapping_add(numbers[at] ^ sum);
                    at += 1;
                }
                sum
            }

            /// Parses numbers between commas and lines.
            pub(super) async fn parser(text: Arc<[u8]>) -> u64 {
                let mut at = 0usize;
                let mut number = 0u64;
                let mut total = 0u64;
                let mut lines = 0u64;
                while at < text.len() {
                    match text[at] {
                        digit @ b'0'..=b'9' => {
                            number = number.wrapping_mul(10).wrapping_add((digit - b'0') as u64);
                        }
                        b'\n' => {
                            lines += 1;
                            total = total.wrapping_add(number);
                            number = 0;
                        }
                        _ => {
                            total = total.wrapping_add(number);
                            number = 0;
                        }
                    }
                    at += 1;
                }
                total.wrapping_add(lines)
            }

            /// Loops in loops: rows of eight.
            pub(super) async fn nested(numbers: Arc<[u64]>) -> u64 {
                let width = numbers.len().min(8);
                let mut sum = 0u64;
                let mut row = 0usize;
                while row + width <= numbers.len() {
                    for column in 0..width {
                        sum = sum.wrapping_add(numbers[row + column] ^ sum);
                    }
                    row += 8;
                }
                sum
            }
        }
    )+};
}

loops! {
    mod plain;
    #[gmp::preemptible]
    mod checked;
}

/// The inputs.
#[derive(Clone)]
struct Input {
    numbers: Arc<[u64]>,
    text: Arc<[u8]>,
}

impl Input {
    /// Pseudo-random numbers, and a text of digits, commas and lines. The text is as long as all
    /// repetitions of the numbers, because the CPU's branch predictor would learn a short one.
    fn new() -> Self {
        let mut state = 1u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let numbers: Vec<u64> = (0..ITEMS * REPEATS).map(next).collect();
        let text = numbers.iter().map(|n| b"0123456789,\n"[*n as usize % 12]).collect();
        Self { numbers: numbers[..ITEMS].into(), text }
    }
}

type Job = fn(Input);

/// Runs the future that `start` returns `repeats` times, in one goroutine.
fn run<F: Future<Output = u64> + Send>(start: impl Fn() -> F + Send + 'static, repeats: usize) {
    let goroutine = gmp::spawn(async move {
        for _ in 0..repeats {
            black_box(start().await);
        }
    });
    gmp::block_on(goroutine).expect("no panic");
}

macro_rules! jobs {
    ($($name:ident($input:ident, $repeats:expr),)+) => {
        [$((stringify!($name), [
            |input: Input| run(move || plain::$name(input.$input.clone()), $repeats),
            |input: Input| run(move || checked::$name(input.$input.clone()), $repeats),
        ])),+]
    };
}

const JOBS: [(&str, [Job; 2]); 5] = jobs![
    slice(numbers, REPEATS),
    series(numbers, REPEATS),
    index(numbers, REPEATS),
    parser(text, 1),
    nested(numbers, REPEATS),
];

fn main() {
    let (input, arguments) = (Input::new(), std::env::args().skip(1).collect::<Vec<_>>());
    if let [name, kind] = &arguments[..] {
        let (_, jobs) = JOBS.iter().find(|job| job.0 == name).expect("the name of a loop");
        jobs[usize::from(kind == "checked")](input);
        return;
    }
    println!("{:<10}{:>10}{:>10}{:>8}", "loop", "plain", "checked", "ratio");
    for (name, jobs) in JOBS {
        let mut figures = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (figures, job) in figures.iter_mut().zip(jobs) {
                let start = Instant::now();
                job(input.clone());
                figures.push(start.elapsed().as_nanos() as f64 / (ITEMS * REPEATS) as f64);
            }
        }
        let [plain, checked] = figures.map(|figures| figures.into_iter().fold(f64::MAX, f64::min));
        println!("{name:<10}{plain:>7.3} ns{checked:>7.3} ns{:>8.3}", checked / plain);
    }
}
