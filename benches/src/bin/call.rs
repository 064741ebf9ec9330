//! The cost of marking a blocking call: reads of 4 KiB of a cached file, plain and inside
//! `gmp::block_in_place`, and an empty call. One goroutine, alternating batches of [`CALLS`] calls,
//! medians.
//!
//! `cargo run --release -p gmp-bench --bin call`

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Calls in one batch.
const CALLS: u64 = 1_000;

/// Duration of the measurement.
const SPAN: Duration = Duration::from_secs(3);

fn nanos_per_call(mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (0..CALLS).for_each(&mut call);
    start.elapsed().as_nanos() as f64 / CALLS as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let medians = gmp_rt::block_on(gmp_rt::spawn(async {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let mut page = vec![0u8; 4096];
        let mut read = |n: u64| {
            assert_eq!(file.read_at(black_box(&mut page), n % 16 * 4096).unwrap(), 4096);
        };
        let (mut bare, mut marked, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        let start = Instant::now();
        while start.elapsed() < SPAN {
            bare.push(nanos_per_call(&mut read));
            marked.push(nanos_per_call(|n| gmp_rt::block_in_place(|| read(n))));
            empty.push(nanos_per_call(|n| {
                gmp_rt::block_in_place(|| black_box(n));
            }));
            gmp_rt::yield_now().await;
        }
        [bare, marked, empty].map(median)
    }));
    let [bare, marked, empty] = medians.unwrap();
    println!("bare read     {bare:7.1} ns");
    println!("marked read   {marked:7.1} ns  {:.3}x", marked / bare);
    println!("marked nothing{empty:7.1} ns");
}
